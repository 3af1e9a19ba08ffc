// SPDX-License-Identifier: Apache-2.0
/*
 * Calls from ordinary code. Compiled twice: with frame pointers, and with -fomit-frame-pointer (CALLERS_OMITTED).
 */
#include <alloca.h>
#include <dlfcn.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "callers.h"

#ifdef CALLERS_OMITTED
#define NAME(name) name ".omitted"
#define ROWS callers_plain_omitted
#else
#define NAME(name) name ".kept"
#define ROWS callers_plain_kept
#endif

#define LARGE_BYTES (52u << 10) /* more than 32 KB, as one frame of PyTorch's */
#define HUGE_BYTES (200u << 10)
#define DEEP 100
#define TOO_DEEP 200

static CALLERS_NOINLINE int inner(int a)
{
	CALLERS_CALL();
	return a + 1;
}

static CALLERS_NOINLINE int middle(int a, int b)
{
	int r = inner(a * b);

	CALLERS_STAYS();
	return r + b;
}

static CALLERS_NOINLINE int outer(int a)
{
	int r = middle(a, 2) + middle(a, 3);

	CALLERS_STAYS();
	return r;
}

static void plain(void)
{
	(void)outer(1);
	CALLERS_STAYS();
}

static CALLERS_NOINLINE unsigned int recurse(unsigned int depth)
{
	unsigned int r = 0;

	if (depth)
		r = recurse(depth - 1) + 1;
	else
		CALLERS_CALL();
	CALLERS_STAYS();
	return r;
}

static void recursion(void)
{
	(void)recurse(DEEP);
	CALLERS_STAYS();
}

static void recursion_too_deep(void)
{
	(void)recurse(TOO_DEEP);
	CALLERS_STAYS();
}

static CALLERS_NOINLINE void on_stack(size_t n)
{
	char *room = alloca(n + 1);

	memset(room, 1, n);
	CALLERS_CALL();
	__asm__ volatile("" ::"r"(room) : "memory");
}

static void variable_size(void)
{
	static const size_t sizes[] = { 0, 8, 24, 1000, 4096, 4100, 20000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		on_stack(sizes[i]);
}

#define FRAME_OF(function, bytes)                                                                                      \
	static CALLERS_NOINLINE void function##_frame(void)                                                            \
	{                                                                                                              \
		char room[bytes];                                                                                      \
                                                                                                                       \
		memset(room, 1, sizeof(room));                                                                         \
		__asm__ volatile("" ::"r"(room) : "memory");                                                           \
		CALLERS_CALL();                                                                                        \
		__asm__ volatile("" ::"r"(room) : "memory");                                                           \
	}                                                                                                              \
                                                                                                                       \
	static void function(void)                                                                                     \
	{                                                                                                              \
		function##_frame();                                                                                    \
		CALLERS_STAYS();                                                                                       \
	}
FRAME_OF(large, LARGE_BYTES)
FRAME_OF(huge, HUGE_BYTES)

/* Nothing is left to do behind these calls: they are jumps. */
static CALLERS_NOINLINE int tail_last(callers_fn *function, void **pointer, size_t n)
{
	return function(pointer, n);
}

static CALLERS_NOINLINE int tail_first(callers_fn *function, void **pointer, size_t n)
{
	return tail_last(function, pointer, n);
}

static CALLERS_NOINLINE void tail(void)
{
	void *pointer;

	for (unsigned int turn = 0; turn < callers_n_turns; turn++) {
		(void)tail_first(callers_turn(turn), &pointer, callers_bytes());
		CALLERS_STAYS();
	}
}

static int compare(const void *a, const void *b)
{
	CALLERS_CALL();
	return *(const int *)a - *(const int *)b;
}

static void by_qsort(void)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	CALLERS_STAYS();
}

static void visit(const void *node, VISIT which, int depth)
{
	(void)node;
	(void)depth;
	if (which == leaf)
		CALLERS_CALL();
}

static void by_twalk(void)
{
	static const int numbers[] = { 1, 2, 3 };
	void *root = NULL;

	for (size_t i = 0; i < 3; i++)
		(void)tsearch(&numbers[i], &root, compare);
	twalk(root, visit);
	while (root)
		(void)tdelete(*(int **)root, &root, compare);
}

/* Function found by its name at run time; the other calls go by a pointer that the linker filled in. */
static void by_dlsym(void)
{
	callers_fn *found = (callers_fn *)dlsym(RTLD_DEFAULT, "cudaMalloc");
	void *pointer;

	if (!found) {
		callers_failed("no cudaMalloc: %s", dlerror());
		return;
	}
	for (unsigned int turn = 0; turn < callers_n_turns; turn++) {
		callers_fn *function = callers_turn(turn);

		(void)(turn ? found : function)(&pointer, callers_bytes());
	}
}

const struct callers_row ROWS[] = {
	{ NAME("plain"), plain, CALLERS_COMPLETE, 0 },
	{ NAME("recursion"), recursion, CALLERS_COMPLETE, 0 },
	{ NAME("recursion_too_deep"), recursion_too_deep, CALLERS_PREFIX, 127 },
	{ NAME("alloca"), variable_size, CALLERS_COMPLETE, 0 },
	{ NAME("large_frame"), large, CALLERS_COMPLETE, 0 },
	{ NAME("huge_frame"), huge, CALLERS_EITHER, 1 },
	{ NAME("tail"), tail, CALLERS_COMPLETE, 0 },
	{ NAME("qsort"), by_qsort, CALLERS_COMPLETE, 0 },
	{ NAME("twalk"), by_twalk, CALLERS_COMPLETE, 0 },
	{ NAME("dlsym"), by_dlsym, CALLERS_COMPLETE, 0 },
	{ .name = NULL },
};
