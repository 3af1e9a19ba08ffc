// SPDX-License-Identifier: Apache-2.0
#include "children/dwarf_lines.h"

#include <string.h>

#include "children/address_sort.h"

#define MARK_BYTES 1024 /* of a program between two marks */
#define PIECE_BYTES                                                                                                    \
	8192	      /* of a program that is run for one address: up to the next mark, with room for long operations */
#define MARKS_TRIED 4 /* several sequences can begin at one address, all but one of them empty */
#define TABLES_BYTES_MAX (1u << 20) /* guess: of the names in one head */

/* Bytes of the section: where they are, or read into a buffer of n. */
static const uint8_t *line_bytes(const struct dwarf_lines *lines, uint64_t at, size_t n, uint8_t *buffer)
{
	if (at > lines->line.n || n > lines->line.n - at)
		return NULL;
	if (lines->line.unpacked)
		return lines->line.unpacked + at;
	return elf_bytes_read(&lines->line, at, buffer, n) ? buffer : NULL;
}

static bool unit_head_find(const struct dwarf_lines *lines, uint64_t unit, struct dwarf_head *ret_head)
{
	uint8_t start[DWARF_HEAD_BYTES_MAX];
	size_t n = elf_bytes_read_some(&lines->line, unit, start, sizeof(start));

	ret_head->n = 0;
	return dwarf_head_read(start, n, ret_head) && ret_head->n <= lines->line.n - unit;
}

/* ---- the index ---- */

/* Marks of one program. Of sequences outside of the code nothing is kept: the linker has dropped their functions. */
static bool unit_mark(struct dwarf_lines *lines, const struct dwarf_head *head, const uint8_t *unit, uint64_t unit_at)
{
	struct dwarf_mark mark = { .unit = (uint32_t)lines->units.n };
	const uint8_t *program = unit + head->program, *marked = NULL;
	const struct elf_code *code = NULL;
	struct dwarf_run run;

	if (ARRAY_PUSH(&lines->units, unit_at) < 0)
		return false;
	dwarf_run_init(&run, head, program, (size_t)(head->n - head->program), NULL);
	for (bool is_first = true; dwarf_run_next(&run); is_first = run.row.is_end) {
		if (is_first) {
			code = elf_parts_find_code(lines->parts, run.row.address);
			marked = NULL;
		}
		if (!code || run.row.is_end || (marked && run.c.at - marked < MARK_BYTES))
			continue;
		if (marked && run.row.address < mark.address) { /* rows have to ascend */
			code = NULL;
			continue;
		}
		mark.address = run.row.address;
		mark.at = (uint32_t)(run.c.at - unit);
		mark.line = run.row.line;
		mark.file = run.row.file;
		marked = run.c.at;
		if (lines->marks.n == DWARF_MARKS_MAX || ARRAY_PUSH(&lines->marks, mark) < 0)
			return false;
	}
	return true;
}

static void units_mark(struct dwarf_lines *lines)
{
	CLEANUP(freep) uint8_t *buffer = NULL;
	uint64_t end = MIN(lines->line.n, (uint64_t)DWARF_LINES_BYTES_MAX);
	struct dwarf_head head;
	size_t room = 0, n_units = 0;

	for (uint64_t at = 0; at < end && n_units < DWARF_LINES_UNITS_MAX; at += head.n, n_units++) {
		bool is_known = unit_head_find(lines, at, &head);
		const uint8_t *unit;

		if (!head.n || head.n > end - at)
			return;
		if (!is_known || head.n > DWARF_UNIT_BYTES_MAX)
			continue;
		if (head.n > room && !lines->line.unpacked) {
			room = (size_t)head.n;
			free(buffer);
			buffer = malloc(room);
			if (!buffer)
				return;
		}
		unit = line_bytes(lines, at, (size_t)head.n, buffer);
		if (!unit || !unit_mark(lines, &head, unit, at))
			return;
	}
}

