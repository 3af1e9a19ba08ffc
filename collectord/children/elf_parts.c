// SPDX-License-Identifier: Apache-2.0
#include "children/elf_parts.h"

#include <string.h>

#include "base/cleanup.h"
#include "children/elf_bytes.h"

#define SECTIONS_MAX 4096 /* guess: linked files have tens */
#define SECTION_NAME_BYTES 24

/* ---- names of sections ---- */

static const struct {
	const char *name;
	size_t part; /* offset in struct elf_parts */
	uint32_t type;
} parts_by_name[] = {
#define PART(name, member, type)                                                                                       \
	{                                                                                                              \
		name, offsetof(struct elf_parts, member), type                                                         \
	}
	PART(".gnu_debugdata", debug_data, SHT_PROGBITS),  PART(".gnu_debuglink", debug_link, SHT_PROGBITS),
	PART(".eh_frame_hdr", frames, SHT_PROGBITS),	   PART(".debug_line", line, SHT_PROGBITS),
	PART(".debug_line_str", line_names, SHT_PROGBITS), PART(".debug_str", names, SHT_PROGBITS),
	PART(".debug_info", units, SHT_PROGBITS),	   PART(".debug_abbrev", unit_forms, SHT_PROGBITS),
#undef PART
};

static void code_add(struct elf_parts *parts, const struct elf_code *code)
{
	if (code->end > code->start && parts->n_code < ARRAY_SIZE(parts->code))
		parts->code[parts->n_code++] = *code;
}

static void code_note(struct elf_parts *parts, const Elf64_Shdr *section, const char *name)
{
	struct elf_code code = { .start = section->sh_addr,
				 .end = section->sh_addr + section->sh_size,
				 .offset = section->sh_type == SHT_NOBITS ? UINT64_MAX : section->sh_offset,
				 .entry_bytes = section->sh_entsize,
				 .is_plt = strncmp(name, ".plt", 4) == 0 };

	code_add(parts, &code);
}

static void part_note(struct elf_parts *parts, const Elf64_Shdr *section, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts_by_name); i++) {
		Elf64_Shdr *part = (Elf64_Shdr *)((char *)parts + parts_by_name[i].part);

		if (part->sh_type != SHT_NULL || section->sh_type != parts_by_name[i].type ||
		    strcmp(name, parts_by_name[i].name) != 0)
			continue;
		/* Nobody compresses other sections than debug data. */
		if (!(section->sh_flags & SHF_COMPRESSED) || strncmp(name, ".debug_", 7) == 0)
			*part = *section;
	}
}

static void table_note(const struct elf_file *f, const Elf64_Shdr *section, Elf64_Shdr *table, Elf64_Shdr *names)
{
	Elf64_Shdr strings;

	if (table->sh_type != SHT_NULL || section->sh_entsize != sizeof(Elf64_Sym) ||
	    !elf_file_read_section(f, section->sh_link, &strings) || strings.sh_type != SHT_STRTAB ||
	    ((section->sh_flags | strings.sh_flags) & SHF_COMPRESSED))
		return;
	*table = *section;
	*names = strings;
}

static void section_note(const struct elf_file *f, const Elf64_Shdr *section, const struct elf_bytes *names,
			 struct elf_parts *parts)
{
	char name[SECTION_NAME_BYTES];

	(void)elf_bytes_read_text(names, section->sh_name, name, sizeof(name));
	if ((section->sh_flags & SHF_ALLOC) && (section->sh_flags & SHF_EXECINSTR))
		code_note(parts, section, name);
	if (section->sh_type == SHT_SYMTAB)
		table_note(f, section, &parts->symbols, &parts->symbol_names);
	else if (section->sh_type == SHT_DYNSYM)
		table_note(f, section, &parts->dynamic, &parts->dynamic_names);
	else
		part_note(parts, section, name);
}

/* What a section without bytes in the file says of its place is not checked. */
static bool section_read(const struct elf_file *f, uint64_t i, Elf64_Shdr *ret_section)
{
	uint64_t at = f->sections_offset + i * sizeof(*ret_section);

	if (elf_file_read_section(f, i, ret_section))
		return true;
	return f->sections_offset <= f->bytes && elf_file_read(f, at, ret_section, sizeof(*ret_section)) == PARSER_OK &&
	       ret_section->sh_type == SHT_NOBITS;
}

/* ---- a file without sections ---- */

static void segments_note(const struct elf_file *f, struct elf_parts *parts)
{
	for (size_t i = 0; i < f->n_segments; i++) {
		const Elf64_Phdr *p = &f->segments[i];
		struct elf_code code = { .start = p->p_vaddr, .end = p->p_vaddr + p->p_filesz, .offset = UINT64_MAX };

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			code_add(parts, &code);
		if (p->p_type == PT_GNU_EH_FRAME && p->p_offset <= f->bytes && p->p_filesz <= f->bytes - p->p_offset)
			parts->frames = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
						      .sh_addr = p->p_vaddr,
						      .sh_offset = p->p_offset,
						      .sh_size = p->p_filesz };
	}
}

static void dynamic_note(const struct elf_file *f, struct elf_parts *parts)
{
	uint64_t symbols, symbols_bytes, strings, strings_bytes;
	struct elf_dynamic d;
	uint32_t n;

	if (elf_file_read_dynamic(f, &d) != PARSER_OK || elf_file_count_symbols(f, &d, &n) != PARSER_OK || n == 0 ||
	    !elf_file_find(f, d.symbols, 0, &symbols, &symbols_bytes) ||
	    !elf_file_find(f, d.strings, 0, &strings, &strings_bytes))
		return;
	parts->dynamic = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
				       .sh_offset = symbols,
				       .sh_size = MIN(n * (uint64_t)sizeof(Elf64_Sym), symbols_bytes) };
	parts->dynamic_names = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					     .sh_offset = strings,
					     .sh_size = MIN(d.strings_bytes, strings_bytes) };
}

void elf_parts_read(const struct elf_file *f, struct elf_parts *ret_parts)
{
	struct elf_bytes names = { .file = f };
	Elf64_Shdr section;

	memset(ret_parts, 0, sizeof(*ret_parts));
	if (elf_file_read_section(f, f->names_section, &section)) {
		names.offset = section.sh_offset;
		names.n = section.sh_size;
	}
	for (uint64_t i = 0; i < MIN(f->n_sections, (size_t)SECTIONS_MAX); i++)
		if (section_read(f, i, &section))
			section_note(f, &section, &names, ret_parts);
	if (ret_parts->n_code)
		return;
	segments_note(f, ret_parts);
	if (ret_parts->dynamic.sh_type == SHT_NULL)
		dynamic_note(f, ret_parts);
}

uint64_t elf_parts_lowest(const struct elf_parts *parts)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < parts->n_code; i++)
		lowest = MIN(lowest, parts->code[i].start);
	return lowest;
}

const struct elf_code *elf_parts_find_code(const struct elf_parts *parts, uint64_t address)
{
	for (size_t i = 0; i < parts->n_code; i++)
		if (address >= parts->code[i].start && address < parts->code[i].end)
			return &parts->code[i];
	return NULL;
}
