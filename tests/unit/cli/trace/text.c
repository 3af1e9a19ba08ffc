// SPDX-License-Identifier: Apache-2.0
/*
 * What people see, to the character: the live screen, the report, what it means.
 * Then the same on terminals of every size: never wider, never taller.
 */
#include <locale.h>

#include "tests/unit/libingero/answers/figures.h"
#include "detect/delay.h"
#include "detect/finding_message.h"
#include "events/op.h"
#include "libingero/answers/trace/meaning.h"
#include "libingero/answers/trace/report.h"
#include "cli/trace/screen.h"
#include "tests/support/check.h"

#define NOBODY 4294900000u /* no account has this number: shown as it is */

static char session[] = "session", nothing[] = "";
static Ingero__V1__Start start = { .base = PROTOBUF_C_MESSAGE_INIT(&ingero__v1__start__descriptor),
				   .back_end = session,
				   .back_end_reason = nothing };

/* One training process beside a hog: the example of the manner. */
static const struct figures_op hog_ops[] = {
	{ .pid = 4711,
	  .process = "python",
	  .op = "cudaStreamSynchronize",
	  .count = 9829,
	  .p50_ns = 1200 * US,
	  .p95_ns = 90 * MS,
	  .p99_ns = 142 * MS,
	  .max_ns = 143 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 2500 * MS,
			[BLAME_VIEW_RUNNABLE] = 17400 * MS,
			[BLAME_VIEW_DEVICE] = 31200 * MS } },
	{ .pid = 4711,
	  .process = "python",
	  .op = "cudaLaunchKernel",
	  .count = 412883,
	  .p50_ns = 4100,
	  .p95_ns = 30 * US,
	  .p99_ns = 61 * US,
	  .max_ns = 97 * US,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 2000 * MS, [BLAME_VIEW_RUNNABLE] = 150 * MS } },
	{ 0 },
};
static const struct figures_behind hog_behind[] = {
	{ .victim_pid = 4711, .pid = 6603, .comm = "logrotate", .ns = 15400 * MS },
	{ .victim_pid = 4711, .pid = 0, .uid = NOBODY, .comm = "", .ns = 1900 * MS },
	{ .victim_pid = 4711, .pid = 4711, .comm = "python", .ns = 200 * MS },
	{ .victim_pid = 1, .pid = 2, .comm = "not ours", .ns = 99 * S },
	{ 0 },
};

static const struct figures_op quota_ops[] = {
	{ .pid = 10,
	  .process = "python",
	  .op = "cudaMalloc",
	  .count = 100,
	  .p50_ns = 5 * US,
	  .p95_ns = 40 * MS,
	  .p99_ns = 80 * MS,
	  .max_ns = 80 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 1 * S, [BLAME_VIEW_QUOTA] = 2 * S } },
	{ 0 },
};

static const struct figures_op calm_ops[] = {
	{ .pid = 10,
	  .process = "python",
	  .op = "cudaStreamSynchronize",
	  .count = 1000,
	  .p50_ns = 900 * US,
	  .p95_ns = 950 * US,
	  .p99_ns = 1 * MS,
	  .max_ns = 2 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 20 * MS, [BLAME_VIEW_DEVICE] = 980 * MS } },
	{ .pid = 11,
	  .process = "worker",
	  .op = "cudaFree",
	  .count = 10,
	  .p50_ns = 1 * US,
	  .p95_ns = 1 * US,
	  .p99_ns = 1 * US,
	  .max_ns = 1 * US,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 10 * US } },
	{ 0 },
};

/* Blocked in a futex by its own meaning: no loss. */
static const struct figures_op futex_ops[] = {
	{ .pid = 10,
	  .process = "python",
	  .op = "cudaStreamSynchronize",
	  .count = 1000,
	  .p50_ns = 900 * US,
	  .p95_ns = 950 * US,
	  .p99_ns = 1 * MS,
	  .max_ns = 2 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 20 * MS, [BLAME_VIEW_LOCK] = 980 * MS } },
	{ 0 },
};

/* Waits for its batches, outside of its calls. */
static const struct figures_op waiting_ops[] = {
	{ .pid = 10,
	  .process = "python",
	  .op = "cudaFree",
	  .count = 10,
	  .p50_ns = 1 * US,
	  .p95_ns = 1 * US,
	  .p99_ns = 1 * US,
	  .max_ns = 1 * US,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 10 * US } },
	{ .pid = 10,
	  .process = "python",
	  .source = "host",
	  .op = "wait_main",
	  .count = 90,
	  .p50_ns = 100 * MS,
	  .p95_ns = 110 * MS,
	  .p99_ns = 120 * MS,
	  .max_ns = 130 * MS,
	  .blame_ns = { [BLAME_VIEW_RUNNABLE] = 100 * MS, [BLAME_VIEW_OTHER] = 8900 * MS } },
	{ 0 },
};

static const struct figures_op lock_ops[] = {
	{ .pid = 10,
	  .process = "python",
	  .op = "cudaMalloc",
	  .count = 1000,
	  .p50_ns = 900 * US,
	  .p95_ns = 950 * US,
	  .p99_ns = 1 * MS,
	  .max_ns = 2 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 20 * MS, [BLAME_VIEW_LOCK] = 980 * MS } },
	{ 0 },
};

