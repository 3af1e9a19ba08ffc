// SPDX-License-Identifier: Apache-2.0
/* Rows as a profile: process outermost, offsets gone, stacks that are missing or not complete marked, every measure. */
#include "libingero/answers/stack/profile.h"

#include "stacks.h"
#include "tests/support/check.h"

static struct made_stack first, second;
static struct made_rows made, before;

static void rows_make(void)
{
	Ingero__V1__StackRow *row;

	made_stack_python(&first, 1, "/data/alice/net.py", 142);
	made_stack_python(&second, 2, "/data/alice/net.py", 142);
	second.stack.is_complete = 0;
	made_rows_init(&made);
	row = made_row(&made, &first, 4711, "cudaStreamSynchronize", 100, MS);
	row->counted = 6400;
	row->counted_ns = 200 * MS;
	row->bytes = 4096;
	(void)made_row(&made, &second, 4711, "cudaStreamSynchronize", 10, MS);
	(void)made_row(&made, NULL, 4711, "cudaMalloc", 2, MS);
}

#define COMPLETE "python3;_start;main (train.py:13);forward (net.py:142);at::wait(int);cudaStreamSynchronize"
#define INCOMPLETE                                                                                                     \
	"python3;[not complete];_start;main (train.py:13);forward (net.py:142);at::wait(int);cudaStreamSynchronize"

static const struct {
	const char *measure;
	const char *want;
} cases[] = {
	{ "time", "python3;[no stack];cudaMalloc 2000000\n" INCOMPLETE " 10000000\n" COMPLETE " 200000000\n" },
	{ "count", "python3;[no stack];cudaMalloc 2\n" INCOMPLETE " 10\n" COMPLETE " 6400\n" },
	{ "bytes", COMPLETE " 4096\n" },
	{ "blame:device", "python3;[no stack];cudaMalloc 1500000\n" INCOMPLETE " 7500000\n" COMPLETE " 75000000\n" },
};

static void measure_test(size_t i)
{
	CLEANUP(flame_done) struct flame profile = FLAME_INIT;
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_head head = { .title = "", .subtitle = "", .before = FLAME_NONE };
	struct stack_measure measure;

	CHECK_INT_EQ(cases[i].measure, stack_measure_parse(cases[i].measure, &measure), 0);
	CHECK_INT_EQ(cases[i].measure, stack_sites_build(&made.rows, STACK_BY_STACK, &measure, &sites), 0);
	CHECK_INT_EQ(cases[i].measure, stack_profile_init(&made.rows, &profile), 0);
	CHECK_INT_EQ("classes that nobody has are no values", profile.n_values, 5);
	CHECK_INT_EQ(cases[i].measure, stack_profile_add(&profile, &sites, 0, /* takes_inner= */ false), 0);
	head.value = stack_profile_value(&profile, &measure);
	CHECK_INT_EQ(cases[i].measure, flame_folded_append(&profile, &head, &out), 0);
	CHECK_STR_EQ(cases[i].measure, buf_text(&out), cases[i].want);
}

static void limit_test(void)
{
	CLEANUP(flame_done) struct flame profile = FLAME_INIT;
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	struct stack_measure measure = { .kind = STACK_COUNT };

	CHECK_INT_EQ("sites", stack_sites_build(&made.rows, STACK_BY_STACK, &measure, &sites), 0);
	CHECK_INT_EQ("init", stack_profile_init(&made.rows, &profile), 0);
	CHECK_INT_EQ("add", stack_profile_add(&profile, &sites, 1, /* takes_inner= */ false), 0);
	CHECK_INT_EQ("the one with most", flame_total(&profile, stack_profile_value(&profile, &measure)), 6400);
}

static void change_test(void)
{
	CLEANUP(flame_done) struct flame profile = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_head head = { .title = "", .subtitle = "", .before = 1 };
	struct stack_measure measure = { .kind = STACK_TIME };

	made_rows_init(&before);
	(void)made_row(&before, &first, 9, "cudaStreamSynchronize", 30, MS); /* another process of that name */
	CHECK_INT_EQ("init", stack_profile_init_change(&measure, &profile), 0);
	CHECK_STR_EQ("names", profile.values[1].name, "time before");
	CHECK_INT_EQ("now",
		     stack_profile_add_change(&profile, &measure, &made.rows, /* takes_inner= */ false,
					      /* is_before= */ false),
		     0);
	CHECK_INT_EQ("before",
		     stack_profile_add_change(&profile, &measure, &before.rows, /* takes_inner= */ false,
					      /* is_before= */ true),
		     0);
	CHECK_INT_EQ("folded", flame_folded_append(&profile, &head, &out), 0);
	CHECK_STR_EQ("before, then now", buf_text(&out),
		     "python3;[no stack];cudaMalloc 0 2000000\n" INCOMPLETE " 0 10000000\n" COMPLETE
		     " 30000000 200000000\n");
}

