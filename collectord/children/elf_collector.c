// SPDX-License-Identifier: Apache-2.0
#include "children/elf_collector.h"

#include <string.h>

/* Notes of SystemTap. Source: sys/sdt.h, https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation */
#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE 3
#define NOTE_TEXT_BYTES 64   /* provider, name and arguments, as far as they are looked at */
#define NOTES_MAX 4096	     /* guess: CPython 3.11 has 11 */
#define NOTE_SECTIONS_MAX 64 /* likewise: 5 */
#define SEMAPHORE_BYTES 2

/* What such a mark is: an instruction that does nothing, for the probe to stand on. */
static bool is_nothing(uint16_t machine, const uint8_t *head, size_t n)
{
	static const uint8_t x86 = 0x90, arm[] = { 0x1f, 0x20, 0x03, 0xd5 };

	if (machine == EM_AARCH64)
		return n >= sizeof(arm) && memcmp(head, arm, sizeof(arm)) == 0;
	return machine == EM_X86_64 && n >= 1 && head[0] == x86;
}

static bool site_read(const struct elf_file *f, uint64_t address, uint64_t size_bytes,
		      struct parser_collector_site *site)
{
	uint64_t n_head;

	if (!elf_file_find(f, address, PF_X, &site->offset, &n_head))
		return false;
	n_head = MIN(n_head, (uint64_t)PARSER_HEAD_BYTES);
	if (size_bytes)
		n_head = MIN(n_head, size_bytes);
	site->n_head = (uint8_t)n_head;
	return elf_file_read(f, site->offset, site->head, (size_t)n_head) == PARSER_OK;
}

static bool site_add(struct parser_collector_site *sites, uint32_t *n, const struct parser_collector_site *site)
{
	for (uint32_t i = 0; i < *n; i++)
		if (sites[i].offset == site->offset)
			return true;
	if (*n == PARSER_COLLECTOR_SITES)
		return false;
	sites[(*n)++] = *site;
	return true;
}

/* ---- marks ---- */

struct mark {
	uint64_t address, base, semaphore; /* as linked */
	char text[NOTE_TEXT_BYTES];
};

/* Return: false where it cannot be used, and so none of them can */
static bool mark_add(const struct elf_file *f, uint16_t machine, const struct mark *mark,
		     struct parser_collector *collector)
{
	static const char begin[] = "python\0gc__start", end[] = "python\0gc__done";
	bool is_begin = memcmp(mark->text, begin, sizeof(begin)) == 0;
	struct parser_collector_site site = { .offset = 0 };
	uint64_t n_bytes;

	if (!is_begin && memcmp(mark->text, end, sizeof(end)) != 0)
		return true;
	if (!site_read(f, mark->address, 0, &site) || !is_nothing(machine, site.head, site.n_head))
		return false;
	/* The kernel counts there, in memory that the process may write. */
	if (mark->semaphore && (!elf_file_find(f, mark->semaphore, PF_W, &site.semaphore, &n_bytes) ||
				n_bytes < SEMAPHORE_BYTES || !site.semaphore))
		return false;
	return is_begin ? site_add(collector->begins, &collector->n_begins, &site)
			: site_add(collector->ends, &collector->n_ends, &site);
}

/* Return: false where a mark cannot be used */
static bool notes_read(const struct elf_file *f, const Elf64_Shdr *section, uint16_t machine,
		       struct parser_collector *collector)
{
	uint64_t at = 0, n = section->sh_size;

	for (size_t i = 0; i < NOTES_MAX && n - at >= sizeof(Elf64_Nhdr); i++) {
		struct {
			Elf64_Nhdr head;
			char owner[sizeof(NOTE_OWNER)];
		} note;
		uint64_t desc, next;

		if (n - at < sizeof(note) ||
		    elf_file_read(f, section->sh_offset + at, &note, sizeof(note)) != PARSER_OK)
			return true;
		/* No sum of these wraps: they have 32 bits. */
		desc = at + sizeof(note.head) + (((uint64_t)note.head.n_namesz + 3) & ~3ull);
		next = desc + (((uint64_t)note.head.n_descsz + 3) & ~3ull);
		if (next > n)
			return true;
		if (note.head.n_type == NOTE_TYPE && note.head.n_namesz == sizeof(NOTE_OWNER) &&
		    memcmp(note.owner, NOTE_OWNER, sizeof(NOTE_OWNER)) == 0) {
			struct mark mark = { .text = "" };

			if (note.head.n_descsz < offsetof(struct mark, text) ||
			    elf_file_read(f, section->sh_offset + desc, &mark,
					  MIN(sizeof(mark), (size_t)note.head.n_descsz)) != PARSER_OK)
				return true;
			mark.text[NOTE_TEXT_BYTES - 1] = '\0';
			if (!mark_add(f, machine, &mark, collector))
				return false;
		}
		at = next;
	}
	return true;
}

static bool marks_read(const struct elf_file *f, uint16_t machine, struct parser_collector *collector)
{
	size_t n_sections = 0;

	for (uint64_t i = 0; i < f->n_sections && n_sections < NOTE_SECTIONS_MAX; i++) {
		Elf64_Shdr section;

		if (!elf_file_read_section(f, i, &section) || section.sh_type != SHT_NOTE)
			continue;
		n_sections++;
		if (!notes_read(f, &section, machine, collector))
			return false;
	}
	return collector->n_begins && collector->n_ends;
}

/* ---- functions ---- */

/* A whole function of that name, or a copy that the compiler made for some callers; a part of one is none. */
static bool is_called(const char *name, const char *function)
{
	size_t n = strlen(function);

	return strncmp(name, function, n) == 0 && (!name[n] || name[n] == '.') && !strstr(name + n, ".part") &&
	       !strstr(name + n, ".cold");
}

void elf_collectors_look_at(struct elf_collectors *c, const Elf64_Sym *symbol, const char *name)
{
	bool is_plain = is_called(name, "collect");

	c->has_helper |= strcmp(name, "_PyGC_CollectIfEnabled") == 0;
	if (!is_plain && !is_called(name, "gc_collect_main"))
		return;
	if (c->n == ARRAY_SIZE(c->items)) {
		c->is_many = true;
		return;
	}
	c->items[c->n].address = symbol->st_value;
	c->items[c->n].size_bytes = symbol->st_size;
	c->items[c->n++].is_plain = is_plain;
}

static bool functions_read(const struct elf_file *f, const struct elf_collectors *c, struct parser_collector *collector)
{
	bool is_plain = true;

	if (c->is_many)
		return false;
	for (size_t i = 0; i < c->n; i++)
		is_plain &= c->items[i].is_plain;
	/* That name says little by itself. */
	if (is_plain && !c->has_helper)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		struct parser_collector_site site = { .offset = 0 };

		if (c->items[i].is_plain == is_plain &&
		    (!site_read(f, c->items[i].address, c->items[i].size_bytes, &site) ||
		     !site_add(collector->begins, &collector->n_begins, &site)))
			return false;
	}
	return true;
}

void elf_collector_read(const struct elf_file *f, const struct elf_collectors *c, struct parser_library *library)
{
	struct parser_collector none = { .n_begins = 0 }, found = none;

	if (!marks_read(f, library->machine, &found)) {
		found = none;
		if (!functions_read(f, c, &found))
			found = none;
	}
	library->collector = found;
}