static const struct figures_op failing_ops[] = {
	{ .pid = 10,
	  .process = "python",
	  .op = "cudaMalloc",
	  .count = 100,
	  .errors = 12,
	  .abandoned = 1,
	  .p50_ns = 5 * US,
	  .p95_ns = 6 * US,
	  .p99_ns = 7 * US,
	  .max_ns = 8 * US,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 500 * US } },
	{ 0 },
};
static const struct figures_in_flight stuck[] = {
	{ .pid = 10,
	  .tid = 12,
	  .process = "python",
	  .op = "cudaStreamSynchronize",
	  .age_ns = 10200 * MS,
	  .device_ns = 10000 * MS },
	{ .pid = 10, .tid = 13, .process = "python", .op = "cudaMalloc", .age_ns = 5 * US, .device_ns = 0 },
	{ 0 },
};

static const struct figures_behind crowd[] = {
	{ 4711, 10, 0, "a", 5000 * MS }, { 4711, 11, 0, "b", 4000 * MS }, { 4711, 12, 0, "c", 3000 * MS },
	{ 4711, 13, 0, "d", 2000 * MS }, { 4711, 14, 0, "e", 1000 * MS }, { 0 },
};
static const struct figures_behind crumbs[] = {
	{ 4711, 10, 0, "a", 10000 * MS },
	{ 4711, 11, 0, "kworker/1:2", 2 * MS },
	{ 4711, 12, 0, "kworker/1:1H", 1 * MS },
	{ 0 },
};

static const struct {
	const char *name;
	const struct figures_op *ops;
	const struct figures_in_flight *calls;
	const struct figures_behind *behind;
	uint64_t window_ns;
	const char *want;
} meanings[] = {
	{ "behind whom", hog_ops, NULL, hog_behind, 72 * S,
	  "▲ cudaStreamSynchronize in python (pid 4711) lost 17.4 s, 34 % of its time,\n"
	  "  ready to run while another task had the CPU. For another 61 % the call was\n"
	  "  waiting in the GPU driver. Half of its 9 829 calls took more than 1.2 ms, one\n"
	  "  in 100 more than 142 ms.\n"
	  "  While calls of this process waited, the CPU ran logrotate (pid 6603, root) for\n"
	  "  15.4 s (88 %), another user's process (uid 4294900000) for 1.9 s (11 %), its\n"
	  "  own other threads for 200 ms (1.1 %).\n"
	  "  do: renice -n 19 -p $(ls /proc/6603/task)\n" },
	{ "behind more than can be named", hog_ops, NULL, crowd, 72 * S,
	  "▲ cudaStreamSynchronize in python (pid 4711) lost 17.4 s, 34 % of its time,\n"
	  "  ready to run while another task had the CPU. For another 61 % the call was\n"
	  "  waiting in the GPU driver. Half of its 9 829 calls took more than 1.2 ms, one\n"
	  "  in 100 more than 142 ms.\n"
	  "  While calls of this process waited, the CPU ran a (pid 10, root) for 5.0 s\n"
	  "  (28 %), b (pid 11, root) for 4.0 s (23 %), c (pid 12, root) for 3.0 s (17 %),\n"
	  "  others for 3.0 s (17 %), unknown processes for 2.6 s (15 %).\n"
	  "  do: renice -n -5 -p $(ls /proc/4711/task)\n" },
	{ "behind one, and crumbs", hog_ops, NULL, crumbs, 72 * S,
	  "▲ cudaStreamSynchronize in python (pid 4711) lost 17.4 s, 34 % of its time,\n"
	  "  ready to run while another task had the CPU. For another 61 % the call was\n"
	  "  waiting in the GPU driver. Half of its 9 829 calls took more than 1.2 ms, one\n"
	  "  in 100 more than 142 ms.\n"
	  "  While calls of this process waited, the CPU ran a (pid 10, root) for 10.0 s\n"
	  "  (57 %), unknown processes for 7.5 s (43 %).\n"
	  "  do: renice -n 19 -p $(ls /proc/10/task)\n" },
	{ "nobody known", hog_ops, NULL, NULL, 72 * S,
	  "▲ cudaStreamSynchronize in python (pid 4711) lost 17.4 s, 34 % of its time,\n"
	  "  ready to run while another task had the CPU. For another 61 % the call was\n"
	  "  waiting in the GPU driver. Half of its 9 829 calls took more than 1.2 ms, one\n"
	  "  in 100 more than 142 ms.\n"
	  "  The processes that ran meanwhile are unknown.\n" },
	{ "quota", quota_ops, NULL, NULL, 10 * S,
	  "▲ cudaMalloc in python (pid 10) lost 2.0 s, 67 % of its time, ready to run but\n"
	  "  out of its cgroup's CPU quota. For another 33 % the call was computing. Half\n"
	  "  of its 100 calls took more than 5.0 µs, one in 100 more than 80 ms.\n"
	  "  do: raise cpu.max of its control group (kubernetes: limits.cpu, docker:\n"
	  "      --cpus)\n" },
	{ "another thread", lock_ops, NULL, NULL, 10 * S,
	  "▲ cudaMalloc in python (pid 10) lost 980 ms, 98 % of its time, waiting for a\n"
	  "  lock (futex or file). Half of its 1 000 calls took more than 900 µs, one in\n"
	  "  100 more than 1.0 ms.\n" },
	{ "no problem", calm_ops, NULL, NULL, 10 * S,
	  "No problem found: 2 processes of alice made 1 010 calls in 10.0 s, with no\n"
	  "significant delays. Most time was in cudaStreamSynchronize, 98 % of it waiting\n"
	  "in the GPU driver.\n" },
	{ "waiting on purpose", futex_ops, NULL, NULL, 10 * S,
	  "No problem found: 1 process of alice made 1 000 calls in 10.0 s, with no\n"
	  "significant delays. Most time was in cudaStreamSynchronize, 98 % of it waiting\n"
	  "for a lock (futex or file).\n" },
	{ "waiting between calls", waiting_ops, NULL, NULL, 10 * S,
	  "No problem found: 1 process of alice made 10 calls in 10.0 s, with no\n"
	  "significant delays. Most time was in cudaFree, 100 % of it running on the CPU.\n"
	  "The main thread of python (pid 10) was in no CUDA call and waited for 9.0 s of\n"
	  "10.0 s, 99 % of it blocked for an unknown reason: 90 times, half of them longer\n"
	  "than 100 ms; if a main thread feeds the GPU, it is the bottleneck, not CUDA.\n" },
	{ "not for most of the time", waiting_ops, NULL, NULL, 20 * S,
	  "No problem found: 1 process of alice made 10 calls in 20.0 s, with no\n"
	  "significant delays. Most time was in cudaFree, 100 % of it running on the CPU.\n" },
	{ "no call", NULL, NULL, NULL, 10 * S,
	  "No CUDA calls: no process of alice made one in 10.0 s. A thread is followed from\n"
	  "its first call after the start of the trace on: one that was blocked before is\n"
	  "not seen until it makes a call.\n" },
	{ "stuck and failing", failing_ops, stuck, NULL, 12 * S,
	  "▲ cudaStreamSynchronize in python (pid 10, thread 12) had not returned after\n"
	  "  10.2 s, 98 % of it waiting in the GPU driver.\n"
	  "▲ 12 of 100 calls of cudaMalloc in python (pid 10) failed. 1 call of cudaMalloc\n"
	  "  in python (pid 10) never returned: exit, kill, exec or a jump.\n" },
	{ "loss too small for the window", quota_ops, NULL, NULL, 10000 * S,
	  "No problem found: 1 process of alice made 100 calls in 2 h 47 min, with no\n"
	  "significant delays. Most time was in cudaMalloc, 67 % of it ready to run but out\n"
	  "of its cgroup's CPU quota.\n" },
};