#define DRIVER "python3;_start;main (train.py:13);cudaMemcpy;cuMemcpyHtoD"
#define RUNTIME "python3;_start;main (train.py:13);cudaMemcpy"

/* A copy of the runtime has that of the driver within it: its time, bytes and blame are those of one copy. */
static void inner_rows_make(struct made_stack *runtime, struct made_stack *driver)
{
	struct made_stack *const both[] = { runtime, driver };

	made_rows_init(&made);
	for (uint64_t i = 0; i < ARRAY_SIZE(both); i++) {
		made_stack_init(both[i], i + 1);
		if (both[i] == driver)
			made_native(driver, "cuMemcpyHtoD", "/lib/libcuda.so.1");
		made_native(both[i], both[i] == driver ? "cudaMemcpy+0x2a" : "cudaMemcpy", "/lib/libcudart.so.12");
		made_python(both[i], "/data/alice/train.py", 13, "main");
		made_native(both[i], "_start+0x21", "/usr/bin/python3.11");
	}
	made_row(&made, runtime, 4711, "cudaMemcpy", 10, 5 * MS)->bytes = 640;
	made_row(&made, driver, 4711, "cuMemcpyHtoD", 10, 4 * MS)->bytes = 640;
	made.row[1].is_inner = true;
}

static const struct {
	const char *measure, *want, *want_all;
} inner_cases[] = {
	{ "time", RUNTIME " 50000000\n", RUNTIME " 50000000\n" DRIVER " 40000000\n" },
	{ "count", RUNTIME " 10\n", RUNTIME " 10\n" DRIVER " 10\n" },
	{ "bytes", RUNTIME " 640\n", RUNTIME " 640\n" DRIVER " 640\n" },
	{ "blame:device", RUNTIME " 37500000\n", RUNTIME " 37500000\n" DRIVER " 30000000\n" },
};

/* Each moment is there once, unless calls of one operation are asked for. */
static void inner_test(size_t i, bool takes_inner, bool is_change)
{
	CLEANUP(flame_done) struct flame profile = FLAME_INIT;
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_head head = { .title = "", .subtitle = "", .before = FLAME_NONE };
	struct made_stack runtime, driver;
	struct stack_measure measure;

	inner_rows_make(&runtime, &driver);
	CHECK_INT_EQ("measure", stack_measure_parse(inner_cases[i].measure, &measure), 0);
	CHECK_INT_EQ("sites", stack_sites_build(&made.rows, STACK_BY_STACK, &measure, &sites), 0);
	if (is_change) {
		CHECK_INT_EQ("init", stack_profile_init_change(&measure, &profile), 0);
		CHECK_INT_EQ("add", stack_profile_add_change(&profile, &measure, &made.rows, takes_inner, false), 0);
	} else {
		CHECK_INT_EQ("init", stack_profile_init(&made.rows, &profile), 0);
		CHECK_INT_EQ("add", stack_profile_add(&profile, &sites, 0, takes_inner), 0);
		head.value = stack_profile_value(&profile, &measure);
	}
	CHECK_INT_EQ("folded", flame_folded_append(&profile, &head, &out), 0);
	CHECK_STR_EQ(inner_cases[i].measure, buf_text(&out),
		     takes_inner ? inner_cases[i].want_all : inner_cases[i].want);
}

static void measures_test(void)
{
	struct stack_measure measure;

	for (size_t i = 0; stack_measure_names[i]; i++) {
		CHECK_INT_EQ(stack_measure_names[i], stack_measure_parse(stack_measure_names[i], &measure), 0);
		CHECK_STR_EQ(stack_measure_names[i], stack_measure_value(&measure).name, stack_measure_names[i]);
	}
	CHECK("unknown", stack_measure_parse("blame:", &measure) < 0 && stack_measure_parse("", &measure) < 0);
}

int main(void)
{
	rows_make();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		measure_test(i);
	limit_test();
	change_test();
	measures_test();
	for (size_t i = 0; i < 4 * ARRAY_SIZE(inner_cases); i++)
		inner_test(i / 4, i & 1, i & 2);
	return check_result();
}
