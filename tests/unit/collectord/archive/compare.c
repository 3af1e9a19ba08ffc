// SPDX-License-Identifier: Apache-2.0
/*
 * Two sides compared: bounds of a shift by ranks as tables of Mann and Whitney have them; of invented runs the verdict,
 * what it is of and the part that changed; alike runs are told apart no more often than the confidence allows; and the
 * pieces of time of a long window.
 */
#include <errno.h>
#include <math.h>

#include "archive/questions/compare_judge.h"
#include "base/cleanup.h"
#include "tests/support/check.h"

#define MS 1000000ull
#define SECOND 1000000000ull
#define UNIX 1700000000000000000ull

enum { PID = 4711, HELPER = 4712 };

/* ---- ranks ---- */

static const struct {
	const char *name;
	size_t n_a, n_b;
	double confidence;
	int result;
	size_t outside; /* differences below the lower bound: the critical value of U, and 1 */
} ranks[] = {
	{ "four and four are too few", 4, 4, 0.99, -ENODATA, 0 },
	{ "one and twelve", 1, 12, 0.99, -ENODATA, 0 },
	{ "five and five", 5, 5, 0.99, 0, 0 },
	{ "eight and eight", 8, 8, 0.99, 0, 7 },
	{ "ten and ten", 10, 10, 0.99, 0, 16 },
	{ "twelve and twelve", 12, 12, 0.99, 0, 27 },
	{ "twelve and twelve, 0.95", 12, 12, 0.95, 0, 37 },
	{ "seven and twelve", 7, 12, 0.99, 0, 12 },
};

static void ranks_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		size_t n_a = ranks[i].n_a, n_b = ranks[i].n_b;
		double a[RANK_MOST], b[RANK_MOST];
		struct rank_shift shift;

		/* All differences are different: in order they are those to the last of a, each b from the first on. */
		for (size_t k = 0; k < RANK_MOST; k++) {
			a[k] = 100.0 * (double)(n_a - 1 - MIN(k, n_a - 1));
			b[k] = (double)k;
		}
		CHECK_INT_EQ(ranks[i].name, rank_shift(a, n_a, b, n_b, ranks[i].confidence, &shift), ranks[i].result);
		if (ranks[i].result)
			continue;
		size_t low = ranks[i].outside, high = n_a * n_b - 1 - low;

		CHECK_INT_EQ(ranks[i].name, shift.low, (double)(low % n_b) - 100.0 * (double)(n_a - 1 - low / n_b));
		CHECK_INT_EQ(ranks[i].name, shift.high, (double)(high % n_b) - 100.0 * (double)(n_a - 1 - high / n_b));
	}
}

/* ---- runs ---- */

static const struct read_process processes[] = {
	{ .id = 1, .pid = PID, .comm = "python3", .program = { .script = "train.py" }, .first_unix_ns = UNIX },
	{ .id = 2, .pid = PID + 10, .comm = "python3", .program = { .script = "train.py" }, .first_unix_ns = UNIX },
	{ .id = 3, .pid = PID + 20, .comm = "python3", .program = { .script = "serve.py" }, .first_unix_ns = UNIX },
};
static const struct read_op launch = { .id = 3, .source = "cuda", .name = "cudaLaunchKernel" };
static const struct read_op sync_op = { .id = 5, .source = "cuda", .name = "cudaStreamSynchronize" };

/* A side: what a step takes, in µs, and how it varies. */
struct run {
	double device_us, compute_us, runnable_us;
	double noise;	       /* of each second, as a share */
	double runnable_noise; /* of the time ready, as a share */
	unsigned int launches; /* of a step */
	unsigned int seconds;
	unsigned int idle_s; /* of these, at the start: a wait without work */
};

static uint64_t seed;

/* Uniform in -1 to 1. */
static double random_next(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(int64_t)(seed >> 11) / (double)(1ull << 52) - 1;
}