/* As the daemon finds it. */
static void delay_set(struct figures *f)
{
	static Ingero__V1__Delay delay;
	static struct delay_advice advice;

	delay = (Ingero__V1__Delay)INGERO__V1__DELAY__INIT;
	for (size_t i = 0; i < f->summary.n_operations; i++) {
		Ingero__V1__Operation *op = f->summary.operations[i];
		struct blame_view view = blame_view_of(op->blame_ns);
		struct delay_times times = { .op = op_find(op->op),
					     .raw_ns = view.sum_ns,
					     .blame_ns = (const __u64 *)view.ns,
					     .measured = UINT16_MAX };
		enum blame_class class;
		uint64_t lost_ns = strcmp(op->source, "host") ? delay_judge(&times, f->summary.window_ns, &class) : 0;

		if (lost_ns <= delay.lost_ns)
			continue;
		delay.operation = op;
		delay.lost_ns = lost_ns;
		delay.takes = (char *)(uintptr_t)finding_class_field(class);
		advice = delay_advice(&f->summary, op, class, NULL);
	}
	delay.advice = advice.text;
	f->summary.delay = delay.operation ? &delay : NULL;
}

static void meaning_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80 };

	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		static struct figures f;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		(void)figures_build(&f, meanings[i].window_ns, meanings[i].ops, meanings[i].calls, meanings[i].behind);
		delay_set(&f);
		CHECK_INT_EQ(meanings[i].name,
			     trace_meaning_append(&f.summary, "of alice", /* is_attached= */ true, &style, &out), 0);
		CHECK_STR_EQ(meanings[i].name, buf_text(&out), meanings[i].want);
		buf_consume(&out, out.n);
		CHECK_INT_EQ(meanings[i].name,
			     trace_meaning_append(&f.summary, "of alice", /* is_attached= */ false, &style, &out), 0);
		CHECK(meanings[i].name, !strstr(buf_text(&out), "after the start of the trace"));
	}
}

