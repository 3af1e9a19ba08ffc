// SPDX-License-Identifier: Apache-2.0
#include "children/elf_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define ELF_SEGMENTS_JOINED 4 /* guess: two were seen */

#if defined(__x86_64__)
#define ELF_MACHINE_HERE EM_X86_64
#elif defined(__aarch64__)
#define ELF_MACHINE_HERE EM_AARCH64
#endif

enum parser_result elf_file_read(const struct elf_file *f, uint64_t offset, void *data, size_t n)
{
	char *to = data;

	if (offset > f->bytes || n > f->bytes - offset)
		return PARSER_DAMAGED;
	if (f->image) {
		memcpy(data, f->image + offset, n);
		return PARSER_OK;
	}

	while (n) {
		ssize_t got = pread(f->fd, to, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) /* a directory, a pipe, or a file truncated meanwhile */
			return PARSER_UNREADABLE;
		to += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return PARSER_OK;
}

/* Segment that goes on where this one ends, in memory and in the file; NULL: none. */
static const Elf64_Phdr *segment_after(const struct elf_file *f, const Elf64_Phdr *before, uint32_t flags)
{
	for (size_t i = 0; i < f->n_segments; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type == PT_LOAD && p->p_filesz && (p->p_flags & flags) == flags &&
		    p->p_vaddr - before->p_vaddr == before->p_filesz &&
		    p->p_offset - before->p_offset == before->p_filesz)
			return p;
	}
	return NULL;
}

bool elf_file_find(const struct elf_file *f, uint64_t address, uint32_t flags, uint64_t *ret_offset,
		   uint64_t *ret_bytes)
{
	uint64_t n;

	for (size_t i = 0; i < f->n_segments; i++) {
		const Elf64_Phdr *p = &f->segments[i];
		uint64_t into = address - p->p_vaddr;

		if (p->p_type != PT_LOAD || address < p->p_vaddr || into >= p->p_filesz ||
		    (p->p_flags & flags) != flags)
			continue;
		if (p->p_offset > f->bytes || into >= f->bytes - p->p_offset)
			continue;
		*ret_offset = p->p_offset + into;
		n = p->p_filesz - into;
		for (size_t k = 0; k < ELF_SEGMENTS_JOINED && p && n < f->bytes; k++) {
			p = segment_after(f, p, flags);
			n += p ? MIN(p->p_filesz, f->bytes) : 0;
		}
		*ret_bytes = MIN(n, f->bytes - *ret_offset);
		return true;
	}
	return false;
}

enum parser_result elf_file_read_at(const struct elf_file *f, uint64_t address, void *data, size_t n)
{
	uint64_t offset, bytes;

	if (!elf_file_find(f, address, 0, &offset, &bytes) || n > bytes)
		return PARSER_DAMAGED;
	return elf_file_read(f, offset, data, n);
}

enum parser_result elf_file_read_header(struct elf_file *f, uint16_t *ret_machine)
{
	enum parser_result r;
	Elf64_Ehdr header;

	if (f->bytes < sizeof(header))
		return PARSER_NOT_ELF;
	r = elf_file_read(f, 0, &header, sizeof(header));
	if (r != PARSER_OK)
		return r;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != ELF_MACHINE_HERE)
		return PARSER_NOT_ELF;
	if (header.e_type != ET_DYN && header.e_type != ET_EXEC)
		return PARSER_NOT_ELF;
	if (header.e_phnum > ELF_SEGMENTS_MAX)
		return PARSER_TOO_LARGE;
	if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr))
		return PARSER_DAMAGED;

	*ret_machine = header.e_machine;
	f->machine = header.e_machine;
	if (header.e_shentsize == sizeof(Elf64_Shdr)) {
		f->sections_offset = header.e_shoff;
		f->n_sections = header.e_shnum;
		f->names_section = header.e_shstrndx;
	}
	f->n_segments = header.e_phnum;
	return elf_file_read(f, header.e_phoff, f->segments, f->n_segments * sizeof(f->segments[0]));
}

enum parser_result elf_file_read_dynamic(const struct elf_file *f, struct elf_dynamic *ret_dynamic)
{
	struct elf_dynamic d = { 0 };

