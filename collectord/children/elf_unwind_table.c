// SPDX-License-Identifier: Apache-2.0
#include "children/elf_unwind_table.h"

#include "base/cleanup.h"

#define HEAD_BYTES_MAX 20 /* version, three encodings, two numbers */
#define HEAD_VERSION 1
#define ENCODING_TABLE (FRAME_PE_DATAREL | FRAME_PE_SDATA4)
#define SECTION_NAME_BYTES 16 /* longer names are not looked for */
#define EQUALS_MAX 64	      /* entries with one address: functions without code before one with code */

bool unwind_region_find(const struct unwind_tables *t, uint64_t address, struct frame_region *ret_region)
{
	for (size_t i = 0; i < t->file->n_segments; i++) {
		const Elf64_Phdr *p = &t->file->segments[i];

		if (p->p_type != PT_LOAD || address < p->p_vaddr || address - p->p_vaddr >= p->p_filesz ||
		    p->p_offset > t->file->bytes)
			continue;
		*ret_region = (struct frame_region){
			.address = p->p_vaddr,
			.offset = p->p_offset,
			.bytes = MIN(p->p_filesz, t->file->bytes - p->p_offset),
		};
		return true;
	}
	return false;
}

/* The head of the table, at an address as linked. */
static enum parser_result head_read(struct unwind_tables *t, uint64_t address)
{
	uint8_t head[HEAD_BYTES_MAX], eh_encoding, n_encoding, encoding;
	struct frame_bytes b = { .at = head };
	uint64_t offset, bytes, n;
	enum parser_result r;

	t->is_damaged = true;
	if (!elf_file_find(t->file, address, 0, &offset, &bytes))
		return PARSER_OK;
	b.end = head + MIN(bytes, (uint64_t)sizeof(head));
	r = elf_file_read(t->file, offset, head, (size_t)(b.end - b.at));
	if (r != PARSER_OK)
		return r;
	if (frame_bytes_fixed(&b, 1) != HEAD_VERSION)
		return PARSER_OK;
	eh_encoding = (uint8_t)frame_bytes_fixed(&b, 1);
	n_encoding = (uint8_t)frame_bytes_fixed(&b, 1);
	encoding = (uint8_t)frame_bytes_fixed(&b, 1);
	t->eh_frame = frame_bytes_pointer(&b, eh_encoding, address + (uint64_t)(b.at - head), address);
	if (b.is_bad)
		return PARSER_OK;
	t->is_damaged = false;
	n = frame_bytes_pointer(&b, n_encoding, 0, 0);
	bytes -= (uint64_t)(b.at - head);
	if (b.is_bad || encoding != ENCODING_TABLE || n > bytes / sizeof(t->block[0]))
		return PARSER_OK;
	t->n = n;
	t->address = address;
	t->offset = offset + (uint64_t)(b.at - head);
	return PARSER_OK;
}

enum parser_result unwind_tables_open(struct unwind_tables *t, struct elf_file *file, struct frame_reader *reader)
{
	Elf64_Ehdr header;
	enum parser_result r = elf_file_read(file, 0, &header, sizeof(header));

	t->file = file;
	t->reader = reader;
	t->n = t->eh_frame = t->n_block = 0;
	t->is_damaged = false;
	if (r != PARSER_OK)
		return r;
	reader->has_fixed_addresses = header.e_type == ET_EXEC;
	t->names_section = header.e_shstrndx;
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].p_type == PT_GNU_EH_FRAME)
			return head_read(t, file->segments[i].p_vaddr);
	return PARSER_OK;
}

/* ---- entries ---- */

static bool entries_read(struct unwind_tables *t, uint64_t i, uint64_t n, struct unwind_table_entry *ret)
{
	size_t bytes = (size_t)n * sizeof(*ret);

	if (!frame_reader_spend(t->reader, bytes))
		return false;
	t->reader->result = elf_file_read(t->file, t->offset + i * sizeof(*ret), ret, bytes);
	return t->reader->result == PARSER_OK;
}

static bool table_block_read(struct unwind_tables *t, uint64_t start)
{
	uint64_t n = MIN(t->n - start, (uint64_t)UNWIND_TABLE_BLOCK);

	t->n_block = 0;
	if (!entries_read(t, start, n, t->block))
		return false;
	for (uint64_t i = 1; i < n; i++)
		if (t->block[i].begin < t->block[i - 1].begin)
			return false;
	t->block_start = start;
	t->n_block = n;
	return true;
}

