// SPDX-License-Identifier: Apache-2.0
/*
 * Calls from code that is not described, from code that was made at run time, and on other stacks.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "callers.h"
#include "callers_asm.h"
#include "standin/control.h"

#define STACK_BYTES (256u << 10)
#define CODE_BYTES 4096u
#define MADE "made at run time"

callers_fn *callers_real;
const void *callers_lie;

/* The witness is called where `through` is, which calls the CUDA function and returns from there to `behind`. */
static CALLERS_NOINLINE void call_through(callers_fn *through, const char *behind)
{
	void *extra[] = { (void *)behind }, *pointer;

	for (unsigned int turn = 0; turn < callers_n_turns; turn++) {
		callers_fn *function = callers_turn(turn);

		if (turn == 0)
			callers_extra(extra, 1);
		else
			callers_real = function;
		(void)(turn ? through : function)(&pointer, callers_bytes());
	}
}

#if defined(__x86_64__)
static void plt(void)
{
	call_through(callers_by_plt, callers_by_plt_return);
}

static void gap(void)
{
	call_through(callers_gap, callers_gap_return);
}

static void frame_pointer(void)
{
	call_through(callers_frame_pointer, callers_frame_pointer_return);
}

/* push %rbp; mov %rsp,%rbp; movabs $function,%rax; call *%rax; pop %rbp; ret */
static const unsigned char with_frame[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,    0,    0,
					    0,	  0,	0,    0,    0,	  0xff, 0xd0, 0x5d, 0xc3 };
/* sub $8,%rsp; movabs $function,%rax; call *%rax; add $8,%rsp; ret */
static const unsigned char without_frame[] = { 0x48, 0x83, 0xec, 8,    0x48, 0xb8, 0,	 0,    0, 0,   0,
					       0,    0,	   0,	 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3 };
#define FUNCTION_AT 6
#define RETURN_AT 16

/* In the file where a process names code that it has made, perf-PID.map. */
static void name_code(const void *code, size_t n)
{
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), P_tmpdir "/perf-%d.map", (int)getpid());
	file = fopen(path, "we");
	if (!file)
		return callers_failed("%s cannot be written", path);
	fprintf(file, "%zx %zx %s\n", (size_t)code, n, MADE);
	(void)fclose(file);
	callers_name(code, n, MADE);
}

static void made_at_run_time(const unsigned char *code, size_t n, bool is_named)
{
	char *memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	callers_fn *function = callers_turn(1);

	if (memory == MAP_FAILED)
		return callers_failed("no memory");
	memcpy(memory, code, n);
	memcpy(memory + FUNCTION_AT, &function, sizeof(function));
	(void)mprotect(memory, CODE_BYTES, PROT_READ | PROT_EXEC);
	if (is_named)
		name_code(memory, n);
	call_through((callers_fn *)(void *)memory, memory + RETURN_AT);
	if (is_named)
		callers_name(NULL, 0, NULL);
	(void)munmap(memory, CODE_BYTES);
}

static void jit_frame_pointer(void)
{
	made_at_run_time(with_frame, sizeof(with_frame), false);
}

static void jit(void)
{
	made_at_run_time(without_frame, sizeof(without_frame), false);
}

static void jit_named(void)
{
	made_at_run_time(with_frame, sizeof(with_frame), true);
}
/* What is said of the frame leads nowhere, or back to itself. An unwinder of a program would follow. */
static void lie(const void *frame)
{
	if (callers_is_checked())
		return;
	callers_lie = frame;
	call_through(callers_lies, callers_lies_return);
}

static void lie_none(void)
{
	lie(NULL);
}

static void lie_odd(void)
{
	lie((const char *)__builtin_frame_address(0) + 1);
}

static void lie_kernel(void)
{
	lie((const void *)0xffff888000001000ul);
}

static void lie_unmapped(void)
{
	lie((const void *)0x10000ul);
}

static void lie_cycle(void)
{
	const void *frame[] = { frame, callers_lies_return };

	lie(frame);
}

static void claims(void)
{
	if (!callers_is_checked())
		call_through(callers_claims, callers_claims_return);
}
#endif

static ucontext_t main_context, fibre_context;

static void call_and_stay(void)
{
	CALLERS_CALL();
	CALLERS_STAYS();
}

static void in_fibre(void)
{
	call_and_stay();
	(void)swapcontext(&fibre_context, &main_context);
	call_and_stay();
}

static void *new_stack(void)
{
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		callers_failed("no memory");
	return stack;
}

static void fibre(void)
{
	void *stack = new_stack();

	if (stack == MAP_FAILED)
		return;
	(void)getcontext(&fibre_context);
	fibre_context.uc_stack.ss_sp = stack;
	fibre_context.uc_stack.ss_size = STACK_BYTES;
	fibre_context.uc_link = &main_context;
	makecontext(&fibre_context, in_fibre, 0);
	(void)swapcontext(&main_context, &fibre_context); /* up to the middle */
	call_and_stay();
	(void)swapcontext(&main_context, &fibre_context); /* up to the end */
	(void)munmap(stack, STACK_BYTES);
}

#if defined(__x86_64__)
static void bare_fibre(void)
{
	char *stack = new_stack();

	if (stack == MAP_FAILED)
		return;
	callers_on(stack + STACK_BYTES, call_and_stay);
	(void)munmap(stack, STACK_BYTES);
}
#endif

/* Inside of a call of the runtime: a call of the driver, and inside of that another one. */
static void call_inside_again(void *data)
{
	(void)data;
	(void)ingero_standin_callback("cuMemAlloc_v2", NULL, NULL);
	call_and_stay();
}

static void call_inside(void *data)
{
	(void)data;
	(void)ingero_standin_callback("cudaMalloc", NULL, NULL); /* this one call */
	(void)ingero_standin_callback("cuMemAlloc_v2", call_inside_again, NULL);
	callers_driver(true);
	callers_inside(true);
	call_and_stay();
	callers_inside(false);
	callers_driver(false);
}

static CALLERS_NOINLINE void nested(void)
{
	void *pointer;

	for (unsigned int turn = 0; turn < callers_n_turns; turn++) {
		callers_fn *function = callers_turn(turn);

		if (turn)
			(void)ingero_standin_callback("cudaMalloc", call_inside, NULL);
		(void)function(&pointer, callers_bytes());
	}
}

const struct callers_row callers_stacks[] = {
#if defined(__x86_64__)
	{ "plt", plt, CALLERS_COMPLETE, 0 },
	{ "gap", gap, CALLERS_SOME, 1 },
	{ "frame_pointer", frame_pointer, CALLERS_SOME, 1 },
	{ "jit", jit, CALLERS_SOME, 1 },
	{ "jit_frame_pointer", jit_frame_pointer, CALLERS_SOME, 1 },
	{ "jit_named", jit_named, CALLERS_SOME, 1 },
	{ "fibre_bare", bare_fibre, CALLERS_EITHER, 1 },
	{ "lie_none", lie_none, CALLERS_PREFIX, 1 },
	{ "lie_odd", lie_odd, CALLERS_PREFIX, 1 },
	{ "lie_kernel", lie_kernel, CALLERS_PREFIX, 1 },
	{ "lie_unmapped", lie_unmapped, CALLERS_PREFIX, 1 },
	{ "lie_cycle", lie_cycle, CALLERS_PREFIX, 1 },
	{ "claims", claims, CALLERS_PREFIX, 1 },
#endif
	{ "fibre", fibre, CALLERS_COMPLETE, 0 },
	{ "nested", nested, CALLERS_COMPLETE, 0 },
	{ .name = NULL },
};
