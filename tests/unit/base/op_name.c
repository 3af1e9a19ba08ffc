// SPDX-License-Identifier: Apache-2.0
/*
 * Every spelling of an operation's name that people see or know is the same name, and names of two operations are two.
 */
#include "base/op_name.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static const struct {
	const char *a, *b;
	bool is_same;
} pairs[] = {
	{ "cudaStreamSynchronize", "cudaStreamSync", true },
	{ "cudaStreamSynchronize", "CUDASTREAMSYNC", true },
	{ "cudastreamsynchronize", "cudaStreamSync", true },
	{ "cudaGraphLaunch", "graphLaunch", true },
	{ "GRAPHINSTANTIATE", "cudaGraphInstantiate", true },
	{ "cudaMemcpyAsync", "cudamemcpyasync", true },
	{ "cudaMemcpyAsync", "cudaMemcpyAsynchronize", false },
	{ "cudaStreamSync", "cuStreamSync", false },
	{ "cudaStreamSync", "cudaStreamSyn", false },
	{ "cudaMalloc", "cudaMallocHost", false },
	{ "cudaGraphLaunch", "cuGraphLaunch", false },
	{ "sync", "synchronize", true },
	{ "async", "async", true },
	{ "", "", true },
	{ "", "cuda", false },
	{ "graph", "cudaGraph", true },
};

static const char *const shorts[][2] = {
	{ "cudaStreamSynchronize", "cudaStreamSync" }, { "cuCtxSynchronize", "cuCtxSync" },
	{ "cudaMemcpyAsync", "cudaMemcpyAsync" },      { "Synchronize", "Synchronize" },
	{ "cudaLaunchKernel", "cudaLaunchKernel" },
};

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const char *a = pairs[i].a, *b = pairs[i].b;

		CHECK_INT_EQ(a, op_name_is_same(a, b), pairs[i].is_same);
		CHECK_INT_EQ(a, op_name_is_same(b, a), pairs[i].is_same);
		CHECK_INT_EQ(a, sign(op_name_compare(a, strlen(a), b, strlen(b))),
			     -sign(op_name_compare(b, strlen(b), a, strlen(a))));
	}
	/* An order: whatever is before one is before all that come behind it. */
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		for (size_t k = 0; k < ARRAY_SIZE(pairs); k++)
			for (size_t m = 0; m < ARRAY_SIZE(pairs); m++) {
				const char *a = pairs[i].a, *b = pairs[k].b, *c = pairs[m].a;

				if (op_name_compare(a, strlen(a), b, strlen(b)) <= 0 &&
				    op_name_compare(b, strlen(b), c, strlen(c)) <= 0)
					CHECK(a, op_name_compare(a, strlen(a), c, strlen(c)) <= 0);
			}
	for (size_t i = 0; i < ARRAY_SIZE(shorts); i++) {
		char text[64];

		op_name_short(shorts[i][0], text, sizeof(text));
		CHECK_STR_EQ(shorts[i][0], text, shorts[i][1]);
		CHECK(shorts[i][0], op_name_is_same(text, shorts[i][0]) || strcmp(text, shorts[i][0]) == 0);
	}
	return check_result();
}
