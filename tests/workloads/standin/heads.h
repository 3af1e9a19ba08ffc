// SPDX-License-Identifier: Apache-2.0
/*
 * Function heads of the stand-in libraries, for the assembler, so that no compiler
 * changes them. The shapes are those of the real files (tests/support/exports/):
 *
 *   runtime   push %rbp; mov %rsp,%rbp
 *   driver    cmpl $imm32,disp32(%rip); je; jmp *slot(%rip)
 *   alias     push; mov; pop; jmp other export       (__cudaLaunchKernel)
 *
 * Behind every head is one common path, standin_call: count the entry, call the
 * implementation with the caller's registers and eight words of its stack
 * arguments, count the return. It uses no memory but the frame and the thread's
 * cells, so it may be left by longjmp, thrown through and entered from signal
 * handlers; the frame rules let an unwinder pass.
 *
 * The generated file is a list of RUNTIME_HEAD / DRIVER_HEAD (name, number,
 * implementation) and *_ALIAS (name, other export) between STANDIN_BEGIN and _END.
 */
#if !defined(__ASSEMBLER__)
#error "for generated assembly only"
#endif

#if defined(__x86_64__)

/* A word that the driver's heads compare with this is set once it shut down: never here. */
#define DRIVER_GONE 0x321cba00

.macro function name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
.endm

.macro function_end name
	.cfi_endproc
	.size \name, . - \name
.endm

.macro frame
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
.endm

.macro runtime_head name, number, implementation
	function \name
	frame
	mov $\number, %r11d
	lea \implementation(%rip), %r10
	jmp standin_call
	function_end \name
.endm

.macro driver_head name, number, implementation
	.section .data.rel.ro.standin, "aw", @progbits
	.p2align 3
.Lslot_\number:
	.quad .Lbody_\number
	.text
	function \name
	cmpl $DRIVER_GONE, standin_driver_state(%rip)
	je 1f
	jmp *.Lslot_\number(%rip)
	.byte 0x66, 0x0f, 0x1f, 0x44, 0, 0 /* nopw, with the long displacement of the real one */
1:	mov $4, %eax
	ret
	function_end \name
	.p2align 4
	.type .Lbody_\number, @function
.Lbody_\number:
	.cfi_startproc
	frame
	mov $\number, %r11d
	lea \implementation(%rip), %r10
	jmp standin_call
	.cfi_endproc
.endm

.macro alias name, other
	function \name
	push %rbp
	.cfi_def_cfa_offset 16
	mov %rsp, %rbp
	pop %rbp
	.cfi_def_cfa_offset 8
	jmp .Lstandin_\other
	function_end \name
.endm

/* The alias must jump to the export itself and not through the PLT: a local name beside the exported one. */
#define RUNTIME_HEAD(name, number, implementation)                                                                     \
	runtime_head name, number, implementation;                                                                     \
	.set .Lstandin_##name, name
#define RUNTIME_ALIAS(name, other) alias name, other
/* A second name of an export, at its address. */
#define SAME(name, other)                                                                                              \
	.globl name;                                                                                                   \
	.type name, %function;                                                                                         \
	.set name, other
#define DRIVER_HEAD(name, number, implementation) driver_head name, number, implementation
#define DRIVER_ALIAS(name, other) alias name, other

.macro standin_begin
	.data
	.p2align 2
standin_driver_state:
	.long 0
	.text
	.p2align 4
	.type standin_call, @function
	/* %r11d: number, %r10: implementation, frame made; argument registers as the caller left them */
standin_call:
	.cfi_startproc
	.cfi_def_cfa %rbp, 16
	.cfi_offset %rbp, -16
	sub $16, %rsp
	mov %r11, -8(%rbp)
	mov %r10, -16(%rbp)
	mov standin_attention@GOTPCREL(%rip), %r10
	cmpl $0, (%r10)
	jne 2f
	mov standin_cells@GOTTPOFF(%rip), %rax
	mov %fs:(%rax), %rax
	test %rax, %rax
	jz 2f
	shl $4, %r11
	incq (%rax,%r11)
