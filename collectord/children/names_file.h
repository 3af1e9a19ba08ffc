// SPDX-License-Identifier: Apache-2.0
/* What is known of one file that names code: its parts, an index of functions, one of lines, and names found before. */
#pragma once

#include "children/dwarf_lines.h"
#include "children/elf_plt.h"
#include "children/elf_symbols.h"
#include "children/names_memo.h"
#include "children/symbol_text.h"

struct names_file {
	struct elf_file elf;
	struct elf_parts parts;
	struct elf_symbols symbols;
	struct elf_plt plt;
	struct dwarf_lines lines;
	struct names_memo memo;
	/* .gnu_debugdata: a file with functions that the dynamic table lacks. */
	struct elf_bytes debug_data;
	struct elf_file debug_elf;
	struct elf_parts debug_parts;
	struct parser_names about; /* n and n_text are 0 */
};

/**
 * names_file_read() - read a file
 * @file: zero, in memory that does not move; names_file_done() whatever the result
 * Return: PARSER_OK, also for a file without names
 */
enum parser_result names_file_read(struct names_file *file, int fd, uint64_t file_bytes);
/** names_file_address() - address as linked of an offset in the file. Return: 0: no code is there */
uint64_t names_file_address(const struct names_file *file, uint64_t offset);
/**
 * names_file_find() - names of an address as linked
 * Return: borrowed until the next call; NULL: it is no code. Texts are in file->memo
 */
const struct memo_name *names_file_find(struct names_file *file, uint64_t address);
/** names_file_bytes() - memory that it holds */
size_t names_file_bytes(const struct names_file *file);
void names_file_done(struct names_file *file);
