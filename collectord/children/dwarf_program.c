// SPDX-License-Identifier: Apache-2.0
#include "children/dwarf_program.h"

#include <string.h>

#include "base/cleanup.h"

/* Opcodes. Source: DWARF 5, 6.2.5. */
enum {
	OP_EXTENDED,
	OP_COPY,
	OP_ADVANCE_ADDRESS,
	OP_ADVANCE_LINE,
	OP_SET_FILE,
	OP_CONST_ADD = 8,
	OP_FIXED_ADVANCE = 9,
};
enum { EXTENDED_END = 1, EXTENDED_SET_ADDRESS = 2 };

#define VERSION_MIN 2
#define VERSION_WITH_OPS 4
#define VERSION_WITH_SIZES 5

static const struct dwarf_row first_row = { .line = 1, .file = 1 };

bool dwarf_head_read(const uint8_t *unit, size_t n, struct dwarf_head *ret_head)
{
	struct dwarf_cursor c = { .at = unit, .end = unit + n };
	struct dwarf_head head = { .address_bytes = 8 };
	uint64_t length = dwarf_length(&c), head_length;
	uint8_t n_ops = 1, n_selector = 0;

	ret_head->n = 0;
	if (c.is_bad || length > UINT64_MAX - 12)
		return false;
	ret_head->n = head.n = (uint64_t)(c.at - unit) + length;
	head.is_64 = c.is_64;
	head.version = (uint16_t)dwarf_number(&c, 2);
	if (head.version < VERSION_MIN || head.version > VERSION_WITH_SIZES)
		return false;
	if (head.version >= VERSION_WITH_SIZES) {
		head.address_bytes = (uint8_t)dwarf_number(&c, 1);
		n_selector = (uint8_t)dwarf_number(&c, 1);
	}
	head_length = dwarf_offset(&c);
	head.program = (uint64_t)(c.at - unit) + head_length;
	if (head_length > head.n || head.program > head.n || head.address_bytes > 8 || n_selector)
		return false;
	head.instruction_bytes = (uint8_t)dwarf_number(&c, 1);
	if (head.version >= VERSION_WITH_OPS)
		n_ops = (uint8_t)dwarf_number(&c, 1);
	(void)dwarf_number(&c, 1); /* whether rows are of statements */
	head.line_base = (int8_t)dwarf_number(&c, 1);
	head.line_range = (uint8_t)dwarf_number(&c, 1);
	head.opcode_base = (uint8_t)dwarf_number(&c, 1);
	for (unsigned int i = 1; i < head.opcode_base; i++)
		head.n_operands[i] = (uint8_t)dwarf_number(&c, 1);
	head.tables = (uint64_t)(c.at - unit);
	/* Several operations an instruction: of machines that are not ours. */
	if (c.is_bad || n_ops > 1 || !head.line_range || !head.opcode_base || head.tables > head.program)
		return false;
	*ret_head = head;
	return true;
}

void dwarf_run_init(struct dwarf_run *run, const struct dwarf_head *head, const uint8_t *program, size_t n,
		    const struct dwarf_row *row)
{
	*run = (struct dwarf_run){
		.head = head,
		.c = { .at = program, .end = program + n, .is_64 = head->is_64 },
		.row = row ? *row : first_row,
	};
}

/* Return: whether it makes a row */
static bool extended_run(struct dwarf_run *run)
{
	uint64_t n = dwarf_unsigned(&run->c);
	const uint8_t *at = dwarf_skip(&run->c, n);
	uint64_t address = 0;

	if (!at || !n)
		return false;
	if (at[0] == EXTENDED_SET_ADDRESS) {
		memcpy(&address, at + 1, MIN((size_t)n - 1, sizeof(address)));
		run->row.address = address;
	}
	run->row.is_end = at[0] == EXTENDED_END;
	return run->row.is_end;
}

/* Return: whether it makes a row */
static bool standard_run(struct dwarf_run *run, uint8_t opcode)
{
	const struct dwarf_head *head = run->head;

	switch (opcode) {
	case OP_EXTENDED:
		return extended_run(run);
	case OP_COPY:
		return true;
	case OP_ADVANCE_ADDRESS:
		run->row.address += dwarf_unsigned(&run->c) * head->instruction_bytes;
		return false;
	case OP_ADVANCE_LINE:
		run->row.line += (uint32_t)dwarf_signed(&run->c);
		return false;
	case OP_SET_FILE:
		run->row.file = (uint32_t)dwarf_unsigned(&run->c);
		return false;
	case OP_CONST_ADD:
		run->row.address += (uint64_t)((255 - head->opcode_base) / head->line_range) * head->instruction_bytes;
		return false;
	case OP_FIXED_ADVANCE:
		run->row.address += dwarf_number(&run->c, 2);
		return false;
	default:
		for (unsigned int i = 0; i < head->n_operands[opcode]; i++)
			(void)dwarf_unsigned(&run->c);
		return false;
	}
}

bool dwarf_run_next(struct dwarf_run *run)
{
	const struct dwarf_head *head = run->head;

	if (run->row.is_end)
		run->row = first_row;
	while (run->c.at < run->c.end && !run->c.is_bad) {
		uint8_t opcode = *run->c.at++;

		if (opcode >= head->opcode_base) {
			unsigned int step = opcode - head->opcode_base;

			run->row.address += (uint64_t)(step / head->line_range) * head->instruction_bytes;
			run->row.line += (uint32_t)(head->line_base + (int)(step % head->line_range));
			return true;
		}
		if (standard_run(run, opcode))
			return true;
	}
	return false;
}