/* What the finding says is said, and of several the one that lost most. */
static void advice_test(void)
{
	static char first[] = "the finding's first", second[] = "and second", other[] = "another's";
	static char kind[] = "cpu_contention", copies[] = "memcpy_share";
	char *advice[] = { first, second }, *others[] = { other };
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	static const struct {
		const char *name;
		uint32_t pid;
		uint64_t lost_ns;
		bool is_copies;
		const char *want;
	} rows[] = {
		{ "of the process", 4711, 15 * S, false, "  do: the finding's first\n" },
		{ "of another process", 4712, 15 * S, false, "  do: renice -n 19 -p $(ls /proc/6603/task)\n" },
		{ "of something else", 4711, 15 * S, true, "  do: renice -n 19 -p $(ls /proc/6603/task)\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__Finding finding[2] = { INGERO__V1__FINDING__INIT, INGERO__V1__FINDING__INIT };
		Ingero__V1__Finding *list[2] = { &finding[0], &finding[1] };
		Ingero__V1__Cause cause = INGERO__V1__CAUSE__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		static struct figures f;

		(void)figures_build(&f, 72 * S, hog_ops, NULL, hog_behind);
		cause.kind = rows[i].is_copies ? copies : kind;
		finding_message_words(&cause, rows[i].pid);
		for (size_t k = 0; k < ARRAY_SIZE(finding); k++) {
			finding[k].pid = rows[i].pid;
			finding[k].cause = &cause;
			finding[k].lost_ns = k == 0 ? 1 * S : rows[i].lost_ns;
			finding[k].advice = k == 0 ? others : advice;
			finding[k].n_advice = k == 0 ? 1 : 2;
		}
		f.summary.findings = list;
		f.summary.n_findings = ARRAY_SIZE(list);
		delay_set(&f);
		CHECK_INT_EQ(rows[i].name,
			     trace_meaning_append(&f.summary, "of alice", /* is_attached= */ true, &style, &out), 0);
		CHECK_STR_EQ(rows[i].name, strstr(buf_text(&out), "  do: ") ? strstr(buf_text(&out), "  do: ") : "",
			     rows[i].want);
	}
}

/* Findings of one operation are told, too: worst first, each with its remedy, at most three beside the delay. */
static const struct op_finding {
	const char *severity, *kind, *op, *title, *advice; /* kind NULL: the end */
	const char *takes;				   /* NULL: nothing */
	uint64_t lost_ns;
} of_ops[][6] = {
	{ { "LOW", "cpu_contention", "cudaStreamSynchronize", "cudaStreamSynchronize waited for the CPU",
	    "renice -n 19 -p $(ls /proc/6603/task)", "runnable", 1 * S },
	  { "HIGH", "call_error", "cudaMalloc", "cudaMalloc returned 700: a kernel used memory that is not its own",
	    "run it again with CUDA_LAUNCH_BLOCKING=1", NULL, 0 },
	  { .kind = NULL } },
	{ { "MEDIUM", "device_oom", "cudaMalloc", "cudaMalloc found no device memory", "use less", NULL, 0 },
	  { "CRITICAL", "graph_capture", "cudaMalloc", "cudaMalloc failed in a graph capture", "allocate before", NULL,
	    0 },
	  { "HIGH", "call_error", "cudaFree", "cudaFree returned 4", "do it otherwise", NULL, 0 },
	  { "LOW", "call_error", "cudaMemcpy", "cudaMemcpy returned 1", "look at its arguments", NULL, 0 },
	  { .kind = NULL } },
};

static const char *const of_ops_want[] = {
	"▲ cudaMalloc returned 700: a kernel used memory that is not its own in python\n"
	"  (pid 4711).\n"
	"  do: run it again with CUDA_LAUNCH_BLOCKING=1\n"
	"▲ cudaStreamSynchronize in python (pid 4711) lost 17.4 s, 34 % of its time,\n",
	"▲ cudaMalloc failed in a graph capture in python (pid 4711).\n"
	"  do: allocate before\n"
	"▲ cudaFree returned 4 in python (pid 4711).\n"
	"  do: do it otherwise\n"
	"▲ cudaMalloc found no device memory in python (pid 4711).\n"
	"  do: use less\n"
	"▲ cudaStreamSynchronize in python (pid 4711) lost 17.4 s, 34 % of its time,\n",
};

static void op_findings_test(size_t i)
{
	Ingero__V1__Finding findings[6], *list[6];
	Ingero__V1__Cause causes[6];
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	char *advice[6], told[1024];
	static struct figures f;
	size_t n = 0;

	(void)figures_build(&f, 72 * S, hog_ops, NULL, hog_behind);
	for (const struct op_finding *row = of_ops[i]; row->kind; row++, n++) {
		findings[n] = (Ingero__V1__Finding)INGERO__V1__FINDING__INIT;
		causes[n] = (Ingero__V1__Cause)INGERO__V1__CAUSE__INIT;
		causes[n].kind = figures_text(row->kind);
		causes[n].takes = figures_text(row->takes ? row->takes : "");
		advice[n] = figures_text(row->advice);
		findings[n].severity = figures_text(row->severity);
		findings[n].kind = figures_text(row->kind);
		findings[n].op = figures_text(row->op);
		findings[n].title = figures_text(row->title);
		findings[n].pid = 4711;
		findings[n].process_name = figures_text("python");
		findings[n].cause = &causes[n];
		findings[n].lost_ns = row->lost_ns;
		findings[n].advice = &advice[n];
		findings[n].n_advice = 1;
		list[n] = &findings[n];
	}
	f.summary.findings = list;
	f.summary.n_findings = n;
	delay_set(&f);
	CHECK_INT_EQ("findings of operations", trace_meaning_append(&f.summary, "of alice", true, &style, &out), 0);
	(void)snprintf(told, sizeof(told), "%.*s", (int)strlen(of_ops_want[i]), buf_text(&out));
	CHECK_STR_EQ("told, worst first", told, of_ops_want[i]);
	CHECK("the delay is told once", !strstr(strstr(buf_text(&out), "lost 17.4 s"), "waited for the CPU"));
}

static const struct machine_load machine = {
	.cpu_ratio = 0.78, .memory_ratio = 0.41, .load = 6.1, .pressure_ratio = 0.31
};

static const struct {
	const char *name;
	const struct figures_op *ops;
	const struct figures_in_flight *calls;
	const struct figures_behind *behind;
	bool has_figures;
	bool has_start;
	size_t n_libraries;
	bool is_utf8;
	const char *want;
} screens[] = {
	{ "hog", hog_ops, NULL, hog_behind, true, true, 2, true,
	  "ingero  node-7  14:03:21  python 4711 of root  1 min 12 s  cost 0.6 %\n"
	  "cpu ▇▇▇▇▇▇░░ 78 %   mem ▇▇▇░░░░░ 41 %   load 6.1   cpu pressure 31 %\n"
	  "\n"
	  "operation          calls   rate   p50   p99   max time   blame\n"
	  "cudaStreamSync     9 829  137/s 1.2ms 142ms 143ms 71 % ▲ device 61 · runnable 34\n"
	  "cudaLaunchKernel 412 883 5.7k/s 4.1µs  61µs  97µs  3 %   cpu 93 · runnable 7\n"
	  "▲ waits for the CPU behind logrotate (pid 6603, root): 15.4 of 17.6 s\n"
	  "▲ waits for the CPU behind another user's process (uid 4294900000): 1.9 of 17.6…\n"
	  "▲ waits for the CPU behind its own other threads: 200 ms of 17.6 s\n"
	  "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
	  "q end  ? help  s sort (time)  f findings (0)  p pause\n" },
	{ "hog in ASCII", hog_ops, NULL, hog_behind, true, true, 2, false,
	  "ingero  node-7  14:03:21  python 4711 of root  1 min 12 s  cost 0.6 %\n"
	  "cpu ######.. 78 %   mem ###..... 41 %   load 6.1   cpu pressure 31 %\n"
	  "\n"
	  "operation          calls   rate   p50   p99   max time   blame\n"
	  "cudaStreamSync     9 829  137/s 1.2ms 142ms 143ms 71 % ! device 61 | runnable 34\n"
	  "cudaLaunchKernel 412 883 5.7k/s 4.1us  61us  97us  3 %   cpu 93 | runnable 7\n"
	  "! waits for the CPU behind logrotate (pid 6603, root): 15.4 of 17.6 s\n"
	  "! waits for the CPU behind another user's process (uid 4294900000): 1.9 of 17.6~\n"
	  "! waits for the CPU behind its own other threads: 200 ms of 17.6 s\n"
	  "every call counted | nothing lost | kept: slow calls and 1 in 64\n"
	  "q end  ? help  s sort (time)  f findings (0)  p pause\n" },
	{ "two processes", calm_ops, NULL, NULL, true, true, 2, true,
	  "ingero  node-7  14:03:21  2 processes of alice  1 min 12 s  cost 0.6 %\n"
	  "cpu ▇▇▇▇▇▇░░ 78 %   mem ▇▇▇░░░░░ 41 %   load 6.1   cpu pressure 31 %\n"
	  "\n"
	  "process   operation        calls   p50   p99 time   blame\n"
	  "python 10 cudaStreamSync   1 000 900µs 1.0ms  1 %   device 98 · cpu 2\n"
	  "worker 11 cudaFree            10 1.0µs 1.0µs <1 %   cpu 100\n"
	  "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
	  "q end  ? help  s sort (time)  f findings (0)  p pause\n" },
	{ "stuck and failing", failing_ops, stuck, NULL, true, true, 2, true,
	  "ingero  node-7  14:03:21  python 10 of root  1 min 12 s  cost 0.6 %\n"
	  "cpu ▇▇▇▇▇▇░░ 78 %   mem ▇▇▇░░░░░ 41 %   load 6.1   cpu pressure 31 %\n"
	  "\n"
	  "operation        calls failed   rate   p50   p99 time   blame\n"
	  "cudaMalloc         100     12  1.4/s 5.0µs 7.0µs <1 %   cpu 100\n"
	  "▲ in progress for 10.2 s (device 98 %): cudaStreamSync, python 10, thread 12\n"
	  "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
	  "q end  ? help  s sort (time)  f findings (0)  p pause\n" },
	{ "attaching", NULL, NULL, NULL, false, false, 0, true,
	  "ingero  node-7  14:03:21\n"
	  "cpu ▇▇▇▇▇▇░░ 78 %   mem ▇▇▇░░░░░ 41 %   load 6.1   cpu pressure 31 %\n"
	  "\n"
	  "attaching ...\n"
	  "\n"
	  "q end  ? help  s sort (time)  f findings (0)  p pause\n" },
	{ "no library", NULL, NULL, NULL, true, true, 0, true,
	  "ingero  node-7  14:03:21  1 min 12 s  cost 0.6 %\n"
	  "cpu ▇▇▇▇▇▇░░ 78 %   mem ▇▇▇░░░░░ 41 %   load 6.1   cpu pressure 31 %\n"
	  "\n"
	  "waiting for a process of alice to load a CUDA library (libcudart, libcuda,\n"
	  "libnccl); none is mapped now\n"
	  "\n"
	  "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
	  "q end  ? help  s sort (time)  f findings (0)  p pause\n" },
	{ "no call", NULL, NULL, NULL, true, true, 1, true,
	  "ingero  node-7  14:03:21  1 min 12 s  cost 0.6 %\n"
	  "cpu ▇▇▇▇▇▇░░ 78 %   mem ▇▇▇░░░░░ 41 %   load 6.1   cpu pressure 31 %\n"
	  "\n"
	  "waiting for the first CUDA call of a process of alice; 1 library is attached\n"
	  "(session)\n"
	  "\n"
	  "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
	  "q end  ? help  s sort (time)  f findings (0)  p pause\n" },
};

static void screen_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(screens); i++) {
		struct text_style style = { .is_utf8 = screens[i].is_utf8, .columns = 80, .rows = 24 };
		struct trace_setting setting = { .scope = "of alice",
						 .kept = "slow calls and 1 in 64",
						 .start = screens[i].has_start ? &start : NULL,
						 .n_libraries = screens[i].n_libraries };
		static struct figures f;
		struct trace_live live = { .page = TRACE_PAGE_TABLE };
		struct trace_screen screen = { .setting = &setting,
					       .live = &live,
					       .figures = screens[i].has_figures ? &f.summary : NULL,
					       .machine = &machine,
					       .host = "node-7",
					       .clock = "14:03:21" };
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		(void)figures_build(&f, 72 * S, screens[i].ops, screens[i].calls, screens[i].behind);
		CHECK_INT_EQ(screens[i].name, trace_screen_append(&screen, &style, &out), 0);
		CHECK_STR_EQ(screens[i].name, buf_text(&out), screens[i].want);
		trace_live_done(&live);
	}
}

