// SPDX-License-Identifier: Apache-2.0
/*
 * Lines of addresses, by .debug_line.
 *
 * The programs of all units are run once, which takes 5 ns a row, and marks are kept: where a program can be run again
 * from. So nothing else need be trusted to say which unit an address belongs to, and a program without end costs no
 * more than one piece of it.
 */
#pragma once

#include "base/array.h"
#include "children/dwarf_dirs.h"
#include "children/dwarf_files.h"

#define DWARF_LINES_BYTES_MAX (256u << 20) /* of .debug_line; what is behind is not read */
#define DWARF_LINES_UNITS_MAX 1000000
#define DWARF_UNIT_BYTES_MAX (64u << 20) /* a larger unit is left out */
#define DWARF_MARKS_MAX 2000000		 /* 24 bytes each */

struct dwarf_mark {
	uint64_t address; /* of the row before `at` */
	uint32_t unit;	  /* index in the units */
	uint32_t at;	  /* where the program goes on: bytes from the start of the unit */
	uint32_t line, file;
};

struct dwarf_lines {
	const struct elf_file *file; /* borrowed, like its parts */
	const struct elf_parts *parts;
	struct elf_bytes line, texts[2]; /* .debug_line; .debug_str and .debug_line_str */
	ARRAY(uint64_t) units;		 /* offsets in .debug_line */
	ARRAY(struct dwarf_mark) marks;
	bool has_dirs; /* they were read: when the first line is asked for */
	struct dwarf_dirs dirs;
};

#define DWARF_LINES_INIT                                                                                               \
	{                                                                                                              \
		.dirs = DWARF_DIRS_INIT                                                                                \
	}

/**
 * dwarf_lines_read() - make the index of a file; without lines it is empty
 * @f: outlives the index, and can be read with each later call
 */
void dwarf_lines_read(struct dwarf_lines *lines, const struct elf_file *f, const struct elf_parts *parts);
/**
 * dwarf_lines_find() - file and line of an address
 * @file: DWARF_FILE_BYTES; "": not known
 * Return: line; 0: not known, and then the file is neither
 */
uint32_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t address, char *file);
/** dwarf_lines_bytes() - memory that it holds */
size_t dwarf_lines_bytes(const struct dwarf_lines *lines);
void dwarf_lines_done(struct dwarf_lines *lines);
