// SPDX-License-Identifier: Apache-2.0
/*
 * A decoder for the few encodings with which real functions begin.
 *
 * Each instruction is one of three: a place (the kernel emulates it, so a probe on it costs one trap), transparent (it
 * does not change arguments, stack pointer and return address, so the probe may be placed after it), or unknown, where
 * decoding ends. Sources for the kernels since 5.15: arch/x86/kernel/uprobes.c (push_setup_xol_ops,
 * branch_setup_xol_ops) and arch/arm64/kernel/probes/decode-insn.c.
 */
#include "probes/place.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum step {
	STEP_END,	 /* unknown, or changes what a probe must read */
	STEP_PLACE,	 /* emulated on every kernel */
	STEP_PLACE_JUMP, /* emulated on every kernel, a conditional jump */
	STEP_NOP,	 /* transparent; emulated only on new kernels */
	STEP_REFUSED,	 /* transparent; older kernels refuse a probe on it */
	STEP_OVER,	 /* transparent, single-stepped */
};

struct instruction {
	enum step step;
	size_t n; /* bytes; 0 for STEP_END */
};

static const struct instruction instruction_end = { STEP_END, 0 };

/*
 * x86-64: bytes after a multi-byte nop's opcode (0f 1f), by its addressing form; 0 if it is not one.
 * Only /0 is the architectural nop.
 */
static size_t x86_nop_operand_bytes(const uint8_t *p, size_t n)
{
	unsigned int mod, rm;
	size_t bytes = 1;

	if (n < 1 || (p[0] & 0x38))
		return 0;

	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod == 3)
		return bytes;
	if (rm == 4) { /* an index byte follows; base 5 without displacement means a displacement of 4 bytes */
		if (n < 2)
			return 0;
		bytes++;
		if (mod == 0 && (p[1] & 7) == 5)
			bytes += 4;
	} else if (mod == 0 && rm == 5) {
		bytes += 4;
	}
	bytes += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return bytes;
}

/* One nop with any number of 66 prefixes and at most one 2e, as assemblers use for padding. */
static struct instruction x86_nop(const uint8_t *p, size_t n)
{
	size_t i = 0, operand;

	while (i < n && (p[i] == 0x66 || p[i] == 0x2e))
		i++;
	if (i < n && p[i] == 0x90) /* without prefix: emulated everywhere. With one: 5.15 refuses the probe */
		return (struct instruction){ i ? STEP_REFUSED : STEP_PLACE, i + 1 };
	if (n - i < 3 || p[i] != 0x0f || p[i + 1] != 0x1f)
		return instruction_end;

	operand = x86_nop_operand_bytes(p + i + 2, n - i - 2);
	if (!operand || i + 2 + operand > n)
		return instruction_end;
	return (struct instruction){ i ? STEP_OVER : STEP_NOP, i + 2 + operand };
}

/*
 * Comparisons and tests that write only flags, which hold no argument. Only the forms found at the start of functions:
 * immediate against memory relative to the instruction pointer, register against itself.
 */
static struct instruction x86_compare(const uint8_t *p, size_t n)
{
	size_t rex = n && p[0] >= 0x40 && p[0] <= 0x4f ? 1 : 0;

	if (n < rex + 2)
		return instruction_end;
	p += rex;
	if (p[0] == 0x81 && p[1] == 0x3d) /* cmpl/cmpq $imm32, disp32(%rip) */
		return (struct instruction){ STEP_OVER, rex + 10 };
	if ((p[0] == 0x80 || p[0] == 0x83) && p[1] == 0x3d) /* cmpb/cmpl/cmpq $imm8, disp32(%rip) */
		return (struct instruction){ STEP_OVER, rex + 7 };
	if ((p[0] == 0x84 || p[0] == 0x85) && p[1] >= 0xc0) /* test %reg, %reg */
		return (struct instruction){ STEP_OVER, rex + 2 };
	return instruction_end;
}

static struct instruction x86_decode(const uint8_t *p, size_t n)
{
	struct instruction found;

