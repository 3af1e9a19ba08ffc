// SPDX-License-Identifier: Apache-2.0
/*
 * Functions whose names are read by the tests of names and lines: with aliases, parts, missing sizes, names of Rust.
 * Some have lines, some are assembler. Linked with names_sample.cc.
 */
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"), noinline))
#define LOCAL static __attribute__((noinline, used))

int sample_counter;

/* Several names of one function: the third is the one that people know. */
EXPORT int __sample_alias(int x);
int __sample_alias(int x)
{
	return x * 3 + sample_counter;
}
extern __typeof(__sample_alias) _sample_alias __attribute__((alias("__sample_alias"), visibility("default")));
extern __typeof(__sample_alias) sample_alias __attribute__((weak, alias("__sample_alias"), visibility("default")));
extern __typeof(__sample_alias) sample_alias_of_many __attribute__((alias("__sample_alias"), visibility("default")));
static __typeof(__sample_alias) alias __attribute__((alias("__sample_alias"), used));

LOCAL int sample_local(int x)
{
	sample_counter += x;
	return x ? sample_counter * 5 : 0;
}

EXPORT int sample_global(int x);
int sample_global(int x)
{
	int sum = 0;

	for (int i = 0; i < x; i++)
		sum += sample_local(i);
	return sum;
}

/*
 * Nobody calls it, and it is not exported: the linker drops it, and leaves its lines at address 0. It is so long that
 * they would be those of the code that is left.
 */
#ifdef SAMPLE_DROPPED
__attribute__((visibility("hidden"), noinline)) int sample_dropped(int x);
int sample_dropped(int x)
{
	for (int i = 0; i < x; i++)
		sample_counter += sample_local(i) * i;
	__asm__ volatile(".skip 0x8000, 0x90");
	return sample_counter;
}
#endif

/* A line of another file. */
#include "names_sample.h"

EXPORT int sample_calls(const char *text);
int sample_calls(const char *text)
{
	/* Functions of other files, by way of the linkage table. */
	if (puts(text) < 0)
		return -1;
	return (int)strlen(text) + sample_in_header(sample_counter) + printf("%s\n", text);
}

/* Its address is taken, too: then another linkage table can have it. */
EXPORT int (*sample_pointer(void))(const char *);
int (*sample_pointer(void))(const char *)
{
	return puts;
}

/* clang-format off */
__asm__(
	".text\n"
	/* Parts and copies, as compilers name them. */
	".macro PART name\n"
	"	.type \"\\name\", @function\n \"\\name\":\n .byte 0xc3, 0x90, 0x90\n .size \"\\name\", . - \"\\name\"\n"
	".endm\n"
	"PART part_of.cold\n PART part_of.part.0\n PART part_of.isra.0.cold\n PART part_of.constprop.12\n"
	"PART part_of.lto_priv.3\n PART part_of.llvm.1234567\n PART dotted.name\n PART dotted.part\n"
	/* An empty part, where another function begins. */
	".type \"void.cold\", @function\n \"void.cold\":\n PART not_void.cold\n"
	/* Of Rust: both manglings. */
	".globl _RNvNtC7mycrate3foo3bar\n PART _RNvNtC7mycrate3foo3bar\n"
	".globl _ZN4core3fmt5Write9write_fmt17h0123456789abcdefE\n"
	"PART _ZN4core3fmt5Write9write_fmt17h0123456789abcdefE\n"
	/* No name of C++, and one that stands for a text that would fill the memory. */
	".globl _ZNoName\n PART _ZNoName\n"
	/* A function without a size, and what follows it without a symbol. */
	".globl no_size\n .type no_size, @function\n no_size: .byte 0x90, 0x90, 0xc3\n"
	"inside_label: .byte 0x90, 0xc3\n"
	/* A function with another one inside. */
	".globl outer\n .type outer, @function\n outer: .byte 0x90\n"
	".globl inner\n .type inner, @function\n inner: .byte 0x90, 0x90\n .size inner, . - inner\n"
	".byte 0x90, 0xc3\n .size outer, . - outer\n"
	/* Behind it is code that no symbol names. */
	".byte 0xcc, 0xcc, 0xcc, 0xcc\n"
	/* A function without a size before a function without a symbol, which unwinding data tells apart. */
	".globl no_size_alone\n .type no_size_alone, @function\n no_size_alone:\n .cfi_startproc\n .byte 0x90, 0xc3\n .cfi_endproc\n"
	".cfi_startproc\n .byte 0x90, 0x90, 0xc3\n .cfi_endproc\n"
	/* A name with what a terminal may obey, and one that is no UTF-8. */
	"PART \"odd\033[2Jname\"\n"
	"PART \"odd\377\376name\"\n"
);
/* clang-format on */