static void second_add(struct series *series, const struct read_process *process, const struct run *run, unsigned int s)
{
	double device = run->device_us * (1 + run->noise * random_next());
	double compute = run->compute_us * (1 + run->noise * random_next());
	double runnable = run->runnable_us * (1 + run->runnable_noise * random_next());
	double steps = 1e6 / (device + compute + runnable);
	struct read_part parts[] = {
		{ .process = process, .tid = process->pid, .where = ACCOUNT_BETWEEN, .class = BLAME_ON_CPU },
		{ .process = process, .tid = process->pid, .where = ACCOUNT_BETWEEN, .class = BLAME_RUNNABLE },
		{ .process = process, .op = &sync_op, .tid = process->pid, .where = ACCOUNT_IN, .class = BLAME_DEVICE },
		{ .process = process,
		  .tid = process->pid + 1,
		  .where = ACCOUNT_BETWEEN,
		  .class = BLAME_LOCK,
		  .ns = SECOND },
	};
	struct read_figures figures[] = { { .process = process, .op = &launch },
					  { .process = process, .op = &sync_op } };
	struct read_bucket bucket = { .from_unix_ns = UNIX + s * SECOND,
				      .to_unix_ns = UNIX + (s + 1) * SECOND,
				      .figures = figures,
				      .n_figures = ARRAY_SIZE(figures),
				      .parts = parts,
				      .n_parts = ARRAY_SIZE(parts) };

	for (size_t i = 0; i < ARRAY_SIZE(parts) - 1; i++)
		parts[i].is_driving = true;
	if (s < run->idle_s) {
		parts[1].class = BLAME_OTHER;
		parts[1].ns = SECOND;
		bucket.n_figures = 0;
		CHECK_INT_EQ("a second without work", series_add(series, &bucket), 0);
		return;
	}
	parts[0].ns = (uint64_t)(compute * steps * 1e3);
	parts[1].ns = (uint64_t)(runnable * steps * 1e3);
	parts[2].ns = (uint64_t)(device * steps * 1e3);
	figures[0].figures.untimed = (uint64_t)(run->launches * steps);
	figures[1].figures.untimed = (uint64_t)steps;
	figures[1].figures.total_ns = parts[2].ns;
	CHECK_INT_EQ("a second", series_add(series, &bucket), 0);
}

static void run_make(const struct run *run, const struct read_process *process, struct series *ret_series,
		     struct compared_programs *ret_programs)
{
	*ret_series = (struct series){ .only_file = 0 };
	for (unsigned int s = 0; s < run->seconds; s++)
		second_add(ret_series, process, run, s);
	CHECK_INT_EQ("programs", compared_programs_build(ret_series, ret_programs), 0);
}

struct pair {
	struct series series[2];
	struct compared_programs programs[2];
	struct judgement judgement;
};

static void pair_done(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		compared_programs_done(&pair->programs[i]);
		series_done(&pair->series[i]);
	}
}

static void pair_judge(const struct run *a, const struct run *b, struct pair *ret)
{
	const struct compared_program *programs[2];

	run_make(a, &processes[0], &ret->series[0], &ret->programs[0]);
	run_make(b, &processes[1], &ret->series[1], &ret->programs[1]);
	programs[0] = ret->programs[0].items.items[0];
	programs[1] = ret->programs[1].items.items[0];
	judge_program(programs[0], programs[1], judge_unit_choose(programs[0], programs[1]), &ret->judgement);
}

static const struct run plain = { 5000, 2000, 500, 0.01, 0.2, 8, 24, 0 };

static const struct {
	const char *name;
	struct run b;
	enum judge_verdict verdict;
	bool is_without_runnable;
	double change, within;
} runs[] = {
	{ "alike", { 5000, 2000, 500, 0.01, 0.2, 8, 24, 0 }, JUDGE_SAME, true, 0, 0.01 },
	{ "the device takes longer", { 5210, 2000, 500, 0.01, 0.2, 8, 24, 0 }, JUDGE_SLOWER, true, 0.03, 0.01 },
	{ "computes longer", { 5000, 2210, 500, 0.01, 0.2, 8, 24, 0 }, JUDGE_SLOWER, true, 0.03, 0.01 },
	{ "computes less", { 5000, 1790, 500, 0.01, 0.2, 8, 24, 0 }, JUDGE_FASTER, true, -0.03, 0.01 },
	{ "less than is ever told", { 5035, 2000, 500, 0.0001, 0.2, 8, 24, 0 }, JUDGE_SAME, true, 0.005, 0.001 },
	{ "waits for the CPU", { 5000, 2000, 3000, 0.01, 0.2, 8, 24, 0 }, JUDGE_SLOWER, false, 0.33, 0.1 },
	{ "a busier machine hides nothing", { 5000, 2700, 3000, 0.01, 0.9, 8, 24, 0 }, JUDGE_SLOWER, true, 0.10, 0.02 },
	{ "half as long a run", { 5210, 2000, 500, 0.01, 0.2, 8, 12, 0 }, JUDGE_SLOWER, true, 0.03, 0.015 },
	{ "more launches, as many steps", { 5000, 2000, 500, 0.01, 0.2, 16, 24, 0 }, JUDGE_SAME, true, 0, 0.01 },
	{ "varies too much", { 5000, 2000, 500, 0.9, 0.2, 8, 24, 0 }, JUDGE_UNKNOWN, false, 0, 0.6 },
	{ "waits before its work", { 5210, 2000, 500, 0.01, 0.2, 8, 44, 20 }, JUDGE_SLOWER, true, 0.03, 0.012 },
	{ "too short", { 9000, 2000, 500, 0.01, 0.2, 8, 1, 0 }, JUDGE_UNKNOWN, false, 0, 0 },
};