void dwarf_lines_read(struct dwarf_lines *lines, const struct elf_file *f, const struct elf_parts *parts)
{
	lines->file = f;
	lines->parts = parts;
	if (elf_bytes_open(f, &parts->line, &lines->line) != PARSER_OK)
		return;
	/* Compilers put the names of files there at most where they have no place for those of lines. */
	if (!(parts->names.sh_flags & SHF_COMPRESSED))
		(void)elf_bytes_open(f, &parts->names, &lines->texts[0]);
	(void)elf_bytes_open(f, &parts->line_names, &lines->texts[1]);
	units_mark(lines);
	ARRAY_FIT(&lines->marks);
	if (address_sort(lines->marks.items, lines->marks.n, sizeof(*lines->marks.items)) < 0)
		ARRAY_DONE(&lines->marks);
}

/* ---- an address ---- */

/* Runs a program from a mark on. Return: whether it has the address; *ret_row is the row */
static bool mark_run(const struct dwarf_lines *lines, const struct dwarf_mark *mark, const struct dwarf_head *head,
		     uint64_t address, struct dwarf_row *ret_row)
{
	struct dwarf_row row = { .address = mark->address, .line = mark->line, .file = mark->file };
	uint64_t n = MIN(head->n - MIN((uint64_t)mark->at, head->n), (uint64_t)PIECE_BYTES);
	uint8_t buffer[PIECE_BYTES];
	const uint8_t *program = line_bytes(lines, lines->units.items[mark->unit] + mark->at, (size_t)n, buffer);
	struct dwarf_run run;

	if (!program)
		return false;
	dwarf_run_init(&run, head, program, (size_t)n, &row);
	while (dwarf_run_next(&run) && run.row.address >= row.address) {
		if (run.row.address > address) {
			*ret_row = row;
			return true;
		}
		if (run.row.is_end)
			return false;
		row = run.row;
	}
	return false;
}

static void line_file_write(struct dwarf_lines *lines, const struct dwarf_head *head, uint64_t unit, uint32_t file,
			    char *text)
{
	uint64_t n = head->program - head->tables;
	CLEANUP(freep) uint8_t *buffer = n <= TABLES_BYTES_MAX ? malloc((size_t)n + 1) : NULL;
	const uint8_t *tables = buffer ? line_bytes(lines, unit + head->tables, (size_t)n, buffer) : NULL;

	text[0] = 0;
	if (!tables)
		return;
	if (!lines->has_dirs && head->version < DWARF_VERSION_WITH_DIRS) {
		dwarf_dirs_read(&lines->dirs, lines->file, lines->parts);
		lines->has_dirs = true;
	}
	dwarf_file_write(head, tables, lines->texts, file, dwarf_dirs_find(&lines->dirs, unit), text);
}

uint32_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t address, char *file)
{
	size_t n = SORTED_PLACE(lines->marks.n, i, lines->marks.items[i].address <= address);

	file[0] = 0;
	for (size_t tried = 0; tried < MIN(n, (size_t)MARKS_TRIED); tried++) {
		const struct dwarf_mark *mark = &lines->marks.items[n - 1 - tried];
		uint64_t unit = lines->units.items[mark->unit];
		struct dwarf_head head;
		struct dwarf_row row;

		if (!unit_head_find(lines, unit, &head) || !mark_run(lines, mark, &head, address, &row))
			continue;
		if (row.line)
			line_file_write(lines, &head, unit, row.file, file);
		return file[0] ? row.line : 0;
	}
	return 0;
}

size_t dwarf_lines_bytes(const struct dwarf_lines *lines)
{
	size_t n = lines->marks.room * sizeof(*lines->marks.items) + lines->units.room * sizeof(*lines->units.items) +
		   lines->dirs.dirs.room * sizeof(*lines->dirs.dirs.items) + lines->dirs.texts.room;

	n += lines->line.unpacked ? (size_t)lines->line.n : 0;
	for (size_t i = 0; i < ARRAY_SIZE(lines->texts); i++)
		n += lines->texts[i].unpacked ? (size_t)lines->texts[i].n : 0;
	return n;
}

void dwarf_lines_done(struct dwarf_lines *lines)
{
	elf_bytes_close(&lines->line);
	for (size_t i = 0; i < ARRAY_SIZE(lines->texts); i++)
		elf_bytes_close(&lines->texts[i]);
	ARRAY_DONE(&lines->units);
	ARRAY_DONE(&lines->marks);
	dwarf_dirs_done(&lines->dirs);
}
