// SPDX-License-Identifier: Apache-2.0
/*
 * Heads as they are found in real libraries, and near misses of each encoding. What is
 * wrong here kills the traced program or reads arguments that are gone, so everything
 * unknown has to end at the function's own address.
 */
#include "probes/place.h"

#include <elf.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define HEAD(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

static const struct {
	const char *name;
	uint16_t machine;
	uint8_t head[32];
	size_t n_head;
	uint32_t delta;
	enum call_head kind;
} cases[] = {
	/* x86-64, real heads */
	{ "libcudart 12: push %rbp", EM_X86_64, HEAD(0x55, 0x48, 0x89, 0xe5), 0, CALL_HEAD_PLAIN },
	{ "push %r15", EM_X86_64, HEAD(0x41, 0x57, 0x41, 0x56), 0, CALL_HEAD_PLAIN },
	{ "libcuda: cmpl $imm32, disp32(%rip); je", EM_X86_64,
	  HEAD(0x81, 0x3d, 0x11, 0x22, 0x33, 0x44, 0x78, 0x56, 0x34, 0x12, 0x74, 0x06, 0xff, 0x25, 0, 0, 0, 0), 10,
	  CALL_HEAD_JUMP },
	{ "libcuda with a far jump", EM_X86_64,
	  HEAD(0x81, 0x3d, 0x11, 0x22, 0x33, 0x44, 0x78, 0x56, 0x34, 0x12, 0x0f, 0x85, 0x10, 0x20, 0, 0), 10,
	  CALL_HEAD_JUMP },
	{ "compare, then what is not emulated", EM_X86_64,
	  HEAD(0x81, 0x3d, 0x11, 0x22, 0x33, 0x44, 0x78, 0x56, 0x34, 0x12, 0x48, 0x83, 0xec, 0x08), 0,
	  CALL_HEAD_STEPPED },
	{ "cmpb $imm8, disp32(%rip); jne", EM_X86_64, HEAD(0x80, 0x3d, 0, 0x10, 0, 0, 0x01, 0x75, 0x10), 7,
	  CALL_HEAD_JUMP },
	{ "cmpq $imm8, disp32(%rip); je", EM_X86_64, HEAD(0x48, 0x83, 0x3d, 0, 0x10, 0, 0, 0x00, 0x74, 0x10), 8,
	  CALL_HEAD_JUMP },
	{ "addl $imm32, disp32(%rip) is no compare", EM_X86_64, HEAD(0x81, 0x05, 0, 0, 0, 0, 1, 0, 0, 0, 0x74, 0x06), 0,
	  CALL_HEAD_STEPPED },
	{ "endbr64; push", EM_X86_64, HEAD(0xf3, 0x0f, 0x1e, 0xfa, 0x55), 4, CALL_HEAD_PLAIN },
	{ "endbr64; push %r12", EM_X86_64, HEAD(0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54), 4, CALL_HEAD_PLAIN },
	{ "endbr64; sub $8,%rsp", EM_X86_64, HEAD(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08), 0,
	  CALL_HEAD_STEPPED },
	{ "endbr64; libcuda's head", EM_X86_64,
	  HEAD(0xf3, 0x0f, 0x1e, 0xfa, 0x81, 0x3d, 1, 2, 3, 4, 5, 6, 7, 8, 0x74, 0x06), 14, CALL_HEAD_JUMP },
	{ "libcudart 10.2: mov %rdi,-16(%rsp)", EM_X86_64, HEAD(0x48, 0x89, 0x7c, 0x24, 0xf0, 0x55), 0,
	  CALL_HEAD_STEPPED },
	{ "libnccl: sub $16,%rsp", EM_X86_64, HEAD(0x48, 0x83, 0xec, 0x10), 0, CALL_HEAD_STEPPED },
	{ "libnccl: movabs into %rax; push", EM_X86_64, HEAD(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x55), 10,
	  CALL_HEAD_PLAIN },
	{ "movabs into %r11; push", EM_X86_64, HEAD(0x49, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0x55), 10, CALL_HEAD_PLAIN },
	{ "movabs into %rdi, an argument", EM_X86_64, HEAD(0x48, 0xbf, 1, 2, 3, 4, 5, 6, 7, 8, 0x55), 0,
	  CALL_HEAD_STEPPED },
	{ "movabs into %rsp", EM_X86_64, HEAD(0x48, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0x55), 0, CALL_HEAD_STEPPED },
	{ "movabs into %r8, an argument", EM_X86_64, HEAD(0x49, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x55), 0,
	  CALL_HEAD_STEPPED },
	{ "jmp rel32", EM_X86_64, HEAD(0xe9, 1, 2, 3, 4), 0, CALL_HEAD_PLAIN },
	{ "jmp rel8", EM_X86_64, HEAD(0xeb, 0x10), 0, CALL_HEAD_PLAIN },
	{ "call rel32", EM_X86_64, HEAD(0xe8, 1, 2, 3, 4), 0, CALL_HEAD_PLAIN },
	{ "jmp *table(%rip)", EM_X86_64, HEAD(0xff, 0x25, 1, 2, 3, 4), 0, CALL_HEAD_STEPPED },
	{ "test %rdi,%rdi; je", EM_X86_64, HEAD(0x48, 0x85, 0xff, 0x74, 0x10), 3, CALL_HEAD_JUMP },
	{ "test against memory", EM_X86_64, HEAD(0x48, 0x85, 0x3f, 0x74, 0x10), 0, CALL_HEAD_STEPPED },
	{ "xor %eax,%eax; ret", EM_X86_64, HEAD(0x31, 0xc0, 0xc3), 0, CALL_HEAD_STEPPED },
	{ "xor %edi,%edi; push", EM_X86_64, HEAD(0x31, 0xff, 0x55), 0, CALL_HEAD_STEPPED },
	{ "push $imm", EM_X86_64, HEAD(0x68, 1, 0, 0, 0), 0, CALL_HEAD_STEPPED },
	{ "push with REX.W is not emulated", EM_X86_64, HEAD(0x48, 0x55), 0, CALL_HEAD_STEPPED },
	{ "ret", EM_X86_64, HEAD(0xc3), 0, CALL_HEAD_STEPPED },
	/* nops: of one byte everywhere, longer ones on new kernels alone */
	{ "nop", EM_X86_64, HEAD(0x90, 0x55), 0, CALL_HEAD_PLAIN },
	{ "nop of 5, then push", EM_X86_64, HEAD(0x0f, 0x1f, 0x44, 0, 0, 0x55), 5, CALL_HEAD_PLAIN },
	{ "endbr64; nop of 5; push", EM_X86_64, HEAD(0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0, 0x55), 9,
	  CALL_HEAD_PLAIN },
	{ "nop of 5, then what is not emulated", EM_X86_64, HEAD(0x0f, 0x1f, 0x44, 0, 0, 0x48, 0x83, 0xec, 8), 0,
	  CALL_HEAD_PLAIN },
	{ "nop of 8 by displacement", EM_X86_64, HEAD(0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x55), 8, CALL_HEAD_PLAIN },
	{ "nop of 10 with prefixes", EM_X86_64, HEAD(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x55), 10,
	  CALL_HEAD_PLAIN },
	{ "66 nop, which older kernels refuse", EM_X86_64, HEAD(0x66, 0x90, 0x55), 2, CALL_HEAD_PLAIN },
	{ "66 nop, then what is not emulated", EM_X86_64, HEAD(0x66, 0x90, 0x48, 0x83, 0xec, 8), 2, CALL_HEAD_STEPPED },
	{ "66 jump: the kernel refuses it", EM_X86_64, HEAD(0x66, 0x74, 0x10), 0, CALL_HEAD_STEPPED },
	/* cut short */
	{ "nothing known", EM_X86_64, { 0 }, 0, 0, CALL_HEAD_STEPPED },
	{ "endbr64 and no more", EM_X86_64, HEAD(0xf3, 0x0f, 0x1e, 0xfa), 0, CALL_HEAD_STEPPED },
	{ "endbr64 cut", EM_X86_64, HEAD(0xf3, 0x0f, 0x1e), 0, CALL_HEAD_STEPPED },
	{ "compare cut", EM_X86_64, HEAD(0x81, 0x3d, 0x11, 0x22, 0x33, 0x44, 0x78, 0x56), 0, CALL_HEAD_STEPPED },
	{ "jump cut", EM_X86_64, HEAD(0x0f, 0x84, 1, 2, 3), 0, CALL_HEAD_STEPPED },
	{ "REX push cut", EM_X86_64, HEAD(0x41), 0, CALL_HEAD_STEPPED },
	{ "movabs cut", EM_X86_64, HEAD(0x48, 0xb8, 1, 2, 3), 0, CALL_HEAD_STEPPED },
	{ "nop's index byte cut", EM_X86_64, HEAD(0x0f, 0x1f, 0x44), 0, CALL_HEAD_STEPPED },

	/* arm64, little-endian words */
	{ "nop; bti c; cbz x0", EM_AARCH64,
	  HEAD(0x1f, 0x20, 0x03, 0xd5, 0x5f, 0x24, 0x03, 0xd5, 0x40, 0x00, 0x00, 0xb4), 8, CALL_HEAD_JUMP },
	{ "bti c; adrp x16", EM_AARCH64, HEAD(0x5f, 0x24, 0x03, 0xd5, 0x10, 0x00, 0x00, 0x90), 4, CALL_HEAD_PLAIN },
	{ "adr x0", EM_AARCH64, HEAD(0x00, 0x00, 0x00, 0x10), 0, CALL_HEAD_PLAIN },
	{ "b", EM_AARCH64, HEAD(0x04, 0x00, 0x00, 0x14), 0, CALL_HEAD_PLAIN },
	{ "bl", EM_AARCH64, HEAD(0x04, 0x00, 0x00, 0x94), 0, CALL_HEAD_PLAIN },
	{ "b.ne", EM_AARCH64, HEAD(0x41, 0x00, 0x00, 0x54), 0, CALL_HEAD_JUMP },
	{ "tbnz w0", EM_AARCH64, HEAD(0x40, 0x00, 0x00, 0x37), 0, CALL_HEAD_JUMP },
	{ "ldr x9, literal", EM_AARCH64, HEAD(0x49, 0x00, 0x00, 0x58), 0, CALL_HEAD_PLAIN },
	{ "ldrsw x9, literal", EM_AARCH64, HEAD(0x49, 0x00, 0x00, 0x98), 0, CALL_HEAD_PLAIN },
	{ "ldr q0, literal: not simulated", EM_AARCH64, HEAD(0x40, 0x00, 0x00, 0x9c), 0, CALL_HEAD_STEPPED },
	{ "stp x29, x30, [sp, #-32]!", EM_AARCH64, HEAD(0xfd, 0x7b, 0xbe, 0xa9), 0, CALL_HEAD_STEPPED },
	{ "paciasp signs the return address: not beyond it", EM_AARCH64,
	  HEAD(0x3f, 0x23, 0x03, 0xd5, 0x04, 0x00, 0x00, 0x14), 0, CALL_HEAD_STEPPED },
	{ "bti c; stp", EM_AARCH64, HEAD(0x5f, 0x24, 0x03, 0xd5, 0xfd, 0x7b, 0xbe, 0xa9), 0, CALL_HEAD_STEPPED },
	{ "a word cut", EM_AARCH64, HEAD(0x04, 0x00, 0x00), 0, CALL_HEAD_STEPPED },

	{ "another machine", EM_RISCV, HEAD(0x55, 0x48, 0x89, 0xe5), 0, CALL_HEAD_STEPPED },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct place place = place_find(cases[i].machine, cases[i].head, cases[i].n_head);

		CHECK_INT_EQ(cases[i].name, place.delta, cases[i].delta);
		CHECK_INT_EQ(cases[i].name, place.head, cases[i].kind);
	}

	/* However a head is cut, the place lies within what was known of it. */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t n = 0; n <= cases[i].n_head; n++) {
			struct place place = place_find(cases[i].machine, cases[i].head, n);

			CHECK(cases[i].name, place.delta == 0 || place.delta <= n);
			CHECK(cases[i].name, place.head == CALL_HEAD_STEPPED || place.delta < n);
		}
	}
	return check_result();
}
