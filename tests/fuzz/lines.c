// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the sections that lines are read from: .debug_line, .debug_line_str, .debug_info, .debug_abbrev, one
 * after another; three sizes of 16 bits come first, those of the last three. All addresses are code.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "children/dwarf_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void section_set(Elf64_Shdr *section, uint64_t *at, uint64_t n)
{
	*section = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_offset = *at, .sh_size = n };
	*at += n;
}

static void find_check(struct dwarf_lines *lines, uint64_t address)
{
	char file[DWARF_FILE_BYTES];
	uint32_t line;

	memset(file, 0xa5, sizeof(file));
	line = dwarf_lines_find(lines, address, file);
	if (strnlen(file, sizeof(file)) == sizeof(file) || !line != !file[0] || utf8_scrub(file))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct elf_file file = { .fd = -1, .image = data, .bytes = n };
	struct elf_parts parts = { .n_code = 1, .code = { { .start = 0, .end = UINT64_MAX } } };
	struct dwarf_lines lines = DWARF_LINES_INIT;
	uint16_t sizes[3];
	uint64_t at = sizeof(sizes), n_rest = 0;

	if (n < sizeof(sizes))
		return 0;
	memcpy(sizes, data, sizeof(sizes));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		sizes[i] = (uint16_t)MIN((uint64_t)sizes[i], n - at - n_rest);
		n_rest += sizes[i];
	}
	section_set(&parts.line, &at, n - at - n_rest);
	section_set(&parts.line_names, &at, sizes[0]);
	section_set(&parts.units, &at, sizes[1]);
	section_set(&parts.unit_forms, &at, sizes[2]);
	parts.names = parts.line_names;

	dwarf_lines_read(&lines, &file, &parts);
	for (size_t i = 0; i < lines.marks.n; i++)
		if (lines.marks.items[i].unit >= lines.units.n ||
		    (i && lines.marks.items[i].address < lines.marks.items[i - 1].address))
			abort();
	for (size_t i = 0; i < MIN(lines.marks.n, (size_t)64); i++) {
		find_check(&lines, lines.marks.items[i].address);
		find_check(&lines, lines.marks.items[i].address + 1);
		find_check(&lines, lines.marks.items[i].address + 100);
	}
	find_check(&lines, 0);
	find_check(&lines, UINT64_MAX);
	dwarf_lines_done(&lines);
	return 0;
}
