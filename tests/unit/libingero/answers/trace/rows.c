// SPDX-License-Identifier: Apache-2.0
/* Order, rates, marks, names: what the table shows of the figures. */
#include "libingero/answers/trace/rows.h"

#include <locale.h>

#include "../figures.h"
#include "tests/support/check.h"

static const struct {
	const char *op;
	const char *want;
} ops[] = {
	{ "cudaStreamSynchronize", "cudaStreamSync" },
	{ "cuStreamSynchronize", "cuStreamSync" },
	{ "cudaMalloc", "cudaMalloc" },
	{ "Synchronize", "Synchronize" },
	{ "", "" },
};

static const struct {
	const char *name;
	uint32_t pid;
	unsigned int columns;
	const char *want;
} processes[] = {
	{ "python", 4711, 15, "python 4711" },
	{ "a-long-name-of-15", 4194304, 15, "a-long… 4194304" },
	{ "", 1, 15, "? 1" },
	{ "e\x1b[m", 1, 15, "e?[m 1" },
};

/* What tells it from others of its name; the end of a long script goes first, and the pid never. */
static const struct {
	const char *name;
	const char *script;
	int rank, world; /* -1: not known */
	unsigned int columns;
	const char *label;
	const char *whole;
} programs[] = {
	{ "python3", "train.py", 3, 8, 60, "python3 train.py rank 3 4711", "python3 train.py rank 3" },
	{ "python3", "train.py", 3, 8, 27, "train.py rank 3 4711", "python3 train.py rank 3" },
	{ "python3", "train.py", 3, 8, 17, "trai… rank 3 4711", "python3 train.py rank 3" },
	{ "python3", "train.py", 3, 8, 15, "train.py 4711", "python3 train.py rank 3" },
	{ "python3", "train.py", 3, 8, 10, "trai… 4711", "python3 train.py rank 3" },
	{ "python3", "train.py", -1, -1, 60, "python3 train.py 4711", "python3 train.py" },
	{ "python3", "train.py", 0, 1, 60, "python3 train.py 4711", "python3 train.py" },
	{ "python3", "train.py", 0, -1, 60, "python3 train.py rank 0 4711", "python3 train.py rank 0" },
	{ "train.py", "train.py", 1, 2, 60, "train.py rank 1 4711", "train.py rank 1" },
	{ "train", NULL, 1, 2, 60, "train rank 1 4711", "train rank 1" },
	{ "train", NULL, -1, -1, 60, "train 4711", "train" },
	{ "", NULL, -1, -1, 60, "? 4711", "?" },
	{ "python3", "e\x1b[m", -1, -1, 60, "python3 e?[m 4711", "python3 e\x1b[m" },
};

static void programs_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		Ingero__V1__Program program = INGERO__V1__PROGRAM__INIT;

		program.script = (char *)(uintptr_t)programs[i].script;
		program.has_rank = programs[i].rank >= 0;
		program.rank = (uint32_t)programs[i].rank;
		program.has_world_size = programs[i].world >= 0;
		program.world_size = (uint32_t)programs[i].world;
		CHECK_STR_EQ(programs[i].label,
			     trace_process_label(programs[i].name, &program, 4711, programs[i].columns).text,
			     programs[i].label);
		CHECK_STR_EQ(programs[i].label, trace_process_name(programs[i].name, &program).text, programs[i].whole);
	}
	CHECK_STR_EQ("nothing is known of it", trace_process_name("python3", NULL).text, "python3");
}

/* Where there is room the table tells the rank; else the script, and the pid in any case. */
static void table_test(void)
{
	static const struct {
		unsigned int columns;
		const char *process;
	} cases[] = { { 80, "train.py 4711 " },
		      { 100, "python3 train.py rank 3 4711 " },
		      { 200, "python3 train.py rank 3 4711 " } };
	static const struct figures_op table[] = { { .op = "a", .pid = 4711, .process = "python3" },
						   { .op = "a", .pid = 4712, .process = "other" },
						   { 0 } };
	Ingero__V1__Program program = INGERO__V1__PROGRAM__INIT;

	program.script = (char *)(uintptr_t) "train.py";
	program.has_rank = true;
	program.rank = 3;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct text_style style = { .is_utf8 = true, .columns = cases[i].columns };
		static struct figures f;
		CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		(void)figures_build(&f, 10 * S, table, NULL, NULL);
		f.summary.operations[0]->program = &program;
		CHECK_INT_EQ(cases[i].process, trace_rows_build(&f.summary, NULL, &rows), 0);
		CHECK_INT_EQ(cases[i].process, trace_rows_append(&rows, &style, 10, &out), 0);
		CHECK(cases[i].process, strstr(buf_text(&out), cases[i].process) != NULL);
	}
}