	if (n >= 4 && memcmp(p, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64 */
		return (struct instruction){ STEP_OVER, 4 };
	if (p[0] >= 0x50 && p[0] <= 0x57) /* push %rax ... %rdi */
		return (struct instruction){ STEP_PLACE, 1 };
	if (n >= 2 && p[0] == 0x41 && p[1] >= 0x50 && p[1] <= 0x57) /* push %r8 ... %r15; no other REX is emulated */
		return (struct instruction){ STEP_PLACE, 2 };
	if (n >= 2 && p[0] == 0xeb) /* jmp rel8 */
		return (struct instruction){ STEP_PLACE, 2 };
	if (n >= 5 && (p[0] == 0xe8 || p[0] == 0xe9)) /* call, jmp rel32: probed before they act */
		return (struct instruction){ STEP_PLACE, 5 };
	if (n >= 2 && p[0] >= 0x70 && p[0] <= 0x7f) /* jcc rel8 */
		return (struct instruction){ STEP_PLACE_JUMP, 2 };
	if (n >= 6 && p[0] == 0x0f && p[1] >= 0x80 && p[1] <= 0x8f) /* jcc rel32 */
		return (struct instruction){ STEP_PLACE_JUMP, 6 };
	/* movabs into %rax, %r10, %r11: scratch registers that carry no argument of a C function */
	if (n >= 10 && ((p[0] == 0x48 && p[1] == 0xb8) || (p[0] == 0x49 && (p[1] == 0xba || p[1] == 0xbb))))
		return (struct instruction){ STEP_OVER, 10 };
	if (n >= 2 && (p[0] == 0x31 || p[0] == 0x33) && p[1] == 0xc0) /* xor %eax, %eax */
		return (struct instruction){ STEP_OVER, 2 };

	found = x86_nop(p, n);
	return found.step == STEP_END ? x86_compare(p, n) : found;
}

/*
 * arm64. A return probe replaces the link register, so no instruction that reads it may precede the probe: paciasp
 * signs it, and with a probe after it the program's own check would fail. bti and nop are transparent, but
 * single-stepped on most kernels.
 */
static struct instruction arm64_decode(const uint8_t *p, size_t n)
{
	static const struct {
		uint32_t mask;
		uint32_t value;
		enum step step;
	} rows[] = {
		{ 0xffffffff, 0xd503201f, STEP_OVER },	     /* nop: simulated from 6.14 */
		{ 0xffffff3f, 0xd503241f, STEP_OVER },	     /* bti, bti c, bti j, bti jc */
		{ 0x7c000000, 0x14000000, STEP_PLACE },	     /* b, bl */
		{ 0xff000010, 0x54000000, STEP_PLACE_JUMP }, /* b.cond */
		{ 0x7e000000, 0x34000000, STEP_PLACE_JUMP }, /* cbz, cbnz */
		{ 0x7e000000, 0x36000000, STEP_PLACE_JUMP }, /* tbz, tbnz */
		{ 0x1f000000, 0x10000000, STEP_PLACE },	     /* adr, adrp */
		{ 0xbf000000, 0x18000000, STEP_PLACE },	     /* ldr from a literal, 32 and 64 bits */
		{ 0xff000000, 0x98000000, STEP_PLACE },	     /* ldrsw from a literal */
	};
	uint32_t word;

	if (n < 4)
		return instruction_end;

	word = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((word & rows[i].mask) == rows[i].value)
			return (struct instruction){ rows[i].step, 4 };
	return instruction_end;
}

static struct instruction decode(uint16_t machine, const uint8_t *p, size_t n)
{
	if (machine == EM_X86_64)
		return x86_decode(p, n);
	if (machine == EM_AARCH64)
		return arm64_decode(p, n);
	return instruction_end;
}

struct place place_find(uint16_t machine, const uint8_t *head, size_t n_head)
{
	struct place fallback = { 0, CALL_HEAD_STEPPED };
	bool only_refused = true;
	size_t at = 0;

	while (at < n_head) {
		struct instruction here = decode(machine, head + at, n_head - at);

		if (here.step == STEP_PLACE || here.step == STEP_PLACE_JUMP)
			return (struct place){ (uint32_t)at,
					       here.step == STEP_PLACE ? CALL_HEAD_PLAIN : CALL_HEAD_JUMP };
		if (here.step == STEP_NOP && fallback.head == CALL_HEAD_STEPPED)
			fallback = (struct place){ (uint32_t)at, CALL_HEAD_PLAIN };
		if (here.step == STEP_END || here.n > n_head - at)
			break;

		at += here.n;
		only_refused = only_refused && here.step == STEP_REFUSED;
		if (only_refused)
			fallback.delta = (uint32_t)at; /* the address of the symbol itself cannot be probed */
	}
	return fallback;
}