/* That operations are left out to keep the budget is shown before what has less room. */
static void budget_header_test(void)
{
	static const struct {
		const char *level, *want;
		unsigned int columns;
	} rows[] = {
		{ "duty", "ingero  node-7  14:03:21  python 4711 of root  cost 0.6 % of 2.0 %, sampled\n", 80 },
		{ "all", "ingero  node-7  14:03:21  python 4711 of root  1 min 12 s  cost 0.6 % of 2.0 %\n", 80 },
		{ "duty", "ingero  node-7  14:03:21  python 4711 of root  1 min 12 s\n", 60 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct text_style style = { .is_utf8 = true, .columns = rows[i].columns, .rows = 24 };
		struct trace_setting setting = {
			.scope = "of alice", .kept = "all calls", .start = &start, .n_libraries = 2
		};
		static struct figures f;
		struct trace_live live = { .page = TRACE_PAGE_TABLE };
		struct trace_screen screen = { .setting = &setting,
					       .live = &live,
					       .figures = &f.summary,
					       .machine = &machine,
					       .host = "node-7",
					       .clock = "14:03:21" };
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		(void)figures_build(&f, 72 * S, hog_ops, NULL, NULL);
		f.cost.budget_ratio_told_case = INGERO__V1__COST__BUDGET_RATIO_TOLD_BUDGET_RATIO;
		f.cost.budget_ratio = 0.02;
		f.cost.level_told_case = INGERO__V1__COST__LEVEL_TOLD_LEVEL;
		f.cost.level = (char *)(uintptr_t)rows[i].level;
		CHECK_INT_EQ(rows[i].want, trace_screen_append(&screen, &style, &out), 0);
		CHECK(rows[i].want, strncmp(buf_text(&out), rows[i].want, strlen(rows[i].want)) == 0);
		trace_live_done(&live);
	}
}

/* The page of findings while there is none: in the words of the end of a trace. */
static void findings_page_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80, .rows = 24 };
	struct trace_setting setting = { .scope = "of alice", .kept = "slow calls and 1 in 64", .start = &start };
	static struct figures f;
	struct trace_live live = { .page = TRACE_PAGE_FINDINGS };
	struct trace_screen screen = {
		.setting = &setting, .live = &live, .figures = &f.summary, .host = "node-7", .clock = "14:03:21"
	};
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	(void)figures_build(&f, 72 * S, calm_ops, NULL, NULL);
	CHECK_INT_EQ("no finding", trace_screen_append(&screen, &style, &out), 0);
	CHECK("no finding", strstr(buf_text(&out), "\nNo finding so far.\n"));
	trace_live_done(&live);
}

