// SPDX-License-Identifier: Apache-2.0
/* Parts of an ELF file that name its code: where the code is, tables of symbols, and debug data. */
#pragma once

#include "children/elf_file.h"

#define ELF_CODE_MAX 64 /* executable sections; 8 seen */

/* A range of code, as linked. */
struct elf_code {
	uint64_t start, end;
	uint64_t offset;      /* of `start` in the file; UINT64_MAX: its bytes are not in this file */
	uint64_t entry_bytes; /* of a table of entries; 0: not known */
	bool is_plt;	      /* procedure linkage table */
};

/* Missing sections have type SHT_NULL. */
struct elf_parts {
	size_t n_code; /* 0: the file has no code */
	struct elf_code code[ELF_CODE_MAX];
	Elf64_Shdr symbols, symbol_names;   /* .symtab */
	Elf64_Shdr dynamic, dynamic_names;  /* .dynsym */
	Elf64_Shdr debug_data;		    /* .gnu_debugdata: an ELF file of its own, packed by xz */
	Elf64_Shdr debug_link;		    /* .gnu_debuglink */
	Elf64_Shdr frames;		    /* .eh_frame_hdr: where functions start */
	Elf64_Shdr line, line_names, names; /* .debug_line, .debug_line_str, .debug_str */
	Elf64_Shdr units, unit_forms;	    /* .debug_info, .debug_abbrev */
};

/**
 * elf_parts_read() - find the parts of a file whose header was read
 *
 * Sections outside the file count as missing. A file without sections has its segments as code.
 */
void elf_parts_read(const struct elf_file *f, struct elf_parts *ret_parts);
/** elf_parts_lowest() - lowest address with code, as linked; UINT64_MAX: there is none */
uint64_t elf_parts_lowest(const struct elf_parts *parts);
/** elf_parts_find_code() - range with this address. Return: NULL: it is no code */
const struct elf_code *elf_parts_find_code(const struct elf_parts *parts, uint64_t address);