static uint64_t entry_begin(const struct unwind_tables *t, const struct unwind_table_entry *entry)
{
	return t->address + (uint64_t)(int64_t)entry->begin;
}

bool unwind_table_get(struct unwind_tables *t, uint64_t i, uint64_t *ret_begin, uint64_t *ret_fde)
{
	const struct unwind_table_entry *entry;

	if ((i < t->block_start || i - t->block_start >= t->n_block) &&
	    !table_block_read(t, i - MIN(i, (uint64_t)EQUALS_MAX)))
		return false;
	entry = &t->block[i - t->block_start];
	*ret_begin = entry_begin(t, entry);
	*ret_fde = t->address + (uint64_t)(int64_t)entry->fde;
	return true;
}

/*
 * Reads the block with the entries around an address.
 * Those before ret_low begin at the address or below it, those from ret_high on above it.
 */
static bool table_block_find(struct unwind_tables *t, uint64_t address, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t low = 0, high = t->n;

	if (t->n_block && entry_begin(t, &t->block[0]) <= address &&
	    entry_begin(t, &t->block[t->n_block - 1]) > address) {
		*ret_low = t->block_start;
		*ret_high = t->block_start + t->n_block;
		return true;
	}
	while (high - low > UNWIND_TABLE_BLOCK - EQUALS_MAX) {
		uint64_t i = low + (high - low) / 2;
		struct unwind_table_entry entry;

		if (!entries_read(t, i, 1, &entry))
			return false;
		if (entry_begin(t, &entry) <= address)
			low = i + 1;
		else
			high = i;
	}
	*ret_low = low;
	*ret_high = high;
	return table_block_read(t, low - MIN(low, (uint64_t)EQUALS_MAX));
}

bool unwind_table_find(struct unwind_tables *t, uint64_t address, uint64_t *ret_i)
{
	uint64_t low, high, begin, fde, before;

	if (!table_block_find(t, address, &low, &high))
		return false;
	while (low < high) {
		uint64_t i = low + (high - low) / 2;

		if (!unwind_table_get(t, i, &begin, &fde))
			return false;
		if (begin <= address)
			low = i + 1;
		else
			high = i;
	}
	*ret_i = low - (low > 0);
	if (!unwind_table_get(t, *ret_i, &begin, &fde))
		return false;
	for (size_t n = 0; *ret_i; (*ret_i)--, n++) {
		if (n == EQUALS_MAX || !unwind_table_get(t, *ret_i - 1, &before, &fde))
			return false;
		if (before != begin)
			break;
	}
	return true;
}

/* ---- sections ---- */

/* The rest of the segment, which is known to have an end only where there is a terminator. */
static void eh_frame_by_head(const struct unwind_tables *t, struct frame_region *ret_eh)
{
	uint64_t offset, bytes;

	if (t->eh_frame && elf_file_find(t->file, t->eh_frame, 0, &offset, &bytes))
		*ret_eh = (struct frame_region){
			.address = t->eh_frame,
			.offset = offset,
			.bytes = bytes,
			.ends_at_terminator = true,
		};
}

void unwind_regions_find(struct unwind_tables *t, struct frame_region *ret_eh, struct frame_region *ret_debug)
{
	struct elf_file *file = t->file;
	const struct frame_region none = { .bytes = 0 };
	Elf64_Shdr section, names;
	bool is_go = false;

	*ret_eh = *ret_debug = none;
	eh_frame_by_head(t, ret_eh);
	if (!elf_file_read_section(file, t->names_section, &names))
		return;
	for (uint64_t i = 0; i < file->n_sections; i++) {
		char name[SECTION_NAME_BYTES];

		if (!elf_file_read_section(file, i, &section) || section.sh_type == SHT_NOBITS ||
		    section.sh_flags & SHF_COMPRESSED || !section.sh_size ||
		    !elf_file_read_name(file, names.sh_offset, names.sh_size, section.sh_name, name, sizeof(name)))
			continue;
		is_go |= strcmp(name, ".gopclntab") == 0;
		if (strcmp(name, ".eh_frame") == 0 && section.sh_addr)
			*ret_eh = (struct frame_region){
				.address = section.sh_addr,
				.offset = section.sh_offset,
				.bytes = section.sh_size,
			};
		if (strcmp(name, ".debug_frame") == 0)
			*ret_debug = (struct frame_region){
				.offset = section.sh_offset,
				.bytes = section.sh_size,
				.is_debug = true,
			};
	}
	if (is_go)
		*ret_debug = none;
}
