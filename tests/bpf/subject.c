// SPDX-License-Identifier: Apache-2.0
#include "subject.h"

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT int subject_empty(void)
{
	__asm__ volatile("");
	return 0;
}

EXPORT int subject_arguments(void *a, unsigned long bytes, unsigned long c)
{
	__asm__ volatile("" : : "r"(a), "r"(bytes), "r"(c));
	return 0;
}

EXPORT int subject_fail(int error)
{
	__asm__ volatile("" : "+r"(error));
	return error;
}

EXPORT int subject_call(subject_func func, void *data)
{
	int r = func ? func(data) : 0;

	__asm__ volatile("" : "+r"(r)); /* no tail call: the frame stays until func is back */
	return r;
}

EXPORT int subject_driver(subject_func func, void *data)
{
	int r = func ? func(data) : 0;

	__asm__ volatile("" : "+r"(r));
	return r;
}

EXPORT int subject_runtime(subject_func func, void *data)
{
	int r = subject_driver(func, data);

	__asm__ volatile("" : "+r"(r));
	return r;
}

EXPORT int subject_variant(subject_func func, void *data)
{
	int r = subject_call(func, data);

	__asm__ volatile("" : "+r"(r));
	return r;
}

EXPORT int subject_alloc(void **ret_pointer, unsigned long bytes)
{
	__asm__ volatile("" : : "r"(bytes));
	*ret_pointer = (void *)0x5eed;
	return 0;
}

/* Heads as bytes, so that they are what the probes' offsets expect. */
#if defined(__x86_64__)
__asm__(".text\n"
	".p2align 4\n"
	".globl subject_jump_head\n"
	".type subject_jump_head, @function\n"
	"subject_jump_head:\n"
	"	.byte 0x81, 0x3d\n" /* cmpl $0x321cba00, disp32(%rip): 10 bytes, not emulated */
	"	.long subject_word - . - 8, 0x321cba00\n"
	"	je 1f\n" /* probe: 10 bytes in */
	"	xor %eax, %eax\n"
	"	ret\n"
	"1:	xor %eax, %eax\n"
	"	ret\n"
	".size subject_jump_head, . - subject_jump_head\n"
	".globl subject_tail\n"
	".type subject_tail, @function\n"
	"subject_tail:\n"
	"	nop\n" /* probe */
	"	jmp subject_driver@PLT\n"
	".size subject_tail, . - subject_tail\n"
	".globl subject_tail_variant\n"
	".type subject_tail_variant, @function\n"
	"subject_tail_variant:\n"
	"	nop\n" /* probe */
	"	jmp subject_call@PLT\n"
	".size subject_tail_variant, . - subject_tail_variant\n"
	"subject_word: .long 0\n");
#else
__asm__(".text\n"
	".globl subject_jump_head\n"
	".type subject_jump_head, %function\n"
	"subject_jump_head:\n"
	"	cmp w0, w0\n"
	"	b.ne 1f\n"
	"1:	mov w0, #0\n"
	"	ret\n"
	".globl subject_tail\n"
	".type subject_tail, %function\n"
	"subject_tail:\n"
	"	nop\n"
	"	b subject_driver\n"
	".globl subject_tail_variant\n"
	".type subject_tail_variant, %function\n"
	"subject_tail_variant:\n"
	"	nop\n"
	"	b subject_call\n");
#endif
