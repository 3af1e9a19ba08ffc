// SPDX-License-Identifier: Apache-2.0
/*
 * See truth.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda_calls.h"
#include "standin/control.h"
#include "truth.h"

struct row {
	const char *function;
	uint64_t entered, returned, inherited; /* atomic */
};

static struct row rows[] = {
	{ .function = "cudaFree" },
	{ .function = "cuMemFree_v2" },
	{ .function = "cudaStreamSynchronize" },
	{ .function = "cuStreamSynchronize" },
	{ .function = "cuStreamSynchronize_ptsz" },
	{ .function = "cudaLaunchKernel" },
	{ .function = "cuLaunchKernel" },
};

static struct {
	const char *op;
	unsigned int count;
} operations[4];

static bool is_harmed;

/* Set by call_around() for the next call of this thread alone. */
static __thread void (*inside_next)(void);

static struct row *row_find(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].function, function) == 0)
			return &rows[i];
	}
	truth_harmed(function); /* a case expects something of a function that is not listed above */
	return &rows[0];
}

void truth_expect(const char *function, unsigned int entered, unsigned int returned)
{
	struct row *row = row_find(function);

	__atomic_add_fetch(&row->entered, entered, __ATOMIC_RELAXED);
	__atomic_add_fetch(&row->returned, returned, __ATOMIC_RELAXED);
}

void truth_inherited(const char *function)
{
	__atomic_add_fetch(&row_find(function)->inherited, 1, __ATOMIC_RELAXED);
}

void truth_operation(const char *op, unsigned int count)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (!operations[i].op) {
			operations[i].op = op;
			operations[i].count = count;
			return;
		}
	}
	truth_harmed("more operations than room");
}

void truth_harmed(const char *what)
{
	fprintf(stderr, "harmed: %s\n", what);
	__atomic_store_n(&is_harmed, true, __ATOMIC_RELAXED);
}

void truth_new_process(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = (struct row){ .function = rows[i].function };
	memset(operations, 0, sizeof(operations));
}

static void check_books(const struct row *row)
{
	uint64_t entries = 0, returns = 0;

	if (ingero_standin_count(row->function, &entries, &returns) < 0) {
		truth_harmed(row->function);
		return;
	}
	if (entries != row->entered || returns != row->returned + row->inherited) {
		fprintf(stderr,
			"%s: the books say %" PRIu64 " entries, %" PRIu64 " returns; expected %" PRIu64 ", %" PRIu64
			"\n",
			row->function, entries, returns, row->entered, row->returned + row->inherited);
		truth_harmed("the books disagree");
	}
}

int truth_print(const char *name, unsigned int generation)
{
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_books(&rows[i]);
	printf("{\"case\":\"%s\",\"pid\":%d,\"generation\":%u,\"unharmed\":%s,\"functions\":[", name, getpid(),
	       generation, is_harmed ? "false" : "true");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if (!row->entered && !row->inherited)
			continue;
		printf("%s{\"function\":\"%s\",\"entered\":%" PRIu64 ",\"returned\":%" PRIu64 ",\"abandoned\":%" PRIu64
		       ",\"inherited\":%" PRIu64 "}",
		       comma, row->function, row->entered, row->returned, row->entered - row->returned, row->inherited);
		comma = ",";
	}
	printf("],\"operations\":[");
	for (size_t i = 0; i < ARRAY_SIZE(operations) && operations[i].op; i++)
		printf("%s{\"op\":\"%s\",\"count\":%u}", i ? "," : "", operations[i].op, operations[i].count);
	printf("]}\n");
	fflush(stdout);
	return is_harmed ? 1 : 0;
}

static void expect_success(int r, const char *call)
{
	if (r != 0)
		truth_harmed(call);
}

void expect_sync(unsigned int entered, unsigned int returned)
{
	truth_expect("cudaStreamSynchronize", entered, returned);
	truth_expect("cuStreamSynchronize", entered, returned);
}

void call_sync(void)
{
	expect_sync(1, 1);
	expect_success(cudaStreamSynchronize(NULL), "cudaStreamSynchronize did not return 0");
}

void call_launch(void)
{
	static const dim3 one = { 1, 1, 1 };

	truth_expect("cudaLaunchKernel", 1, 1);
	truth_expect("cuLaunchKernel", 1, 1);
	expect_success(cudaLaunchKernel((const void *)call_launch, one, one, NULL, 0, NULL),
		       "cudaLaunchKernel did not return 0");
}

void call_begin(void)
{
	truth_expect("cudaFree", 1, 1);
	truth_expect("cuMemFree_v2", 1, 1);
	expect_success(cudaFree(NULL), "cudaFree(NULL) did not return 0");
}

static void on_call(void *argument)
{
	void (*inside)(void) = inside_next;

	(void)argument;
	inside_next = NULL;
	if (inside)
		inside();
}

int call_around(void (*inside)(void))
{
	inside_next = inside;
	return cudaStreamSynchronize(NULL);
}

void watch_calls(void)
{
	if (ingero_standin_callback("cuStreamSynchronize", on_call, NULL) < 0)
		truth_harmed("no stand-in exports cuStreamSynchronize");
}
