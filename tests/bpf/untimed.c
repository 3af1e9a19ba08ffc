// SPDX-License-Identifier: Apache-2.0
/*
 * Calls whose return is not trapped: counted once, at the outermost export, with the bytes
 * that their arguments name.
 */
#include <ucontext.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"

#define TIMES 5
#define STACK_BYTES 65536

static int func_empty(void *data)
{
	(void)data;
	return subject_empty();
}

static int run_variant(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_variant(func_empty, NULL) != 0)
			return 1;
	return 0;
}

static int run_tail_variant(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_tail_variant(func_empty, NULL) != 0)
			return 1;
	return 0;
}

/* First through the one that forwards, then straight, then from deeper down: three calls each time. */
static __attribute__((noinline)) int call_deeper(void)
{
	volatile char room[128];

	room[0] = 0;
	return subject_call(func_empty, NULL) + room[0];
}

static int run_both(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_variant(func_empty, NULL) != 0 || subject_call(func_empty, NULL) != 0 || call_deeper() != 0)
			return 1;
	return 0;
}

/* The program's own function at the place where the forwarding export was, calling what that one calls. */
static int wrapper(subject_func func, void *data)
{
	int r = subject_call(func, data);

	__asm__ volatile("" : "+r"(r));
	return r;
}

static int run_wrapper(void *data)
{
	static int (*const calls[])(subject_func, void *) = { subject_variant, wrapper };

	(void)data;
	for (int i = 0; i < 2 * TIMES; i++)
		if (calls[i & 1](func_empty, NULL) != 0)
			return 1;
	return 0;
}

/* A call of the same operation that the program makes from within is one of its own. */
static int func_call(void *data)
{
	int r = subject_call(NULL, NULL);

	(void)data;
	__asm__ volatile("" : "+r"(r)); /* no jump: that would look like the library's own */
	return r;
}

static int run_callback(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_variant(func_call, NULL) != 0)
			return 1;
	return 0;
}

static int run_bytes(void *data)
{
	void *pointer;

	(void)data;
	for (unsigned long i = 1; i <= TIMES; i++)
		if (subject_arguments(NULL, 0, i) != 0 || subject_alloc(&pointer, 100 * i) != 0)
			return 1;
	return 0;
}

static ucontext_t main_context, fibre_context;
static char fibre_stack[STACK_BYTES] __attribute__((aligned(64)));

static void fibre_bytes(void)
{
	(void)run_bytes(NULL);
}

static int func_fibre(void *data)
{
	(void)data;
	return swapcontext(&main_context, &fibre_context);
}

/* On another stack than the open call. */
static int run_fibre_bytes(void *data)
{
	(void)data;
	if (getcontext(&fibre_context) < 0)
		return 1;
	fibre_context.uc_stack.ss_sp = fibre_stack;
	fibre_context.uc_stack.ss_size = sizeof(fibre_stack);
	fibre_context.uc_link = &main_context;
	makecontext(&fibre_context, fibre_bytes, 0);
	return subject_call(func_fibre, NULL);
}

static const struct {
	const char *name;
	int (*run)(void *data);
	unsigned int entry_only; /* operation whose exports are attached so; 0: all */
	bool only_variants;	 /* of it, those that forward */
	struct {
		unsigned int op, timed, untimed, bytes;
	} want[2];
} cases[] = {
	{ "calls another of its operation",
	  run_variant,
	  0,
	  false,
	  { { RIG_CALL, 0, TIMES, 0 }, { RIG_EMPTY, 0, TIMES, 0 } } },
	{ "calls another that is timed",
	  run_variant,
	  RIG_CALL,
	  true,
	  { { RIG_CALL, 0, TIMES, 0 }, { RIG_EMPTY, TIMES, 0, 0 } } },
	{ "jumps to another of its operation",
	  run_tail_variant,
	  0,
	  false,
	  { { RIG_CALL, 0, TIMES, 0 }, { RIG_EMPTY, 0, TIMES, 0 } } },
	{ "jumps to another that is timed",
	  run_tail_variant,
	  RIG_CALL,
	  true,
	  { { RIG_CALL, 0, TIMES, 0 }, { RIG_EMPTY, TIMES, 0, 0 } } },
	{ "both called", run_both, 0, false, { { RIG_CALL, 0, 3 * TIMES, 0 }, { RIG_EMPTY, 0, 3 * TIMES, 0 } } },
	{ "both called, one timed",
	  run_both,
	  RIG_CALL,
	  true,
	  { { RIG_CALL, 2 * TIMES, TIMES, 0 }, { RIG_EMPTY, 3 * TIMES, 0, 0 } } },
	{ "a wrapper where it was",
	  run_wrapper,
	  0,
	  false,
	  { { RIG_CALL, 0, 2 * TIMES, 0 }, { RIG_EMPTY, 0, 2 * TIMES, 0 } } },
	{ "a wrapper where it was, timed",
	  run_wrapper,
	  RIG_CALL,
	  true,
	  { { RIG_CALL, TIMES, TIMES, 0 }, { RIG_EMPTY, 2 * TIMES, 0, 0 } } },
	{ "called from within by the program", run_callback, 0, false, { { RIG_CALL, 0, 2 * TIMES, 0 } } },
	{ "called from within by the program, timed", run_callback, RIG_CALL, true, { { RIG_CALL, TIMES, TIMES, 0 } } },
	{ "bytes", run_bytes, 0, false, { { RIG_COPY, 0, TIMES, 15 }, { RIG_ALLOC, 0, TIMES, 1500 } } },
	{ "bytes on another stack",
	  run_fibre_bytes,
	  RIG_EMPTY,
	  false,
	  { { RIG_COPY, 0, TIMES, 15 }, { RIG_ALLOC, 0, TIMES, 1500 } } },
};

static void attach(struct rig *rig, size_t k, struct probe_library **ret_library)
{
	uint64_t straight = rig_offset((const void *)subject_call);
	struct probe_site sites[RIG_SITES_MAX];
	CLEANUP(closep) int fd = rig_path_fd();
	size_t n = rig_sites(sites);

	for (size_t i = 0; i < n; i++)
		if ((!cases[k].entry_only || COOKIE_OP(sites[i].cookie) == cases[k].entry_only) &&
		    !(cases[k].only_variants && sites[i].offset == straight))
			sites[i].cookie |= COOKIE_ENTRY_ONLY;
	CHECK_INT_EQ(cases[k].name, probe_set_attach_library(rig->set, fd, sites, n, ret_library), 0);
}

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);
	const char *only = argc > 2 ? argv[2] : NULL;
	struct rig rig;

	rig_open_bare(&rig, back_end, 0);
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		const char *name = cases[k].name;
		struct probe_library *library = NULL;
		pid_t pid;

		if (only && strcmp(only, name) != 0)
			continue;
		attach(&rig, k, &library);
		CHECK_INT_EQ(name, rig_child(&rig, cases[k].run, NULL, &pid), 0);
		for (size_t i = 0; i < ARRAY_SIZE(cases[k].want); i++) {
			struct rig_figures f = rig_figures(&rig, pid, cases[k].want[i].op);

			if (!cases[k].want[i].op)
				continue;
			CHECK_INT_EQ(name, f.timed, cases[k].want[i].timed);
			CHECK_INT_EQ(name, f.untimed, cases[k].want[i].untimed);
			CHECK_INT_EQ(name, f.bytes, cases[k].want[i].bytes);
			CHECK_INT_EQ(name, f.abandoned, 0);
		}
		probe_set_detach_library(rig.set, library);
	}
	rig_close(&rig);
	return check_result();
}
