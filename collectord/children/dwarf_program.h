// SPDX-License-Identifier: Apache-2.0
/*
 * The program of one unit of .debug_line, which is run to get rows: from this address on, this line. DWARF 2 to 5.
 */
#pragma once

#include "children/dwarf_cursor.h"

#define DWARF_HEAD_BYTES_MAX 512 /* of a head without its tables: at most 285 */

/* Head of a unit. Offsets are bytes from the start of the unit. */
struct dwarf_head {
	uint64_t n;	  /* bytes of the unit, its length included */
	uint64_t tables;  /* offset of the tables of directories and files */
	uint64_t program; /* offset of the program */
	uint16_t version;
	bool is_64;
	uint8_t address_bytes; /* from DWARF 5 on; else 8 */
	uint8_t instruction_bytes;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	uint8_t n_operands[256]; /* of opcodes below opcode_base */
};

struct dwarf_row {
	uint64_t address;
	uint32_t line; /* 0: of no line */
	uint32_t file; /* index in the table of files */
	bool is_end;   /* the address is the first one after the sequence */
};

/* Where a program is. */
struct dwarf_run {
	const struct dwarf_head *head;
	struct dwarf_cursor c;
	struct dwarf_row row;
};

/**
 * dwarf_head_read() - read the head of a unit
 * @n: bytes of the unit that are there, DWARF_HEAD_BYTES_MAX or all
 * Return: false when it is damaged, or of another version; then ret_head->n is valid alone, 0: not even that
 */
bool dwarf_head_read(const uint8_t *unit, size_t n, struct dwarf_head *ret_head);
/** dwarf_run_init() - begin a program, or go on behind `row` */
void dwarf_run_init(struct dwarf_run *run, const struct dwarf_head *head, const uint8_t *program, size_t n,
		    const struct dwarf_row *row);
/** dwarf_run_next() - run up to the next row, run->row. Return: false at the end */
bool dwarf_run_next(struct dwarf_run *run);