static void runs_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		CLEANUP(pair_done) struct pair pair = { .judgement = { .a = { .program = NULL } } };
		const struct judgement *j = &pair.judgement;

		seed = i + 1;
		pair_judge(&plain, &runs[i].b, &pair);
		CHECK_STR_EQ(runs[i].name, j->unit.op ? j->unit.op->name : "call", "cudaStreamSynchronize");
		CHECK_INT_EQ(runs[i].name, j->verdict, runs[i].verdict);
		CHECK("a verdict has a reason where it is none", !j->why[0] == (j->verdict != JUDGE_UNKNOWN));
		if (j->verdict != JUDGE_UNKNOWN)
			CHECK_INT_EQ(runs[i].name, j->is_without_runnable, runs[i].is_without_runnable);
		if (!check_report(fabs(j->change_ratio - runs[i].change) <= runs[i].within, __FILE__, __LINE__,
				  runs[i].name))
			fprintf(stderr, "change is %g ± %g, want %g\n", j->change_ratio, j->error_ratio,
				runs[i].change);
	}
}

/* Each sure by 0.99, twice a pair: in 400 alike pairs that vary by 5 % and more, 8 are expected, and 16 are rare. */
static void alike_check(void)
{
	const struct run run = { 5000, 2000, 500, 0.05, 0.5, 8, 24, 0 };
	unsigned int n_told = 0;

	for (unsigned int i = 0; i < 400; i++) {
		CLEANUP(pair_done) struct pair pair = { .judgement = { .a = { .program = NULL } } };

		seed = 1000 + i;
		pair_judge(&run, &run, &pair);
		n_told += pair.judgement.verdict == JUDGE_SLOWER || pair.judgement.verdict == JUDGE_FASTER;
	}
	CHECK_INT_IN("alike, and told apart", n_told, 0, 16);
}

/* ---- pieces of time ---- */

static void pieces_check(void)
{
	CLEANUP(series_done) struct series series = { .only_file = 0 };
	uint64_t wall_ns = 0, calls = 0;

	seed = 7;
	for (unsigned int s = 0; s < 1000; s++)
		second_add(&series, &processes[0], &plain, s);
	CHECK_INT_IN("a long window has few pieces", series.pieces.n, SERIES_PIECES / 2, SERIES_PIECES);
	for (size_t i = 0; i < series.rows.n; i++) {
		const struct series_row *row = &series.rows.items[i];

		if (row->key.what == SERIES_CALLS)
			calls += series_sum(&series, row);
		else if (row->key.tid == PID)
			wall_ns += series_sum(&series, row);
	}
	CHECK_INT_IN("no time is lost", wall_ns, 999 * SECOND, 1000 * SECOND);
	CHECK_INT_IN("no call is lost", calls, 1190000, 1210000);
	for (size_t i = 0; i + 1 < series.pieces.n; i++)
		CHECK_INT_EQ("pieces follow each other", series.pieces.items[i].to_unix_ns,
			     series.pieces.items[i + 1].from_unix_ns);
}

static void wanted_check(void)
{
	CLEANUP(series_done) struct series series = { .only_file = 0 };

	(void)ARRAY_PUSH(&series.ids, 3);
	second_add(&series, &processes[0], &plain, 0);
	CHECK_INT_EQ("another process makes no piece", series.pieces.n, 0);
	second_add(&series, &processes[2], &plain, 1);
	CHECK_INT_EQ("the wanted one does", series.pieces.n, 1);
	CHECK_INT_EQ("it alone", series.processes.n, 1);
}

/* Processes of one name are one program; its helper thread is not the one that drives it. */
static void programs_check(void)
{
	CLEANUP(series_done) struct series series = { .only_file = 0 };
	CLEANUP(compared_programs_done) struct compared_programs programs = { .items = { .items = NULL } };

	for (unsigned int s = 0; s < 3; s++)
		for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
			second_add(&series, &processes[i], &plain, s);
	CHECK_INT_EQ("owners share a piece", series.pieces.n, 3);
	CHECK_INT_EQ("programs", compared_programs_build(&series, &programs), 0);
	CHECK_INT_EQ("two", programs.items.n, 2);
	CHECK_STR_EQ("most time first", programs.items.items[0]->script, "train.py");
	CHECK_INT_EQ("of two processes", programs.items.items[0]->pids.n, 2);
	CHECK_INT_IN("the time of their driving threads", programs.items.items[0]->wall_ns, 6 * SECOND - MS,
		     6 * SECOND);
	CHECK("no part of another thread",
	      !compared_program_part(programs.items.items[0], ACCOUNT_BETWEEN, BLAME_LOCK, 0));
}

int main(void)
{
	ranks_check();
	runs_check();
	alike_check();
	pieces_check();
	wanted_check();
	programs_check();
	return check_result();
}
