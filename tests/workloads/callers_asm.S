// SPDX-License-Identifier: Apache-2.0
/*
 * Places that no compiler makes. Each calls *callers_real, and has a label behind its call.
 */
#if defined(__x86_64__)

.macro place name
	.globl \name
	.hidden \name
	.type \name, @function
	.p2align 4
\name:
.endm

.macro behind name
	.globl \name
	.hidden \name
\name:
.endm

	.text

/* Through the procedure linkage table, which other calls avoid. */
place callers_by_plt
	.cfi_startproc
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call cudaMalloc@PLT
behind callers_by_plt_return
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size callers_by_plt, . - callers_by_plt

/* Not described, and without a frame pointer: nobody can know what is behind. */
place callers_gap
	sub $24, %rsp
	call *callers_real(%rip)
behind callers_gap_return
	add $24, %rsp
	ret
	.size callers_gap, . - callers_gap

/* Not described, with a frame pointer. */
place callers_frame_pointer
	push %rbp
	mov %rsp, %rbp
	sub $32, %rsp
	call *callers_real(%rip)
behind callers_frame_pointer_return
	leave
	ret
	.size callers_frame_pointer, . - callers_frame_pointer

/* Says that its frame is where %rbp points to, which is callers_lie. */
place callers_lies
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %rbx
	.cfi_offset %rbx, -24
	mov %rbp, %rbx
	mov callers_lie(%rip), %rbp
	sub $8, %rsp
	call *callers_real(%rip)
behind callers_lies_return
	mov %rbx, %rbp
	add $8, %rsp
	pop %rbx
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size callers_lies, . - callers_lies

/* Says that its frame has a megabyte more than it has: beyond the end of the stack. */
place callers_claims
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16 + (1 << 20)
	call *callers_real(%rip)
behind callers_claims_return
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size callers_claims, . - callers_claims

/* int callers_fault(int *address): its first instruction faults if the address is bad, and is as long as the next label says. */
	.p2align 4
	nop
place callers_fault
	.cfi_startproc
	movl $0, (%rdi)
behind callers_fault_next
	xor %eax, %eax
	ret
	.cfi_endproc
	.size callers_fault, . - callers_fault

/* unsigned callers_spin(volatile int *is_over): pushes, pops and calls, so that a signal meets it anywhere. */
place callers_spin
	.cfi_startproc
	xor %eax, %eax
1:	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov %rax, %rbp
	sub $40, %rsp
	.cfi_adjust_cfa_offset 40
	call callers_spin_leaf
	add $40, %rsp
	.cfi_adjust_cfa_offset -40
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	inc %eax
	cmpl $0, (%rdi)
	je 1b
	ret
	.cfi_endproc
	.size callers_spin, . - callers_spin

	.p2align 4
	.type callers_spin_leaf, @function
callers_spin_leaf:
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	xor %ebp, %ebp
	lea (%rbp,%rax), %rcx
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size callers_spin_leaf, . - callers_spin_leaf

/* void callers_on(void *stack, void (*run)(void)): on another stack, without a word about it to unwinders */
place callers_on
	push %rbx
	push %rbp
	mov %rsp, %rbx
	mov %rdi, %rsp
	xor %ebp, %ebp
	call *%rsi
	mov %rbx, %rsp
	pop %rbp
	pop %rbx
	ret
	.size callers_on, . - callers_on

#endif

	.section .note.GNU-stack, "", @progbits