1:
	pushq 72(%rbp)
	pushq 64(%rbp)
	pushq 56(%rbp)
	pushq 48(%rbp)
	pushq 40(%rbp)
	pushq 32(%rbp)
	pushq 24(%rbp)
	pushq 16(%rbp)
	call *-16(%rbp)
	mov -8(%rbp), %r11
	mov standin_attention@GOTPCREL(%rip), %r10
	cmpl $0, (%r10)
	jne 3f
	mov standin_cells@GOTTPOFF(%rip), %r10
	mov %fs:(%r10), %r10
	test %r10, %r10
	jz 3f
	shl $4, %r11
	incq 8(%r10,%r11)
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_restore_state
2:	/* the first call of a thread, or somebody asked for faults: in C, all argument registers kept */
	push %rdi
	push %rsi
	push %rdx
	push %rcx
	push %r8
	push %r9
	sub $16, %rsp
	movsd %xmm0, (%rsp)
	mov %r11d, %edi
	lea 8(%rsp), %rsi
	call standin_enter@PLT
	mov %eax, %r10d
	mov 8(%rsp), %eax
	movsd (%rsp), %xmm0
	add $16, %rsp
	pop %r9
	pop %r8
	pop %rcx
	pop %rdx
	pop %rsi
	pop %rdi
	test %r10d, %r10d
	jz 1b
3:	/* the result is kept while the return is counted */
	push %rax
	push %rdx
	mov -8(%rbp), %edi
	call standin_leave@PLT
	pop %rdx
	pop %rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size standin_call, . - standin_call
.endm

#elif defined(__aarch64__)

/*
 * Real libraries for arm64 were not seen yet: plain heads as a C compiler makes
 * them, x16 and x17 being free between caller and callee.
 */
.macro function name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
.endm

.macro function_end name
	.cfi_endproc
	.size \name, . - \name
.endm

.macro plain_head name, number, implementation
	function \name
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov x29, sp
	mov w17, #\number
	adrp x16, \implementation
	add x16, x16, :lo12:\implementation
	b standin_call
	function_end \name
.endm

.macro alias name, other
	function \name
	b .Lstandin_\other
	function_end \name
.endm

#define RUNTIME_HEAD(name, number, implementation)                                                                     \
	plain_head name, number, implementation;                                                                       \
	.set .Lstandin_##name, name
#define RUNTIME_ALIAS(name, other) alias name, other
/* A second name of an export, at its address. */
#define SAME(name, other)                                                                                              \
	.globl name;                                                                                                   \
	.type name, %function;                                                                                         \
	.set name, other
#define DRIVER_HEAD(name, number, implementation) RUNTIME_HEAD(name, number, implementation)
#define DRIVER_ALIAS(name, other) alias name, other

.macro standin_begin
	.text
	.p2align 4
	.type standin_call, @function
	/* w17: number, x16: implementation, frame made; always through C: the books are no bottleneck here */
standin_call:
	.cfi_startproc
	.cfi_def_cfa x29, 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	sub sp, sp, #112
	str x17, [sp, #80]
	str x16, [sp, #88]
	stp x0, x1, [sp]
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	stp x8, xzr, [sp, #64]
	str d0, [sp, #96]
	mov w0, w17
	add x1, sp, #104
	bl standin_enter
	cbnz w0, 1f
	ldp x0, x1, [sp]
	ldp x2, x3, [sp, #16]
	ldp x4, x5, [sp, #32]
	ldp x6, x7, [sp, #48]
	ldr x8, [sp, #64]
	ldr d0, [sp, #96]
	ldr x16, [sp, #88]
	sub sp, sp, #64
	ldp x9, x10, [x29, #16]
	stp x9, x10, [sp]
	ldp x9, x10, [x29, #32]
	stp x9, x10, [sp, #16]
	ldp x9, x10, [x29, #48]
	stp x9, x10, [sp, #32]
	ldp x9, x10, [x29, #64]
	stp x9, x10, [sp, #48]
	blr x16
	add sp, sp, #64
	b 2f
1:	ldr w0, [sp, #104]
2:	stp x0, x1, [sp]
	ldr w0, [sp, #80]
	bl standin_leave
	ldp x0, x1, [sp]
	mov sp, x29
	ldp x29, x30, [sp], #16
	ret
	.cfi_endproc
	.size standin_call, . - standin_call
.endm

#else
#error "no function heads for this processor: add them here"
#endif

.macro standin_end
	.section .note.GNU-stack, "", @progbits
.endm

#define STANDIN_BEGIN standin_begin
#define STANDIN_END standin_end
