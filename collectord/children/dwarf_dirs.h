// SPDX-License-Identifier: Apache-2.0
/*
 * Directories where compilers ran, by unit of .debug_line: before DWARF 5 only the first entry of the unit of
 * .debug_info has it.
 */
#pragma once

#include "base/array.h"
#include "base/buf.h"
#include "children/elf_bytes.h"
#include "children/elf_parts.h"

#define DWARF_DIRS_UNITS_MAX 200000 /* guess: the largest programs have tens of thousands */
#define DWARF_DIRS_TEXT_BYTES_MAX (4u << 20)

struct dwarf_dir {
	uint64_t lines; /* offset of the unit in .debug_line */
	uint64_t text;	/* place in the texts */
};

struct dwarf_dirs {
	ARRAY(struct dwarf_dir) dirs;
	struct buf texts;
};

#define DWARF_DIRS_INIT                                                                                                \
	{                                                                                                              \
		.texts = BUF_INIT_CAP(DWARF_DIRS_TEXT_BYTES_MAX)                                                       \
	}

/** dwarf_dirs_read() - read those of all units, as far as they can be read */
void dwarf_dirs_read(struct dwarf_dirs *dirs, const struct elf_file *f, const struct elf_parts *parts);
/** dwarf_dirs_find() - directory of a unit. Return: borrowed; "": not known */
const char *dwarf_dirs_find(const struct dwarf_dirs *dirs, uint64_t lines);
void dwarf_dirs_done(struct dwarf_dirs *dirs);
