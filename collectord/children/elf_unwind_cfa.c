// SPDX-License-Identifier: Apache-2.0
#include "children/elf_unwind_cfa.h"

#include <sys/param.h>

/* Numbers of registers. */
#define DWARF_BP 6
#define DWARF_SP 7
#define DWARF_RA 16

/* Instructions: the first three have an operand in their low six bits. */
#define CFA_INSTRUCTION 0xc0
#define CFA_ADVANCE 0x40
#define CFA_OFFSET 0x80
#define CFA_RESTORE 0xc0
enum cfa_instruction {
	CFA_NOP,
	CFA_SET_LOC,
	CFA_ADVANCE1,
	CFA_ADVANCE2,
	CFA_ADVANCE4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_IN_REGISTER,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF,
	CFA_DEF_REGISTER,
	CFA_DEF_OFFSET,
	CFA_DEF_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_SF,
	CFA_DEF_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Operations of expressions, of which only some forms are understood. */
#define OP_DEREF 0x06
#define OP_AND 0x1a
#define OP_PLUS 0x22
#define OP_PLUS_UCONST 0x23
#define OP_SHL 0x24
#define OP_GE 0x2a
#define OP_LIT0 0x30
#define OP_BREG0 0x70

struct frame_run {
	const struct frame_cie *cie;
	const struct frame_state *initial; /* NULL: the program is the CIE's */
	struct frame_bytes bytes;
	struct frame_state state;
	size_t n_remembered;
	struct frame_state remembered[FRAME_REMEMBERED_MAX];
};

static enum frame_register frame_register_of(uint64_t number)
{
	switch (number) {
	case DWARF_BP:
		return FRAME_BP;
	case DWARF_SP:
		return FRAME_SP;
	case DWARF_RA:
		return FRAME_RA;
	default:
		return FRAME_REGISTER_OTHER;
	}
}

/* ---- expressions ---- */

/* Return: the operand, a block of bytes, which is skipped */
static struct frame_bytes block_take(struct frame_run *run)
{
	uint64_t n = frame_bytes_uleb(&run->bytes);
	struct frame_bytes block = { .at = run->bytes.at };

