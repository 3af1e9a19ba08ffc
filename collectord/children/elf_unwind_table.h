// SPDX-License-Identifier: Apache-2.0
/*
 * Where a file has its entries of unwinding: PT_GNU_EH_FRAME with its table for binary search, which survives
 * stripping, or the section headers.
 */
#pragma once

#include "children/elf_unwind_entry.h"

#define UNWIND_TABLE_BLOCK 512 /* entries read at once */

struct unwind_table_entry {
	int32_t begin, fde; /* addresses, relative to that of the table's head */
};

struct unwind_tables {
	struct elf_file *file;
	struct frame_reader *reader;
	uint64_t n;		  /* entries of the table; 0: there is none, or one of another kind */
	uint64_t address, offset; /* of the head as linked; of the first entry in the file */
	uint64_t eh_frame;	  /* as linked, by the head of the table; 0: there is none */
	bool is_damaged;	  /* the file says that it has a table, but there is none */
	size_t names_section;
	uint64_t block_start, n_block;
	struct unwind_table_entry block[UNWIND_TABLE_BLOCK];
};

/** unwind_tables_open() - look at the segments; both are borrowed. Return: PARSER_OK, or why the file is unreadable */
enum parser_result unwind_tables_open(struct unwind_tables *t, struct elf_file *file, struct frame_reader *reader);
/** unwind_table_get() - an entry of the table. Return: false: outside the file, or not in order */
bool unwind_table_get(struct unwind_tables *t, uint64_t i, uint64_t *ret_begin, uint64_t *ret_fde);
/**
 * unwind_table_find() - index of the first entry that may describe code from an address on
 * Return: as unwind_table_get()
 */
bool unwind_table_find(struct unwind_tables *t, uint64_t address, uint64_t *ret_i);
/** unwind_region_find() - the segment that has an address */
bool unwind_region_find(const struct unwind_tables *t, uint64_t address, struct frame_region *ret_region);
/**
 * unwind_regions_find() - all of .eh_frame, and all of .debug_frame; bytes 0: there is none
 *
 * Go writes .debug_frame without what becomes of the frame pointer, which its functions change: that counts as none.
 */
void unwind_regions_find(struct unwind_tables *t, struct frame_region *ret_eh, struct frame_region *ret_debug);