static void report_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	struct trace_setting setting = { .scope = "of alice", .kept = "slow calls and 1 in 64", .start = &start };
	static struct figures f;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	CLEANUP(buf_done) struct buf cut = BUF_INIT;

	(void)figures_build(&f, 72 * S, hog_ops, NULL, hog_behind);
	delay_set(&f);
	trace_report_start(&setting, &style, &out);
	CHECK_INT_EQ("report", trace_report_summary(&setting, &f.summary, false, &style, &out), 0);
	CHECK_STR_EQ("report", buf_text(&out),
		     "watching processes of alice · back end session · Ctrl-C ends with the summary\n"
		     "  no process maps a CUDA library yet\n"
		     "python 4711 of root, watched for 1 min 12 s\n"
		     "\n"
		     "operation          calls   rate   p50   p99   max time   blame\n"
		     "cudaStreamSync     9 829  137/s 1.2ms 142ms 143ms 71 % ▲ device 61 · runnable 34\n"
		     "cudaLaunchKernel 412 883 5.7k/s 4.1µs  61µs  97µs  3 %   cpu 93 · runnable 7\n"
		     "\n"
		     "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
		     "tracing took 0.6 % of the CPU time of the most affected thread\n"
		     "\n"
		     "what it means\n"
		     "▲ cudaStreamSynchronize in python (pid 4711) lost 17.4 s, 34 % of its time,\n"
		     "  ready to run while another task had the CPU. For another 61 % the call was\n"
		     "  waiting in the GPU driver. Half of its 9 829 calls took more than 1.2 ms, one\n"
		     "  in 100 more than 142 ms.\n"
		     "  While calls of this process waited, the CPU ran logrotate (pid 6603, root) for\n"
		     "  15.4 s (88 %), another user's process (uid 4294900000) for 1.9 s (11 %), its\n"
		     "  own other threads for 200 ms (1.1 %).\n"
		     "  do: renice -n 19 -p $(ls /proc/6603/task)\n");
	CHECK_INT_EQ("cut", trace_report_summary(&setting, &f.summary, true, &style, &cut), 0);
	CHECK("cut says so", strstr(buf_text(&cut), "The daemon ended early: these are the last figures"));
}

