// SPDX-License-Identifier: Apache-2.0
/* Names of source files, in the head of a unit of .debug_line. */
#pragma once

#include "children/dwarf_program.h"
#include "children/elf_bytes.h"

#define DWARF_PATH_BYTES 1024	  /* of a part of a path, which is cut */
#define DWARF_FILE_BYTES 512	  /* of a path, with its NUL */
#define DWARF_VERSION_WITH_DIRS 5 /* from this on a unit says where the compiler ran */

/**
 * dwarf_file_write() - write the path of a source file
 * @tables: bytes from head->tables to head->program
 * @sections: .debug_str and .debug_line_str, in this order
 * @directory: where the compiler ran, for units before DWARF 5, which do not say it; "": not known
 * @text: DWARF_FILE_BYTES; "" if the file is not known. Of a longer path the end, behind ".../"
 *
 * A relative path follows the directory where the compiler ran. Control characters are replaced.
 */
void dwarf_file_write(const struct dwarf_head *head, const uint8_t *tables, const struct elf_bytes *sections,
		      uint32_t file, const char *directory, char *text);
