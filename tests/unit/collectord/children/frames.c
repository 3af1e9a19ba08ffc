// SPDX-License-Identifier: Apache-2.0
/* Functions with frames of many forms, for libraries that are linked in several ways (CMakeLists.txt). */
#define EXPORT __attribute__((visibility("default"), noinline))

extern void frames_outside(void *);

EXPORT int frames_leaf(int n)
{
	return n + 1;
}

EXPORT int frames_array(int n)
{
	char bytes[n];

	frames_outside(bytes);
	return bytes[0];
}

EXPORT int frames_large(void)
{
	char bytes[1 << 20];

	frames_outside(bytes);
	return bytes[3];
}

/* It keeps the CFA in memory. */
EXPORT int frames_aligned(int n)
{
	char aligned[128] __attribute__((aligned(64))), bytes[n];

	frames_outside(aligned);
	frames_outside(bytes);
	return aligned[1] + bytes[0];
}

__attribute__((cold, noinline)) static void frames_cold(int n)
{
	frames_outside(&n);
	frames_outside(&n);
}

EXPORT void frames_split(int n)
{
	if (n > 100)
		frames_cold(n);
	frames_outside(&n);
	if (__builtin_expect(n == 77, 0)) {
		frames_outside((void *)1);
		frames_cold(n + 1);
	}
}

#ifdef __x86_64__
__asm__(".text\n"
	".globl frames_start\n"
	"frames_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined %rip\n"
	"	call frames_outside@plt\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	/* as libcrypto does, with the old stack pointer in memory */
	".globl frames_saved\n"
	"frames_saved:\n"
	"	.cfi_startproc\n"
	"	mov %rsp,%rax\n"
	"	.cfi_def_cfa_register %rax\n"
	"	push %rbp\n"
	"	.cfi_offset %rbp,-16\n"
	"	sub $64,%rsp\n"
	"	mov %rax,40(%rsp)\n"
	"	.cfi_escape 0x0f,5,0x77,40,0x06,0x23,8\n"
	"	call frames_outside@plt\n"
	"	.cfi_remember_state\n"
	"	mov 40(%rsp),%rax\n"
	"	.cfi_def_cfa %rax,8\n"
	"	mov -8(%rax),%rbp\n"
	"	.cfi_restore %rbp\n"
	"	mov %rax,%rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	ret\n"
	"	.cfi_restore_state\n"
	"	.cfi_val_offset %rbp,-8\n"
	"	nop\n"
	"	.cfi_same_value %rbp\n"
	"	nop\n"
	"	.cfi_endproc\n"
	/* the function to which a handler returns */
	".globl frames_signal\n"
	"	nop\n"
	"	.cfi_startproc\n"
	"	.cfi_signal_frame\n"
	"	.cfi_escape 0x0f,4,0x77,0xa0,1,0x06\n"
	"	.cfi_escape 0x10,6,3,0x77,0xf8,0\n"
	"	.cfi_escape 0x10,7,3,0x77,0xa0,1\n"
	"	.cfi_escape 0x10,16,3,0x77,0xa8,1\n"
	"	nop\n"
	"frames_signal:\n"
	"	mov $15,%rax\n"
	"	syscall\n"
	"	.cfi_endproc\n"
	".section .note.GNU-stack,\"\",@progbits\n"
	".text\n");
#endif