/*
 * Libraries that were attached late: advice to let the trace start the program is for traces that did not; such a trace
 * names the libraries that were late for it, not those of an earlier one.
 */
static void late_test(void)
{
	static const struct {
		const char *name;
		bool has_program;
		uint64_t late_ns[4], before_ns[4]; /* of each library; as the start told it */
		const char *want;
	} rows[] = {
		{ "others' processes",
		  false,
		  { 16 * MS },
		  { 0 },
		  "not counted ('ingero trace -- PROGRAM' misses the fewest) · " },
		{ "its own program", true, { 16 * MS }, { 0 }, "not counted (lib0.so.3, for 16 ms) · " },
		{ "two",
		  true,
		  { 16 * MS, 0, 2 * MS },
		  { 0 },
		  "not counted (lib0.so.3, for 16 ms; lib2.so.3, for 2.0 ms) · " },
		{ "many",
		  true,
		  { 16 * MS, 1 * MS, 2 * MS, 3 * MS },
		  { 0 },
		  "not counted (lib0.so.3, for 16 ms; lib1.so.3, for 1.0 ms; lib2.so.3, for 2.0 ms; 1 more) · " },
		{ "one of an earlier trace",
		  true,
		  { 9 * S, 16 * MS },
		  { 9 * S },
		  "not counted (lib1.so.3, for 16 ms) · " },
		{ "not known", true, { 0 }, { 0 }, "not counted · " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__Library now[4], before[4], *now_list[4], *before_list[4];
		Ingero__V1__Start told = start;
		struct trace_setting setting = {
			.scope = "of alice", .kept = "all", .start = &told, .has_program = rows[i].has_program
		};
		char sonames[4][16], paths[4][16];
		Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		static struct figures f;

		(void)figures_build(&f, 72 * S, calm_ops, NULL, NULL);
		for (size_t k = 0; k < ARRAY_SIZE(now); k++) {
			(void)snprintf(sonames[k], sizeof(sonames[k]), "lib%zu.so.3", k);
			(void)snprintf(paths[k], sizeof(paths[k]), "/lib/%zu", k);
			now[k] = before[k] = (Ingero__V1__Library)INGERO__V1__LIBRARY__INIT;
			now[k].soname = before[k].soname = sonames[k];
			now[k].path = before[k].path = paths[k];
			now[k].late_ns = rows[i].late_ns[k];
			before[k].late_ns = rows[i].before_ns[k];
			now_list[k] = &now[k];
			before_list[k] = &before[k];
		}
		told.libraries = before_list;
		told.n_libraries = ARRAY_SIZE(before);
		lost.late_load = 1;
		f.summary.lost = &lost;
		f.summary.libraries = now_list;
		f.summary.n_libraries = ARRAY_SIZE(now);
		trace_report_footer(&setting, &f.summary, &out);
		CHECK(rows[i].name, strstr(buf_text(&out), rows[i].want));
	}
}

/* Calls that did not get into the file: those since the trace began, and then there is no "nothing lost". */
static void not_written_test(void)
{
	static const struct {
		const char *name;
		uint64_t before, now;
		const char *want;
	} rows[] = {
		{ "none", 0, 0, "every call counted · nothing lost · kept: all" },
		{ "of an earlier trace", 7, 7, "every call counted · nothing lost · kept: all" },
		{ "one", 0, 1,
		  "every call counted · 1 single call not written: 'ingero explain' says why · kept: all" },
		{ "some of them", 7, 1007,
		  "every call counted · 1 000 single calls not written: 'ingero explain' says why · kept: all" },
		{ "another recorder", 7, 0, "every call counted · nothing lost · kept: all" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__Store before = INGERO__V1__STORE__INIT, now = INGERO__V1__STORE__INIT;
		Ingero__V1__Start told = start;
		const struct trace_setting setting = { .scope = "of alice", .kept = "all", .start = &told };
		static char path[] = "/var/lib/x.db";
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		static struct figures f;

		(void)figures_build(&f, 72 * S, calm_ops, NULL, NULL);
		before.path = now.path = path;
		before.not_kept = rows[i].before;
		now.not_kept = rows[i].now;
		told.store = &before;
		f.summary.store = &now;
		trace_report_footer(&setting, &f.summary, &out);
		CHECK_STR_EQ(rows[i].name, buf_text(&out), rows[i].want);
		f.summary.store = NULL;
	}
}

#define WORD_COLUMNS 26u /* "      /proc/1234567/task)": a command is not cut */

/* Figures that no terminal expects: long and hostile names, all the numbers there are. */
static void sizes_test(void)
{
	static const char *const names[] = { "python", "a-very-long-process-name-that-goes-on", "\x1b]0;x\x07\n\xff",
					     "日本語日本語日本語", "" };
	static struct figures_op ops[31];
	static struct figures_in_flight calls[10];
	static struct figures_behind behind[10];
	static struct figures f;
	struct trace_setting setting = { .scope = "of \x1b[31malice",
					 .kept = "slow calls and 1 in 64",
					 .start = &start };
	struct trace_live live = { .page = TRACE_PAGE_TABLE };
	struct trace_screen screen = { .setting = &setting,
				       .live = &live,
				       .figures = &f.summary,
				       .machine = &machine,
				       .host = "a-host-with-a-long-name",
				       .clock = "14:03:21" };

	for (uint32_t i = 0; i < 30; i++) {
		ops[i] = (struct figures_op){ .pid = 4194304 - i / 7,
					      .process = names[i / 7 % 5],
					      .op = "cudaStreamSynchronizeWithAnEnd",
					      .count = UINT64_MAX >> i,
					      .errors = i,
					      .p50_ns = UINT64_MAX >> i,
					      .p99_ns = UINT64_MAX >> i,
					      .max_ns = UINT64_MAX };
		for (size_t k = 0; k < BLAME_VIEW_COUNT; k++)
			ops[i].blame_ns[k] = (UINT64_MAX >> 5) / (i + k + 1);
	}
	for (uint32_t i = 0; i < 9; i++) {
		calls[i] = (struct figures_in_flight){ .pid = 4194304,
						       .tid = 4194304,
						       .process = names[i % 5],
						       .op = "cudaMalloc",
						       .age_ns = UINT64_MAX >> i,
						       .device_ns = 1 };
		behind[i] = (struct figures_behind){ .victim_pid = 4194304 - i % 3,
						     .pid = 4194300,
						     .uid = NOBODY,
						     .comm = names[i % 5],
						     .ns = UINT64_MAX >> (i + 5) };
	}
	(void)figures_build(&f, 72 * S, ops, calls, behind);
	memset(&f.lost.ring_full, 0xff, sizeof(uint64_t));

	for (unsigned int columns = 20; columns <= 140; columns += 3) {
		for (unsigned int rows = 12; rows <= 60; rows += 12) {
			for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
				struct text_style style = { .is_utf8 = is_utf8, .columns = columns, .rows = rows };
				CLEANUP(buf_done) struct buf out = BUF_INIT;
				CLEANUP(buf_done) struct buf report = BUF_INIT;
				unsigned int n_lines = 0, n_wrong = 0;
				char name[48], *rest, *line;

				(void)snprintf(name, sizeof(name), "%ux%u %s", rows, columns,
					       is_utf8 ? "UTF-8" : "ASCII");
				CHECK_INT_EQ(name, trace_screen_append(&screen, &style, &out), 0);
				CHECK_INT_EQ(name, trace_report_summary(&setting, &f.summary, false, &style, &report),
					     0);
				(void)buf_text(&out);
				for (size_t i = 0; i < out.n; i++)
					n_wrong += (out.data[i] < 0x20 && out.data[i] != '\n') ||
						   (!is_utf8 && out.data[i] >= 0x7f);
				CHECK_INT_EQ(name, n_wrong, 0);
				rest = (char *)(uintptr_t)buf_text(&out);
				while ((line = strsep(&rest, "\n")) && (*line || rest)) {
					CHECK_INT_IN(name, text_columns(line), 0, columns);
					n_lines++;
				}
				if (columns >= 80 && rows >= 24)
					CHECK_INT_IN(name, n_lines, 4, rows);
				rest = (char *)(uintptr_t)buf_text(&report);
				while ((line = strsep(&rest, "\n")))
					CHECK_INT_IN(name, text_columns(line), 0, MAX(columns, WORD_COLUMNS));
			}
		}
	}
	trace_live_done(&live);
}

/* Where a service has everybody's libraries attached, those that are not traced go first and the rest is counted. */
static void start_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	static char name[] = "libcuda.so.1", traced[] = "", untraced[] = "it is no ELF file";
	static Ingero__V1__Library libraries[9], *list[ARRAY_SIZE(libraries)];
	Ingero__V1__Start many = start;
	struct trace_setting setting = { .scope = "of alice", .start = &many };

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		libraries[i] = (Ingero__V1__Library)INGERO__V1__LIBRARY__INIT;
		libraries[i].soname = name;
		libraries[i].reason = i + 1 == ARRAY_SIZE(libraries) ? untraced : traced;
		list[i] = &libraries[i];
	}
	many.libraries = list;
	for (size_t n = 0; n <= ARRAY_SIZE(libraries); n++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		size_t lines = 0;
		char more[64];

		many.n_libraries = n;
		trace_report_start(&setting, &style, &out);
		for (const char *p = buf_text(&out); *p; p++)
			lines += *p == '\n';
		CHECK_INT_IN("lines", lines, 1, 9);
		(void)snprintf(more, sizeof(more), "and %zu more %s;", n > 6 ? n - 6 : 0,
			       n == 7 ? "library" : "libraries");
		CHECK(more, !strstr(buf_text(&out), more) == (n <= 6));
		CHECK("untraced", !strstr(buf_text(&out), untraced) == (n < ARRAY_SIZE(libraries)));
	}
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		CHECK_SKIP("no locale C.UTF-8");

	meaning_test();
	advice_test();
	for (size_t i = 0; i < ARRAY_SIZE(of_ops); i++)
		op_findings_test(i);
	screen_test();
	budget_header_test();
	findings_page_test();
	late_test();
	not_written_test();
	report_test();
	start_test();
	sizes_test();
	return check_result();
}