static const struct {
	const char *name;
	uint64_t window_ns;
	uint64_t runnable_ns, quota_ns, on_cpu_ns;
	bool waits;
} marks[] = {
	{ "a third of its time", 10 * S, 340 * MS, 0, 660 * MS, true },
	{ "quota counts too", 10 * S, 0, 340 * MS, 660 * MS, true },
	{ "both together", 10 * S, 60 * MS, 60 * MS, 880 * MS, true },
	{ "a small share", 10 * S, 90 * MS, 0, 910 * MS, false },
	{ "next to no time", 10 * MS, 900 * US, 0, 0, false },
	{ "next to none of the window", 1000 * S, 340 * MS, 0, 660 * MS, false },
	{ "none", 10 * S, 0, 0, 0, false },
};

static void order_test(void)
{
	static const struct figures_op table[] = {
		{ .pid = 1, .op = "a", .count = 10, .blame_ns = { 5 * MS } },
		{ .pid = 2, .op = "a", .count = 30, .errors = 2, .blame_ns = { 50 * MS } },
		{ .pid = 1, .op = "b", .count = 20, .blame_ns = { 5 * MS } },
		{ 0 },
	};
	static const struct figures_op before_table[] = {
		{ .pid = 2, .op = "a", .count = 10, .blame_ns = { 1 } },
		{ .pid = 1, .op = "a", .count = 11, .blame_ns = { 1 } }, /* cannot be; must not wrap */
		{ 0 },
	};
	static struct figures f, before;
	CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
	CLEANUP(trace_rows_done) struct trace_rows whole = TRACE_ROWS_INIT;

	(void)figures_build(&f, 4 * S, table, NULL, NULL);
	(void)figures_build(&before, 2 * S, before_table, NULL, NULL);
	CHECK_INT_EQ("build", trace_rows_build(&f.summary, &before.summary, &rows), 0);
	CHECK_INT_EQ("rows", rows.rows.n, 3);
	CHECK_INT_EQ("processes", rows.n_processes, 2);
	CHECK_INT_EQ("calls", rows.n_calls, 60);
	CHECK_INT_EQ("errors", rows.n_errors, 2);
	CHECK_INT_EQ("most time first", rows.rows.items[0].op->pid, 2);
	CHECK_STR_EQ("then most calls", rows.rows.items[1].op->op, "b");
	CHECK_INT_EQ("20 more in 2 s", rows.rows.items[0].per_s, 10);
	CHECK_INT_EQ("new since", rows.rows.items[1].per_s, 10);
	CHECK_INT_EQ("never below none", rows.rows.items[2].per_s, 0);
	CHECK_INT_EQ("share of 4 s", rows.rows.items[0].share * 100000, 1250);

	CHECK_INT_EQ("build", trace_rows_build(&f.summary, NULL, &whole), 0);
	CHECK_INT_EQ("without earlier figures: of all", whole.rows.items[0].per_s * 10, 75);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		CHECK_SKIP("no locale C.UTF-8");

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		CHECK_STR_EQ(ops[i].op, trace_op_label(ops[i].op).text, ops[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		CHECK_STR_EQ(processes[i].name,
			     trace_process_label(processes[i].name, NULL, processes[i].pid, processes[i].columns).text,
			     processes[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const struct figures_op table[] = { { .op = "a",
						      .blame_ns = { [BLAME_VIEW_ON_CPU] = marks[i].on_cpu_ns,
								    [BLAME_VIEW_RUNNABLE] = marks[i].runnable_ns,
								    [BLAME_VIEW_QUOTA] = marks[i].quota_ns } },
						    { 0 } };
		static struct figures f;
		CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;

		(void)figures_build(&f, marks[i].window_ns, table, NULL, NULL);
		CHECK_INT_EQ(marks[i].name, trace_rows_build(&f.summary, NULL, &rows), 0);
		CHECK_INT_EQ(marks[i].name, rows.rows.items[0].waits_for_cpu, marks[i].waits);
	}
	order_test();
	programs_test();
	table_test();
	return check_result();
}