	for (size_t i = 0; i < f->n_segments; i++) {
		const Elf64_Phdr *p = &f->segments[i];
		uint64_t n = p->p_filesz / sizeof(Elf64_Dyn);

		if (p->p_type != PT_DYNAMIC)
			continue;
		if (n > ELF_DYNAMIC_MAX)
			return PARSER_TOO_LARGE;
		for (uint64_t k = 0; k < n; k++) {
			Elf64_Dyn entry;
			enum parser_result r;

			if (p->p_offset > f->bytes)
				return PARSER_DAMAGED;
			r = elf_file_read(f, p->p_offset + k * sizeof(entry), &entry, sizeof(entry));
			if (r != PARSER_OK)
				return r;
			if (entry.d_tag == DT_NULL)
				break;
			switch (entry.d_tag) {
			case DT_SYMTAB:
				d.symbols = entry.d_un.d_ptr;
				break;
			case DT_STRTAB:
				d.strings = entry.d_un.d_ptr;
				break;
			case DT_STRSZ:
				d.strings_bytes = entry.d_un.d_val;
				break;
			case DT_HASH:
				d.hash = entry.d_un.d_ptr;
				break;
			case DT_GNU_HASH:
				d.gnu_hash = entry.d_un.d_ptr;
				break;
			case DT_SONAME:
				d.soname = entry.d_un.d_val;
				d.has_soname = true;
				break;
			case DT_RELA:
				d.relocations = entry.d_un.d_ptr;
				break;
			case DT_RELASZ:
				d.relocations_bytes = entry.d_un.d_val;
				break;
			case DT_NEEDED:
				if (d.n_needed < ELF_NEEDED_MAX)
					d.needed[d.n_needed++] = entry.d_un.d_val;
				break;
			case DT_SYMENT:
				if (entry.d_un.d_val != sizeof(Elf64_Sym))
					return PARSER_DAMAGED;
				break;
			default:
				break;
			}
		}
		break; /* dynamic loaders read one */
	}
	*ret_dynamic = d;
	return PARSER_OK;
}

/*
 * Number of symbols, which only the hash tables contain. The GNU table has the first symbol of the chain of each
 * bucket; the chain of the highest bucket is the last one, and its end, marked by the low bit, is the end of the table.
 */
static enum parser_result gnu_hash_count(const struct elf_file *f, uint64_t address, uint32_t *ret_n)
{
	struct {
		uint32_t n_buckets;
		uint32_t first_symbol;
		uint32_t n_bloom; /* 64-bit words */
		uint32_t shift;
	} header;
	uint32_t chunk[1024], last = 0;
	uint64_t at, chains;
	enum parser_result r = elf_file_read_at(f, address, &header, sizeof(header));

	if (r != PARSER_OK)
		return r;
	if (header.n_buckets > ELF_HASH_BUCKETS_MAX || header.n_bloom > ELF_HASH_BUCKETS_MAX ||
	    header.first_symbol > ELF_SYMBOLS_MAX)
		return PARSER_TOO_LARGE;

	at = address + sizeof(header) + (uint64_t)header.n_bloom * sizeof(uint64_t);
	chains = at + (uint64_t)header.n_buckets * sizeof(uint32_t);
	for (uint32_t done = 0; done < header.n_buckets;) {
		uint32_t n = MIN(header.n_buckets - done, (uint32_t)ARRAY_SIZE(chunk));

		r = elf_file_read_at(f, at + (uint64_t)done * sizeof(uint32_t), chunk, n * sizeof(uint32_t));
		if (r != PARSER_OK)
			return r;
		for (uint32_t i = 0; i < n; i++)
			last = MAX(last, chunk[i]);
		done += n;
	}
	if (last < header.first_symbol) { /* every bucket is empty: only imports */
		*ret_n = header.first_symbol;
		return PARSER_OK;
	}

	for (; last < ELF_SYMBOLS_MAX; last++) {
		uint32_t value;

		r = elf_file_read_at(f, chains + (uint64_t)(last - header.first_symbol) * sizeof(value), &value,
				     sizeof(value));
		if (r != PARSER_OK)
			return r;
		if (value & 1) {
			*ret_n = last + 1;
			return PARSER_OK;
		}
	}
	return PARSER_TOO_LARGE;
}