	frame_bytes_skip(&run->bytes, n);
	block.end = run->bytes.is_bad ? block.at : run->bytes.at;
	return block;
}

/* Takes `base + offset`, with which each understood form begins. */
static bool expression_base(struct frame_bytes *b, enum frame_register *ret_base, int64_t *ret_offset)
{
	uint8_t op = (uint8_t)frame_bytes_fixed(b, 1);

	if (op != OP_BREG0 + DWARF_BP && op != OP_BREG0 + DWARF_SP)
		return false;
	*ret_base = frame_register_of((uint64_t)op - OP_BREG0);
	*ret_offset = frame_bytes_sleb(b);
	return !b->is_bad;
}

/*
 * What linkers write for the table of procedure linkage (PLT): an entry of 16 bytes that pushes a number before its
 * byte @ret_from: `SP + 8 + ((PC & 15) >= from) << 3`.
 */
static bool expression_is_plt(struct frame_bytes b, int64_t *ret_from)
{
	static const uint8_t head[] = { OP_BREG0 + DWARF_SP, 8, OP_BREG0 + DWARF_RA, 0, OP_LIT0 + 15, OP_AND };
	static const uint8_t tail[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
	uint8_t from;

	if ((size_t)(b.end - b.at) != sizeof(head) + 1 + sizeof(tail) || memcmp(b.at, head, sizeof(head)) != 0 ||
	    memcmp(b.at + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return false;
	from = b.at[sizeof(head)];
	*ret_from = from - OP_LIT0;
	return from >= OP_LIT0 && from <= OP_LIT0 + 15;
}

static struct frame_cfa cfa_of_expression(struct frame_bytes b)
{
	struct frame_cfa none = { .kind = CFA_UNKNOWN }, cfa = { .kind = CFA_REGISTER };

	if (expression_is_plt(b, &cfa.offset)) {
		cfa.kind = CFA_PLT;
		return cfa;
	}
	if (!expression_base(&b, &cfa.base, &cfa.offset))
		return none;
	if (b.at < b.end) {
		if (frame_bytes_fixed(&b, 1) != OP_DEREF)
			return none;
		cfa.kind = CFA_DEREF;
	}
	if (b.at < b.end) {
		if (frame_bytes_fixed(&b, 1) != OP_PLUS_UCONST)
			return none;
		cfa.add = (int64_t)frame_bytes_uleb(&b);
	}
	return b.is_bad || b.at < b.end ? none : cfa;
}

static struct frame_saved saved_of_expression(struct frame_bytes b)
{
	struct frame_saved saved = { .kind = SAVED_OTHER };
	enum frame_register base;

	if (expression_base(&b, &base, &saved.offset) && b.at == b.end)
		saved.kind = base == FRAME_BP ? SAVED_AT_BP : SAVED_AT_SP;
	return saved;
}

/* ---- instructions ---- */

static void saved_set(struct frame_run *run, uint64_t number, struct frame_saved saved)
{
	enum frame_register reg = frame_register_of(number);

	if (reg != FRAME_REGISTER_OTHER)
		run->state.saved[reg] = saved;
}

static int64_t offset_factored(struct frame_run *run, int64_t n)
{
	int64_t offset = 0;

	run->bytes.is_bad |= __builtin_mul_overflow(n, run->cie->data_align, &offset);
	return offset;
}

static int64_t offset_unsigned(struct frame_run *run)
{
	uint64_t n = frame_bytes_uleb(&run->bytes);

	run->bytes.is_bad |= n > INT64_MAX;
	return run->bytes.is_bad ? 0 : (int64_t)n;
}

static void saved_restore(struct frame_run *run, uint64_t number)
{
	enum frame_register reg = frame_register_of(number);

	if (!run->initial)
		run->bytes.is_bad = true;
	else if (reg != FRAME_REGISTER_OTHER)
		run->state.saved[reg] = run->initial->saved[reg];
}

/* The CFA is that number of bytes from the register. */
static void cfa_define(struct frame_run *run, uint64_t number, int64_t offset)
{
	run->state.has_offset = true;
	run->state.offset = offset;
	run->state.cfa = (struct frame_cfa){
		.kind = CFA_REGISTER,
		.base = frame_register_of(number),
		.offset = offset,
	};
}

/*
 * The next two, after an expression: DWARF gives them no meaning. libgcc, gdb and readelf agree on one, and assembly
 * code (libgcrypt) relies on it: the offset is remembered, the register ends the expression.
 */
static void cfa_define_offset(struct frame_run *run, int64_t offset)
{
	run->state.has_offset = true;
	run->state.offset = offset;
	if (run->state.cfa.kind == CFA_REGISTER)
		run->state.cfa.offset = offset;
}

static void cfa_define_register(struct frame_run *run, uint64_t number)
{
	if (run->state.has_offset)
		cfa_define(run, number, run->state.offset);
	else
		run->bytes.is_bad = true;
}

/* Return: false: an instruction that is not known */
static bool saved_instruction(struct frame_run *run, uint8_t instruction)
{
	uint64_t number = frame_bytes_uleb(&run->bytes);
	struct frame_saved saved = { .kind = SAVED_OTHER };

	switch (instruction) {
	case CFA_RESTORE_EXTENDED:
		saved_restore(run, number);
		return true;
	case CFA_OFFSET_EXTENDED:
		saved = (struct frame_saved){ SAVED_AT_CFA, offset_factored(run, offset_unsigned(run)) };
		break;
	case CFA_OFFSET_EXTENDED_SF:
		saved = (struct frame_saved){ SAVED_AT_CFA, offset_factored(run, frame_bytes_sleb(&run->bytes)) };
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		saved = (struct frame_saved){ SAVED_AT_CFA, offset_factored(run, -offset_unsigned(run)) };
		break;
	case CFA_UNDEFINED:
		saved.kind = SAVED_UNDEFINED;
		break;
	case CFA_SAME_VALUE:
		saved.kind = SAVED_SAME;
		break;
	case CFA_EXPRESSION:
		saved = saved_of_expression(block_take(run));
		break;
	case CFA_VAL_EXPRESSION:
		(void)block_take(run);
		break;
	case CFA_IN_REGISTER:
	case CFA_VAL_OFFSET:
		(void)frame_bytes_uleb(&run->bytes);
		break;
	case CFA_VAL_OFFSET_SF:
		(void)frame_bytes_sleb(&run->bytes);
		break;
	default:
		return false;
	}
	saved_set(run, number, saved);
	return true;
}

/* Return: as saved_instruction() */
static bool cfa_instruction_run(struct frame_run *run, uint8_t instruction)
{
	uint64_t number;

	switch (instruction) {
	case CFA_NOP:
		break;
	case CFA_GNU_ARGS_SIZE: /* of arguments on the stack, for exceptions */
		(void)frame_bytes_uleb(&run->bytes);
		break;
	case CFA_REMEMBER_STATE:
		if (run->n_remembered == FRAME_REMEMBERED_MAX)
			return false;
		run->remembered[run->n_remembered++] = run->state;
		break;
	case CFA_RESTORE_STATE:
		if (!run->n_remembered)
			return false;
		run->state = run->remembered[--run->n_remembered];
		break;
	case CFA_DEF:
		number = frame_bytes_uleb(&run->bytes);
		cfa_define(run, number, offset_unsigned(run));
		break;
	case CFA_DEF_SF:
		number = frame_bytes_uleb(&run->bytes);
		cfa_define(run, number, offset_factored(run, frame_bytes_sleb(&run->bytes)));
		break;
	case CFA_DEF_REGISTER:
		cfa_define_register(run, frame_bytes_uleb(&run->bytes));
		break;
	case CFA_DEF_OFFSET:
		cfa_define_offset(run, offset_unsigned(run));
		break;
	case CFA_DEF_OFFSET_SF:
		cfa_define_offset(run, offset_factored(run, frame_bytes_sleb(&run->bytes)));
		break;
	case CFA_DEF_EXPRESSION:
		run->state.cfa = cfa_of_expression(block_take(run));
		break;
	default:
		return saved_instruction(run, instruction);
	}
	return true;
}

/* Instructions that change the state, not the address. Return: false where it is not known any more */
static bool instruction_run(struct frame_run *run, uint8_t instruction)
{
	uint64_t operand = instruction & ~CFA_INSTRUCTION;
	bool is_known = true;

	switch (instruction & CFA_INSTRUCTION) {
	case CFA_OFFSET:
		saved_set(run, operand,
			  (struct frame_saved){ SAVED_AT_CFA, offset_factored(run, offset_unsigned(run)) });
		break;
	case CFA_RESTORE:
		saved_restore(run, operand);
		break;
	default:
		is_known = cfa_instruction_run(run, instruction);
		break;
	}
	return is_known && !run->bytes.is_bad;
}

void frame_cie_run(struct frame_cie *cie, const uint8_t *program, size_t n)
{
	struct frame_run run;

	run.cie = cie;
	run.initial = NULL;
	run.bytes = (struct frame_bytes){ .at = program, .end = program + n };
	run.state = (struct frame_state){ .cfa = { .kind = CFA_UNKNOWN } };
	run.n_remembered = 0;
	cie->is_damaged = false;
	while (run.bytes.at < run.bytes.end && !cie->is_damaged)
		cie->is_damaged = !instruction_run(&run, (uint8_t)frame_bytes_fixed(&run.bytes, 1));
	cie->initial = run.state;
}

/*
 * Takes the operands of an instruction that changes the address.
 * @start:  first byte of the program, whose address is @address
 * @ret_to: the new address; UINT64_MAX: it is not known
 * Return: false for another instruction, of which nothing was taken
 */
static bool advance_take(struct frame_run *run, uint8_t instruction, const uint8_t *start, uint64_t address,
			 uint64_t at, uint64_t *ret_to)
{
	uint64_t delta;

	*ret_to = UINT64_MAX;
	if ((instruction & CFA_INSTRUCTION) == CFA_ADVANCE) {
		delta = instruction & ~CFA_INSTRUCTION;
	} else if (instruction >= CFA_ADVANCE1 && instruction <= CFA_ADVANCE4) {
		delta = frame_bytes_fixed(&run->bytes, 1u << (instruction - CFA_ADVANCE1));
	} else if (instruction == CFA_SET_LOC) {
		address += (uint64_t)(run->bytes.at - start);
		delta = frame_bytes_pointer(&run->bytes, run->cie->encoding, address, 0);
		if (!run->bytes.is_bad && delta >= at)
			*ret_to = delta;
		return true;
	} else {
		return false;
	}
	if (run->bytes.is_bad || __builtin_mul_overflow(delta, run->cie->code_align, &delta) ||
	    __builtin_add_overflow(at, delta, ret_to))
		*ret_to = UINT64_MAX;
	return true;
}

void frame_fde_run(const struct frame_cie *cie, uint64_t begin, uint64_t end, uint64_t address, const uint8_t *program,
		   size_t n, uint64_t from, uint64_t to, frame_state_func func, void *data)
{
	uint64_t at = begin, limit = MIN(end, to);
	struct frame_run run;
	bool is_known = !cie->is_damaged;

	run.cie = cie;
	run.initial = &cie->initial;
	run.bytes = (struct frame_bytes){ .at = program, .end = program + n };
	run.state = cie->initial;
	run.n_remembered = 0;
	while (is_known && at < limit && run.bytes.at < run.bytes.end) {
		uint8_t instruction = (uint8_t)frame_bytes_fixed(&run.bytes, 1);
		uint64_t next;

		if (!advance_take(&run, instruction, program, address, at, &next)) {
			is_known = instruction_run(&run, instruction);
		} else if (next == UINT64_MAX) {
			is_known = false;
		} else {
			if (next > from && next > at)
				func(MAX(at, from), MIN(next, limit), &run.state, data);
			at = next;
		}
	}
	at = MAX(at, from);
	if (at < limit)
		func(at, limit, is_known ? &run.state : NULL, data);
}
