// SPDX-License-Identifier: Apache-2.0
/* See boundary.h. All registers of arguments are as the caller left them, and the stack is, too. */
#include "boundary.h"

	.text
	.globl boundary_enter
	.hidden boundary_enter
	.type boundary_enter, @function
	.p2align 4
boundary_enter:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %rdi
	push %rsi
	push %rdx
	push %rcx
	push %r8
	push %r9
	push %rax
	push %r11
	sub $128, %rsp
	movaps %xmm0, (%rsp)
	movaps %xmm1, 16(%rsp)
	movaps %xmm2, 32(%rsp)
	movaps %xmm3, 48(%rsp)
	movaps %xmm4, 64(%rsp)
	movaps %xmm5, 80(%rsp)
	movaps %xmm6, 96(%rsp)
	movaps %xmm7, 112(%rsp)
	mov %r11d, %edi
	call boundary_witness
	movaps (%rsp), %xmm0
	movaps 16(%rsp), %xmm1
	movaps 32(%rsp), %xmm2
	movaps 48(%rsp), %xmm3
	movaps 64(%rsp), %xmm4
	movaps 80(%rsp), %xmm5
	movaps 96(%rsp), %xmm6
	movaps 112(%rsp), %xmm7
	add $128, %rsp
	pop %r11
	pop %rax
	pop %r9
	pop %r8
	pop %rcx
	pop %rdx
	pop %rsi
	pop %rdi
	pop %rbp
	.cfi_def_cfa %rsp, 8
	lea boundary_functions(%rip), %r10
	mov %r11d, %r11d
	jmp *(%r10,%r11,8)
	.cfi_endproc
	.size boundary_enter, . - boundary_enter

	.section .note.GNU-stack, "", @progbits