enum parser_result elf_file_count_symbols(const struct elf_file *f, const struct elf_dynamic *d, uint32_t *ret_n)
{
	uint32_t sizes[2]; /* buckets, chains; one chain entry for each symbol */
	enum parser_result r;

	if (!d->symbols || !d->strings) {
		*ret_n = 0;
		return PARSER_OK;
	}
	if (d->gnu_hash)
		return gnu_hash_count(f, d->gnu_hash, ret_n);
	if (!d->hash) { /* then the dynamic loader finds no symbol either */
		*ret_n = 0;
		return PARSER_OK;
	}

	r = elf_file_read_at(f, d->hash, sizes, sizeof(sizes));
	if (r != PARSER_OK)
		return r;
	if (sizes[1] > ELF_SYMBOLS_MAX)
		return PARSER_TOO_LARGE;
	*ret_n = sizes[1];
	return PARSER_OK;
}

bool elf_file_read_name(struct elf_file *f, uint64_t strings_offset, uint64_t strings_bytes, uint64_t at, char *name,
			size_t room)
{
	uint64_t offset = strings_offset + at;
	size_t n;
	const char *from;

	if (at >= strings_bytes)
		return false;
	if (offset < f->window_start || offset + room > f->window_start + f->n_window) {
		f->n_window = 0;
		if (elf_file_read(f, offset, f->window, (size_t)MIN((uint64_t)ELF_WINDOW_BYTES, f->bytes - offset)) !=
		    PARSER_OK)
			return false;
		f->window_start = offset;
		f->n_window = (size_t)MIN((uint64_t)ELF_WINDOW_BYTES, f->bytes - offset);
	}

	from = f->window + (offset - f->window_start);
	n = (size_t)MIN(MIN((uint64_t)room, strings_bytes - at), f->n_window - (offset - f->window_start));
	memset(name, 0, room);
	if (memchr(from, 0, n))
		memcpy(name, from, strlen(from));
	return true;
}

bool elf_file_read_section(const struct elf_file *f, uint64_t i, Elf64_Shdr *ret_section)
{
	return i < f->n_sections && f->sections_offset <= f->bytes &&
	       elf_file_read(f, f->sections_offset + i * sizeof(*ret_section), ret_section, sizeof(*ret_section)) ==
		       PARSER_OK &&
	       ret_section->sh_offset <= f->bytes && ret_section->sh_size <= f->bytes - ret_section->sh_offset;
}

static enum parser_result notes_read_build_id(const struct elf_file *f, uint64_t offset, uint64_t n, uint64_t align,
					      uint8_t *id, uint8_t *ret_n)
{
	uint8_t notes[4096];
	enum parser_result r;
	uint64_t at = 0;

	if (n > ELF_NOTE_BYTES_MAX)
		return PARSER_OK;
	n = MIN(n, (uint64_t)sizeof(notes)); /* the build-id is among the first notes */
	r = elf_file_read(f, offset, notes, (size_t)n);
	while (r == PARSER_OK && n - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, desc, next;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = (name + note.n_namesz + align - 1) & ~(align - 1);
		next = (desc + note.n_descsz + align - 1) & ~(align - 1);
		if (desc > n || note.n_descsz > n - desc)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
			*ret_n = (uint8_t)MIN(note.n_descsz, (uint32_t)PARSER_BUILD_ID_BYTES);
			memcpy(id, notes + desc, *ret_n);
			break;
		}
		if (next > n)
			break;
		at = next;
	}
	return r;
}

enum parser_result elf_file_read_build_id(const struct elf_file *f, uint8_t *id, uint8_t *ret_n)
{
	enum parser_result r = PARSER_OK;

	*ret_n = 0;
	for (size_t i = 0; i < f->n_segments && r == PARSER_OK && !*ret_n; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type == PT_NOTE)
			r = notes_read_build_id(f, p->p_offset, p->p_filesz, p->p_align == 8 ? 8 : 4, id, ret_n);
	}
	/* The segments of a separate debug file are those of another file. */
	for (uint64_t i = 0; i < f->n_sections && !*ret_n; i++) {
		Elf64_Shdr s;

		if (elf_file_read_section(f, i, &s) && s.sh_type == SHT_NOTE)
			(void)notes_read_build_id(f, s.sh_offset, s.sh_size, s.sh_addralign == 8 ? 8 : 4, id, ret_n);
	}
	return r;
}
