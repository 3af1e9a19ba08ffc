// SPDX-License-Identifier: Apache-2.0
/*
 * What explain shows, to the character: a finding, all of one, a call, and the honest
 * sentence where there is nothing. Then on terminals of every size: never wider, and
 * never taller than its first finding and a line for each other.
 */
#include "libingero/answers/explain/report.h"
#include "libingero/answers/explain/finding.h"

#include <locale.h>
#include <time.h>

#include "replies.h"
#include "tests/support/check.h"

static const struct text_style plain = { .is_utf8 = true, .columns = 80 };
static const struct explain_question usual = {
	.now_unix_ns = AT(300), .from_unix_ns = AT(0), .to_unix_ns = AT(300), .whose = "of root"
};
static const struct explain_question one = { .now_unix_ns = AT(300), .whose = "of root", .is_one = true };

static struct reply reply; /* too large for a stack */

static const char *report(const struct explain_question *q, const struct text_style *style)
{
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("report", explain_report_append(q, &reply.reply, style, &out), 0);
	return buf_text(&out);
}

/* ---- one kind of answer each ---- */

static void hog(void)
{
	(void)reply_hog(&reply);
}

/* Files that name their machine, of one of them. */
static void files_of(const char *node, const char *other)
{
	static Ingero__V1__Session session;
	Ingero__V1__Finding *f;

	(void)reply_calm(&reply);
	f = reply_finding(&reply, "node-7:0123456789abcdef", "memcpy_share", "LOW", "most time went into copies");
	f->end_unix_ns = AT(200);
	f->node_told_case = INGERO__V1__FINDING__NODE_TOLD_NODE;
	f->node = figures_text(node);
	session = reply.session;
	session.node = figures_text(other);
	reply.session.node = figures_text(node);
	reply.session_list[1] = &session;
	reply.reply.n_sessions = 2;
}

static void two_of_one_machine(void)
{
	files_of("node-7.example.org", "node-7.example.org");
}

static void two_machines(void)
{
	files_of("node-7.example.org", "node-8.example.org");
}

static void two_of_one_calm(void)
{
	two_of_one_machine();
	reply.reply.n_findings = 0;
}

static void quota(void)
{
	uint64_t ns[BLAME_VIEW_COUNT] = { [BLAME_VIEW_QUOTA] = 9 * S, [BLAME_VIEW_ON_CPU] = 6 * S };
	Ingero__V1__Finding *f;

	(void)reply_calm(&reply);
	f = reply_finding(&reply, "0123456789abcdef", "cpu_quota", "CRITICAL", "its CPU quota stopped the process");
	f->op = figures_text("cudaLaunchKernel");
	f->calls = 1;
	f->lost_ns = 90 * S;
	f->present_ns = 10 * S;
	f->end_unix_ns = AT(200);
	f->recurrence = 2;
	f->confidence = 0.8;
	f->blame_ns = figures_blame(&reply.blame[0], ns);
	reply_cause(&reply, f, "cpu_quota", 0, "", 1);
	reply.lost.ring_full = 12;
}

/* The cause is another user's; its class is not the largest, and yet comes first. */
static void unnamed(void)
{
	uint64_t ns[BLAME_VIEW_COUNT] = { [BLAME_VIEW_DEVICE] = 40 * S,
					  [BLAME_VIEW_RUNNABLE] = 10 * S,
					  [BLAME_VIEW_LOCK] = 2 * S,
					  [BLAME_VIEW_MEMORY] = 1 * S,
					  [BLAME_VIEW_ON_CPU] = 3 * S };
	Ingero__V1__Finding *f;

	(void)reply_calm(&reply);
	f = reply_finding(&reply, "0123456789abcdef", "cpu_contention", "MEDIUM", "cudaMemcpy waited for the CPU");
	f->end_unix_ns = AT(200);
	f->blame_ns = figures_blame(&reply.blame[0], ns);
	reply_cause(&reply, f, "cpu_contention", 0, "", 0.5);
	reply.cause[0].uid = 4294900000u;
}

/* The same, of several that are all known. */
static void several(void)
{
	unnamed();
	reply.cause[0].pid = 10;
	reply.cause[0].comm = figures_text("ffmpeg");
	reply.cause[0].uid = 0;
	reply.cause[0].share = 0.4;
	reply.cause[0].processes = 4;
	reply_other(&reply, 4711, 0, "python", 0.3);
	reply_other(&reply, 0, 4294900000u, "", 0.2);
}

/* The largest and another one are the same user's, whom the reader may not know. */
static void several_unnamed(void)
{
	several();
	reply.cause[0].pid = 0;
	reply.cause[0].comm = figures_text("");
	reply.cause[0].uid = 4294900000u;
}

/* One had most of it, and the reader may not know which: how many others there were makes it no group. */
static void unnamed_of_more(void)
{
	unnamed();
	reply.cause[0].processes = 3;
}

/* Little of it each, and no room for more than the largest. */
static void many(void)
{
	unnamed();
	reply.cause[0].pid = 10;
	reply.cause[0].comm = figures_text("a");
	reply.cause[0].uid = 0;
	reply.cause[0].share = 0.04;
	reply.cause[0].processes = 1;
}

/* Nothing of CPUs: a cause of its own line; somebody stopped recording before it ended. */
static void other_cause(void)
{
	Ingero__V1__Finding *f;

	(void)reply_calm(&reply);
	f = reply_finding(&reply, "0123456789abcdef", "memcpy_share", "LOW", "most time went into copies");
	reply_cause(&reply, f, "memcpy_share", 12, "loader", 0.4);
	reply.cause[0].words = figures_text("through");
	reply.reply.is_recording = 0;
}

static void calm(void)
{
	(void)reply_calm(&reply);
}

static void idle(void)
{
	(void)reply_calm(&reply);
	reply.window.calls = reply.window.processes = 0;
}

/* Recorded for a part of the time asked for; in two parts, of which the later is first; until it broke off. */
static void idle_short(void)
{
	idle();
	reply.session.start_unix_ns = AT(100);
	reply.session.end_unix_ns = AT(109);
	reply.reply.is_recording = 0;
}

static void idle_in_parts(void)
{
	static Ingero__V1__Session session;

	idle_short();
	session = reply.session;
	session.start_unix_ns = AT(0) - 5 * S;
	session.end_unix_ns = AT(3);
	reply.session_list[1] = &session;
	reply.reply.n_sessions = 2;
}

static void idle_broken(void)
{
	idle_short();
	reply.session.end_unix_ns = 0;
}

static void demo(void)
{
	(void)reply_calm(&reply);
	reply.session.back_end = figures_text("demo");
	reply.window.calls = reply.window.processes = 1;
}

static void nothing(void)
{
	(void)reply_calm(&reply);
	reply.window = (Ingero__V1__Window)INGERO__V1__WINDOW__INIT;
	reply.reply.n_sessions = 0;
}

static void holes(void)
{
	(void)reply_calm(&reply);
	reply.lost.cells = 3;
	reply_gap(&reply, 10, 20, "disk_full", 77);
	reply_gap(&reply, 30, 40, "ring_full", 1234);
	reply_gap(&reply, 50, 60, "a_later_reason", 0);
	reply_gap(&reply, 70, 80, "retention", 0);
}

static void holes_of_file(void)
{
	(void)reply_calm(&reply);
	reply_gap(&reply, 10, 20, "store_queue", 77);
}

static void holes_before(void)
{
	(void)reply_calm(&reply);
	reply_gap(&reply, 10, 20, "late_load", 1);
}

static void unknown_losses(void)
{
	(void)reply_calm(&reply);
	reply.reply.lost = NULL;
}

static Ingero__V1__Event call;

/* Recorded by Ingero itself: what its file does not say is not claimed. */
static void foreign_chain(void)
{
	Ingero__V1__Finding *f;

	(void)reply_calm(&reply);
	f = reply_finding(&reply, "0123456789abcdef", "tail_latency", "HIGH", "cuMemAlloc p99=1ms (5.6x p50)");
	f->pid = 0;
	f->process_name = figures_text("");
	f->uid = UINT32_MAX;
	f->confidence = 0.2;
	f->end_unix_ns = AT(200);
	reply.session.back_end = figures_text("import");
	reply.reply.lost = NULL;
}

static void foreign_calm(void)
{
	(void)reply_calm(&reply);
	reply.session.back_end = figures_text("import");
	reply.reply.lost = NULL;
}

static void one_call(void)
{
	static uint64_t args[] = { 140000, 4096, 1 };
	static char *reasons[2];
	uint64_t ns[BLAME_VIEW_COUNT] = {
		[BLAME_VIEW_ON_CPU] = 14000123, [BLAME_VIEW_RUNNABLE] = 97000456, [BLAME_VIEW_DEVICE] = 31000789
	};

	(void)reply_calm(&reply);
	call = (Ingero__V1__Event)INGERO__V1__EVENT__INIT;
	call.timestamp_unix_ns = AT(172) + 123456789;
	call.pid = 4711;
	call.tid = 4712;
	call.process_name = figures_text("python");
	call.source = figures_text("cuda");
	call.op = figures_text("cudaMemcpy");
	call.duration_raw_ns = 14000123 + 97000456 + 31000789 + 5;
	call.duration_ns = call.duration_raw_ns - 1200;
	call.blame_ns = figures_blame(&reply.blame[0], ns);
	call.args = args;
	call.n_args = 3;
	reasons[0] = figures_text("slow");
	reasons[1] = figures_text("sync");
	call.reasons = reasons;
	call.n_reasons = 2;
	call.ret_code = 700;
	call.depth = 1;
	reply.reply.call = &call;
}

static void with_stack(void)
{
	static Ingero__V1__StackFrame frames[2], *list[] = { &frames[0], &frames[1] };
	static Ingero__V1__Stack stack;

	one_call();
	frames[0] = frames[1] = (Ingero__V1__StackFrame)INGERO__V1__STACK_FRAME__INIT;
	frames[0].symbol = figures_text("cudaMemcpy");
	frames[0].module = figures_text("/usr/lib/libcudart.so.12");
	frames[1].is_python = 1;
	frames[1].file = figures_text("/data/alice/train.py");
	frames[1].symbol = figures_text("forward");
	frames[1].line = 142;
	stack = (Ingero__V1__Stack)INGERO__V1__STACK__INIT;
	stack.frames = list;
	stack.n_frames = ARRAY_SIZE(list);
	stack.why = figures_text("more frames than there is room for");
	call.stack = &stack;
}

/* One finding with its line, and of its examples the first that has a stack. */
static void with_line(void)
{
	static Ingero__V1__Site site = INGERO__V1__SITE__INIT;
	static Ingero__V1__Event none, *list[] = { &none, &call };

	with_stack();
	(void)reply_hog(&reply);
	site.file = figures_text("/data/alice/train.py");
	site.func = figures_text("forward");
	site.line = 142;
	reply.finding[0].from = &site;
	none = (Ingero__V1__Event)INGERO__V1__EVENT__INIT;
	call.id = figures_text("1.7301223498.4712");
	reply.reply.examples = list;
	reply.reply.n_examples = ARRAY_SIZE(list);
}

static void foreign_call(void)
{
	one_call();
	call.blame_ns = NULL;
	call.duration_raw_ns = call.duration_ns;
	call.n_args = call.n_reasons = 0;
	call.ret_code = 0;
	call.depth = 0;
}

/* Beside one that made calls. */
static Ingero__V1__Operation other = { .base = PROTOBUF_C_MESSAGE_INIT(&ingero__v1__operation__descriptor),
				       .pid = 4711,
				       .process_name = (char *)(uintptr_t) "python3",
				       .source = (char *)(uintptr_t) "cuda",
				       .op = (char *)(uintptr_t) "cudaMalloc",
				       .count = 1 };
static Ingero__V1__Operation *others[] = { &other };
static const Ingero__V1__ExplainReply whole = { .base = PROTOBUF_C_MESSAGE_INIT(&ingero__v1__explain_reply__descriptor),
						.n_operations = 1,
						.operations = others };
static const struct explain_question of_pid = {
	.now_unix_ns = AT(300), .from_unix_ns = AT(0), .to_unix_ns = AT(300), .whose = "of pid 4720", .whole = &whole
};
static const struct explain_question empty_old = { .now_unix_ns = AT(300),
						   .from_unix_ns = AT(200),
						   .to_unix_ns = AT(250),
						   .whose = "of root",
						   .kept_from_unix_ns = AT(0) - 86400 * S,
						   .kept_to_unix_ns = AT(100) };

static const struct {
	const char *name;
	void (*make)(void);
	const struct explain_question *question;
	const char *want;
} cases[] = {
	{ "a hog", hog, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 HIGH\n"
	  "at its worst: cpu 78 % · mem 41 % · load 6.1 · cpu pressure 31 %\n"
	  "\n"
	  "1 HIGH  cudaStreamSynchronize waited for the CPU                 14:02:51 to now\n"
	  "  who      python (pid 4711, root): 213 slow of 9 829 calls, p99 142 ms, usually\n"
	  "           1.2 ms\n"
	  "  lost     18.4 s of the 1 min 0 s in which it was seen\n"
	  "  where      18.4s  runnable ▇▇▇▇▇▇▇▇▇▇  88 % behind logrotate (pid 6603, root)\n"
	  "              6.6s  device   ▇▇▇▇\n"
	  "              2.5s  cpu      ▇\n"
	  "  do       renice -n 19 -p $(ls /proc/6603/task)\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain 8f3a2c\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "all of it", hog, &one,
	  "HIGH  cudaStreamSynchronize waited for the CPU                   14:02:51 to now\n"
	  "  who      python (pid 4711, root): 213 slow of 9 829 calls, p99 142 ms, usually\n"
	  "           1.2 ms\n"
	  "  lost     18.4 s of the 1 min 0 s in which it was seen\n"
	  "  where      18.4s  runnable ▇▇▇▇▇▇▇▇▇▇  88 % behind logrotate (pid 6603, root)\n"
	  "              6.6s  device   ▇▇▇▇\n"
	  "              2.5s  cpu      ▇\n"
	  "  do       renice -n 19 -p $(ls /proc/6603/task)\n"
	  "           or move it: taskset -acp CPUS 6603, with CPUS of those that 'taskset\n"
	  "           -cp 6603' shows\n"
	  "  facts    runnable_ns                  18.4 s\n"
	  "           runnable_ratio               67 %\n"
	  "  calls      143ms  1.7301223498.4712  14:02:52\n"
	  "              90ms  not recorded  14:02:53\n"
	  "           ingero explain ID shows one\n"
	  "  proof    measured on every call, nothing lost\n"
	  "  id       8f3a2c0000000001 (cpu_contention)\n" },
	{ "all of it, with its line and a stack", with_line, &one,
	  "HIGH  cudaStreamSynchronize waited for the CPU                   14:02:51 to now\n"
	  "  who      python (pid 4711, root): 213 slow of 9 829 calls, p99 142 ms, usually\n"
	  "           1.2 ms\n"
	  "  from     train.py:142 in forward\n"
	  "  lost     18.4 s of the 1 min 0 s in which it was seen\n"
	  "  where      18.4s  runnable ▇▇▇▇▇▇▇▇▇▇  88 % behind logrotate (pid 6603, root)\n"
	  "              6.6s  device   ▇▇▇▇\n"
	  "              2.5s  cpu      ▇\n"
	  "  do       renice -n 19 -p $(ls /proc/6603/task)\n"
	  "           or move it: taskset -acp CPUS 6603, with CPUS of those that 'taskset\n"
	  "           -cp 6603' shows\n"
	  "  facts    runnable_ns                  18.4 s\n"
	  "           runnable_ratio               67 %\n"
	  "  calls      143ms  1.7301223498.4712  14:02:52\n"
	  "              90ms  not recorded  14:02:53\n"
	  "           ingero explain ID shows one\n"
	  "  proof    measured on every call, nothing lost\n"
	  "  id       8f3a2c0000000001 (cpu_contention)\n"
	  "  example  1.7301223498.4712, 142 ms\n"
	  "  stack    [Native] cudaMemcpy (libcudart.so.12)\n"
	  "           [Python] /data/alice/train.py:142 in forward()\n"
	  "           not complete: more frames than there is room for\n" },
	{ "a quota, several threads, losses", quota, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 CRITICAL\n"
	  "\n"
	  "1 CRITICAL  its CPU quota stopped the process               14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711, root): 1 call of cudaLaunchKernel\n"
	  "  lost     1 min 30 s of several threads in the 10.0 s in which it was seen ·\n"
	  "           came back 2 times\n"
	  "  where       9.0s  quota    ▇▇▇▇▇▇▇▇▇▇  100 % out of its CPU quota\n"
	  "              6.0s  cpu      ▇▇▇▇▇▇▇\n"
	  "  proof    confidence 80 %; something was lost meanwhile: see the end · more:\n"
	  "           ingero explain 012345\n"
	  "\n"
	  "every call counted · 12 single calls not kept (ring full: try a larger\n"
	  "'--ringbuf-size')\n" },
	{ "two files of one machine", two_of_one_machine, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 LOW\n"
	  "\n"
	  "1 LOW  most time went into copies                           14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711 on node-7.example.org, root)\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain\n"
	  "           node-7:012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "two machines", two_machines, &usual,
	  "several machines · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 LOW\n"
	  "\n"
	  "1 LOW  most time went into copies                           14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711 on node-7.example.org, root)\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain\n"
	  "           node-7:012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "no problem in two files of one machine", two_of_one_calm, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
	  "\n"
	  "No problem found: no process of root had significant delays, recorded by\n"
	  "ingero-collectord 0.1.0 (session) in 2 runs\n" },
	{ "behind somebody who is not named", unnamed, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 MEDIUM\n"
	  "\n"
	  "1 MEDIUM  cudaMemcpy waited for the CPU                     14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711, root)\n"
	  "  where      10.0s  runnable ▇▇▇\n"
	  "                    50 % behind another user's process (uid 4294900000)\n"
	  "             40.0s  device   ▇▇▇▇▇▇▇▇▇▇\n"
	  "              3.0s  cpu      ▇\n"
	  "              3.0s  the rest ▇\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain 012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "behind one of more who is not named", unnamed_of_more, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 MEDIUM\n"
	  "\n"
	  "1 MEDIUM  cudaMemcpy waited for the CPU                     14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711, root)\n"
	  "  where      10.0s  runnable ▇▇▇\n"
	  "                    50 % behind another user's process (uid 4294900000)\n"
	  "             40.0s  device   ▇▇▇▇▇▇▇▇▇▇\n"
	  "              3.0s  cpu      ▇\n"
	  "              3.0s  the rest ▇\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain 012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "behind many", many, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 MEDIUM\n"
	  "\n"
	  "1 MEDIUM  cudaMemcpy waited for the CPU                     14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711, root)\n"
	  "  where      10.0s  runnable ▇▇▇         4 % behind a (pid 10, root)\n"
	  "             40.0s  device   ▇▇▇▇▇▇▇▇▇▇\n"
	  "              3.0s  cpu      ▇\n"
	  "              3.0s  the rest ▇\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain 012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "behind several", several, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 MEDIUM\n"
	  "\n"
	  "1 MEDIUM  cudaMemcpy waited for the CPU                     14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711, root)\n"
	  "  where      10.0s  runnable ▇▇▇\n"
	  "                    40 % behind ffmpeg (pid 10, root), 30 % its own other\n"
	  "                    threads, 20 % another user's process (uid 4294900000) and 1\n"
	  "                    more\n"
	  "             40.0s  device   ▇▇▇▇▇▇▇▇▇▇\n"
	  "              3.0s  cpu      ▇\n"
	  "              3.0s  the rest ▇\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain 012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "behind several of a user whose processes are not named", several_unnamed, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 MEDIUM\n"
	  "\n"
	  "1 MEDIUM  cudaMemcpy waited for the CPU                     14:02:51 to 14:03:20\n"
	  "  who      python (pid 4711, root)\n"
	  "  where      10.0s  runnable ▇▇▇\n"
	  "                    60 % behind 2 processes (uid 4294900000), 30 % its own other\n"
	  "                    threads and 1 more\n"
	  "             40.0s  device   ▇▇▇▇▇▇▇▇▇▇\n"
	  "              3.0s  cpu      ▇\n"
	  "              3.0s  the rest ▇\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain 012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "a chain without a process", foreign_chain, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 HIGH\n"
	  "\n"
	  "1 HIGH  cuMemAlloc p99=1ms (5.6x p50)                       14:02:51 to 14:03:20\n"
	  "  who      not recorded\n"
	  "  proof    confidence 20 % · more: ingero explain 012345\n"
	  "\n"
	  "the recording has no data on losses; calls may be missing\n" },
	{ "nothing in a file of Ingero's", foreign_calm, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
	  "\n"
	  "No problem found: no process of root had significant delays, recorded by Ingero\n"
	  "the recording has no data on losses; calls may be missing\n" },
	{ "another cause, end unseen", other_cause, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 LOW\n"
	  "\n"
	  "1 LOW  most time went into copies                                 since 14:02:51\n"
	  "  who      python (pid 4711, root)\n"
	  "  cause    40 % through loader (pid 12, root)\n"
	  "  proof    measured on every call, nothing lost · more: ingero explain 012345\n"
	  "\n"
	  "every call counted · nothing lost\n" },
	{ "no problem", calm, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
	  "\n"
	  "No problem found: no process of root had significant delays, recorded by\n"
	  "ingero-collectord 0.1.0 (session)\n" },
	{ "no calls", idle, &usual,
	  "No CUDA calls: no process of root made one from 14:00:00 to 14:05:00 (5 min\n"
	  "0 s), recorded by ingero-collectord 0.1.0 (session)\n" },
	{ "no calls in a short recording", idle_short, &usual,
	  "No CUDA calls: no process of root made one from 14:01:40 to 14:01:49 (9.0 s, all\n"
	  "that was recorded), recorded by ingero-collectord 0.1.0 (session)\n" },
	{ "no calls in two", idle_in_parts, &usual,
	  "No CUDA calls: no process of root made one from 14:00:00 to 14:01:49 (12.0 s of\n"
	  "it recorded), recorded by ingero-collectord 0.1.0 (session) in 2 runs\n" },
	{ "no calls until it broke off", idle_broken, &usual,
	  "No CUDA calls: no process of root made one from 14:01:40 to 14:05:00 (3 min\n"
	  "20 s, all that was recorded), recorded by ingero-collectord 0.1.0 (session)\n" },
	{ "no calls of these", idle, &of_pid,
	  "No CUDA calls: no process of pid 4720 made one from 14:00:00 to 14:05:00 (5 min\n"
	  "0 s), recorded by ingero-collectord 0.1.0 (session)\n"
	  "Processes that made calls: python3 (pid 4711)\n" },
	{ "a demo", demo, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 1 call of 1 process\n"
	  "\n"
	  "No problem found: no process of root had significant delays, made up by a demo\n" },
	{ "nothing at all", nothing, &usual, "No recording of any process of root yet; 'sudo ingero trace' records\n" },
	{ "nothing at that time", nothing, &empty_old,
	  "nothing was recorded from 14:03:20 to 14:04:10; the recording goes from\n"
	  "2026-01-30 14:00:00 to 2026-01-31 14:01:40: ask with --from '2026-01-30\n"
	  "14:00:00'\n" },
	{ "holes", holes, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
	  "\n"
	  "No problem found: no process of root had significant delays, recorded by\n"
	  "ingero-collectord 0.1.0 (session)\n"
	  "3 calls counted without their operation\n"
	  "▲ 14:00:10 to 14:00:20: the disk was full, 77 missing\n"
	  "▲ 14:00:30 to 14:00:40: 1 234 single calls not kept (ring full: try a larger\n"
	  "  '--ringbuf-size')\n"
	  "▲ 14:00:50 to 14:01:00: a_later_reason\n"
	  "  and 1 more gap; '--json' lists them\n" },
	{ "holes of the file alone", holes_of_file, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
	  "\n"
	  "No problem found: no process of root had significant delays, recorded by\n"
	  "ingero-collectord 0.1.0 (session)\n"
	  "every call counted\n"
	  "▲ 14:00:10 to 14:00:20: calls were dropped on the way to the file (queue full),\n"
	  "  77 missing\n" },
	{ "a library in use before", holes_before, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
	  "\n"
	  "No problem found: no process of root had significant delays, recorded by\n"
	  "ingero-collectord 0.1.0 (session)\n"
	  "every call counted · nothing lost\n"
	  "▲ 14:00:10 to 14:00:20: 1 library was already in use; calls before the attach\n"
	  "  were not counted ('ingero trace -- PROGRAM' misses the fewest)\n" },
	{ "losses unknown", unknown_losses, &usual,
	  "node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
	  "\n"
	  "No problem found: no process of root had significant delays, recorded by\n"
	  "ingero-collectord 0.1.0 (session)\n"
	  "the recording has no data on losses; calls may be missing\n" },
	{ "one call adds up", one_call, &one,
	  "cudaMemcpy took 142 ms\n"
	  "  when     2026-01-31 14:02:52.123456 +01:00\n"
	  "  who      python (pid 4711, thread 4712, root)\n"
	  "  where         97 000 456 ns  runnable     ▇▇▇▇▇▇▇▇▇▇\n"
	  "                31 000 789 ns  device       ▇▇▇\n"
	  "                14 000 123 ns  cpu          ▇\n"
	  "                         5 ns  not measured ▇\n"
	  "  in all       142 001 373 ns\n"
	  "  tracing            1 200 ns  the tracer's own share\n"
	  "  without      142 000 173 ns  the program's own time\n"
	  "  args     140000, 4096, 1\n"
	  "  returned 700, cudaErrorIllegalAddress: it failed\n"
	  "  reason   slow, sync\n"
	  "  inside   1 other traced call\n" },
	{ "one call with its stack", with_stack, &one,
	  "cudaMemcpy took 142 ms\n"
	  "  when     2026-01-31 14:02:52.123456 +01:00\n"
	  "  who      python (pid 4711, thread 4712, root)\n"
	  "  from     train.py:142 in forward\n"
	  "  where         97 000 456 ns  runnable     ▇▇▇▇▇▇▇▇▇▇\n"
	  "                31 000 789 ns  device       ▇▇▇\n"
	  "                14 000 123 ns  cpu          ▇\n"
	  "                         5 ns  not measured ▇\n"
	  "  in all       142 001 373 ns\n"
	  "  tracing            1 200 ns  the tracer's own share\n"
	  "  without      142 000 173 ns  the program's own time\n"
	  "  args     140000, 4096, 1\n"
	  "  returned 700, cudaErrorIllegalAddress: it failed\n"
	  "  reason   slow, sync\n"
	  "  inside   1 other traced call\n"
	  "  stack    [Native] cudaMemcpy (libcudart.so.12)\n"
	  "           [Python] /data/alice/train.py:142 in forward()\n"
	  "           not complete: more frames than there is room for\n" },
	{ "a call without blame", foreign_call, &one,
	  "cudaMemcpy took 142 ms\n"
	  "  when     2026-01-31 14:02:52.123456 +01:00\n"
	  "  who      python (pid 4711, thread 4712, root)\n"
	  "  where    not measured: the recording carries no blame\n"
	  "  in all       142 000 173 ns\n"
	  "  returned 0\n" },
};

static void text_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cases[i].make();
		CHECK_STR_EQ(cases[i].name, report(cases[i].question, &plain), cases[i].want);
	}
}

static void colour_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80, .has_color = true };

	other_cause();
	CHECK_STR_EQ("colour", report(&usual, &style),
		     "\x1b[1mnode-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes · 1 LOW\n\x1b[0m"
		     "\n"
		     "\x1b[1m1 \x1b[0m\x1b[1mLOW\x1b[0m  \x1b[1mmost time went into copies\x1b[0m"
		     "                                 since 14:02:51\n"
		     "  who      python (pid 4711, root)\n"
		     "  cause    40 % through loader (pid 12, root)\n"
		     "  proof    measured on every call, nothing lost · more: ingero explain 012345\n"
		     "\n"
		     "every call counted · nothing lost\n");
	hog();
	CHECK("the cause is loud", strstr(report(&usual, &style), "\x1b[1;31m  where      18.4s  runnable"));
	CHECK("the rest is not", strstr(report(&usual, &style), "\n              6.6s  device"));
}

/* As many findings as fit, the others as lines; ids as long as they must be. */
static void many_make(size_t n)
{
	static char ids[REPLY_MAX][17];

	(void)reply_hog(&reply);
	for (size_t i = 1; i < n; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "8f3a2c00000%05zx", i + 0x10);
		reply_finding(&reply, ids[i], "cpu_contention", "MEDIUM", "cudaMalloc waited for the CPU")->lost_ns =
			2 * S;
	}
	reply.reply.more_findings = 4;
}

static unsigned int lines_of(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* A command is whole, or has FILE for names that are too long. */
static const struct {
	const char *db, *want;
} commands[] = {
	{ NULL, "ingero explain" },
	{ "x.db", "ingero explain --db x.db" },
	{ "x y.db\nz.db", "ingero explain --db 'x y.db' --db z.db" },
	{ "a.db\nb.db\nc.db\nd.db\ne.db\nf.db\ng.db\nh.db\ni.db\nj.db\nk.db\nl.db\nm.db\nn.db\no.db",
	  "ingero explain --db FILE --db FILE" },
	{ "/a/name/that/is/longer/than/there/is/room/for/in/a/line/of/a/screen/with/80/columns.db",
	  "ingero explain --db FILE" },
};

static void command_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		CHECK_STR_EQ("command", explain_command(commands[i].db).text, commands[i].want);
}

static void screen_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80, .rows = 24 };
	struct explain_question list = usual;
	const char *text;

	many_make(5);
	text = report(&usual, &style);
	CHECK("ids are told apart", strstr(text, "explain\n           8f3a2c0000000001\n"));
	CHECK("lines for the rest", strstr(text, "\n4 more; 'ingero explain ID' shows one\n"));
	list.db = "/srv/training/tomorrow.db\n/srv/training/monday.db";
	list.is_list = false;
	CHECK("of two files: the command is told whole",
	      strstr(report(&list, &style), "\n4 more; 'ingero explain --db /srv/training/tomorrow.db --db\n"
					    "/srv/training/monday.db ID' shows one\n"));
	list = usual;
	text = report(&usual, &style);
	CHECK("beyond the list", strstr(text, "\nand 4 more, not listed"));
	CHECK_INT_IN("fits", lines_of(text), 1, 24);
	list.is_list = true;
	text = report(&list, &style);
	CHECK("a line each",
	      !strstr(text, "proof") &&
		      strstr(text, "\n8f3a2c0000000001  HIGH       18.4s  14:02:51  python 4711  cudaStreamSync"));
	style.columns = 120;
	text = report(&list, &style);
	CHECK("with its end where there is room",
	      strstr(text,
		     "\n8f3a2c0000000001  HIGH       18.4s  14:02:51 to now       python 4711  cudaStreamSynchronize "
		     "waited for the CPU\n"));
	style = (struct text_style){ .is_utf8 = true, .columns = 80 };
	text = report(&list, &style);
	CHECK("nothing is cut where nobody looks",
	      strstr(text, "14:02:51 to now       python 4711  cudaStreamSynchronize waited for the CPU\n"));

	many_make(REPLY_MAX - 1);
	style.rows = 20;
	text = report(&usual, &style);
	CHECK("no more lines than the screen has room for", strstr(text, "; '--chains' lists all\n"));
	CHECK("all of them where they were asked for", !strstr(report(&list, &style), "'--chains' lists all"));

	for (unsigned int columns = 1; columns <= 200; columns += columns < 90 ? 1 : 37) {
		for (unsigned int rows = 0; rows < 60; rows += 7) {
			struct text_style any = { .is_utf8 = columns % 2, .columns = columns, .rows = rows };

			many_make(REPLY_MAX - 1);
			text = report(&usual, &any);
			/* Below 40 columns a paragraph goes on at its least width. */
			for (const char *line = text; columns >= 40 && *line; line += strcspn(line, "\n") + 1) {
				char copy[1024];

				(void)snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
				CHECK_INT_IN(copy, text_columns(copy), 0, columns);
			}
			if (columns >= 80 && rows >= 40)
				CHECK_INT_IN("rows", lines_of(text), 1, rows);
		}
	}
}

static void table_test(void)
{
	static Ingero__V1__Operation op = INGERO__V1__OPERATION__INIT, *list[] = { &op };
	struct explain_question q = usual;

	(void)reply_calm(&reply);
	op.pid = 4711;
	op.process_name = figures_text("python");
	op.op = figures_text("cudaMalloc");
	op.count = 600;
	op.total_ns = 30 * S;
	reply.reply.operations = list;
	reply.reply.n_operations = 1;
	q.is_per_process = true;
	CHECK("table", strstr(report(&q, &plain), "\n\npython 4711 of root\noperation "));
	CHECK("rate over the window", strstr(report(&q, &plain), "2/s"));
	CHECK("all are listed", !strstr(report(&q, &plain), "not listed"));
	reply.reply.more_operations = 7;
	CHECK("the rest",
	      strstr(report(&q, &plain), "\nand 7 more operations, not listed: --pid shows those of a process\n"));
	q.is_per_process = false;
	CHECK("no table unless asked for", !strstr(report(&q, &plain), "operation  "));
}

/* What main threads wait for between calls: a line each, and findings stay on the screen. */
static void waits_make(size_t n)
{
	static Ingero__V1__Wait waits[REPLY_MAX], *list[REPLY_MAX];
	static Ingero__V1__Operation ops[REPLY_MAX];
	static Ingero__V1__Blame blames[REPLY_MAX];
	static const uint64_t ns[BLAME_VIEW_COUNT] = { [BLAME_VIEW_SLEEP] = 28 * S, [BLAME_VIEW_LOCK] = 1 * S };

	for (size_t i = 0; i < n; i++) {
		waits[i] = (Ingero__V1__Wait)INGERO__V1__WAIT__INIT;
		ops[i] = (Ingero__V1__Operation)INGERO__V1__OPERATION__INIT;
		ops[i].pid = (uint32_t)(4711 + i);
		ops[i].process_name = figures_text("python3");
		ops[i].op = figures_text("wait_main");
		ops[i].source = figures_text("host");
		ops[i].count = i ? 1204 : 1;
		ops[i].total_ns = 29 * S;
		ops[i].p50_ns = 95 * MS;
		ops[i].blame_ns = figures_blame(&blames[i], ns);
		waits[i].operation = &ops[i];
		waits[i].span_ns = 30 * S;
		list[i] = &waits[i];
	}
	reply.reply.waits = list;
	reply.reply.n_waits = n;
}

static void waits_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80, .rows = 24 };
	const char *text;

	(void)reply_calm(&reply);
	waits_make(2);
	CHECK_STR_EQ("a line each", strstr(report(&usual, &plain), "\n\nmain thread"),
		     "\n\nmain thread, between calls   waited  of the time  mostly  times  median\n"
		     "python3 4711                  29.0s         97 %  sleep       1\n"
		     "python3 4712                  29.0s         97 %  sleep   1 204    95ms\n"
		     "if a main thread feeds the GPU, it is the bottleneck, not CUDA\n");
	reply.reply.waits[1]->operation->p50_ns = 0;
	CHECK("a median that is not known is not told", strstr(report(&usual, &plain), "sleep   1 204\nif"));
	for (size_t n = 1; n < REPLY_MAX; n++) {
		for (size_t findings = 1; findings < 4; findings++) {
			many_make(findings);
			reply.reply.more_findings = 0;
			waits_make(n);
			text = report(&usual, &style);
			CHECK_INT_IN("one screen, findings first", lines_of(text), 1, 23);
			CHECK("waits are told", strstr(text, "\npython3 4711 "));
			if (n > 8)
				CHECK("and how many are not", strstr(text, " more · if a main"));
		}
	}
}

/* Milliseconds of 18.4 s that a thread lost, and how its line says where. */
static const struct {
	const char *name;
	uint64_t op, calls, between; /* op 0: not known */
	const char *want;
} places[] = {
	{ "calls of one operation", 18400, 18400, 0, "seen\n" },
	{ "nearly all", 18300, 18300, 100, "seen\n" },
	{ "in and between calls", 10000, 10000, 8400,
	  "seen: 10.0 s in\n           cudaStreamSynchronize, 8.4 s between calls\n" },
	{ "everywhere", 10000, 12000, 6400,
	  "seen: 10.0 s in\n           cudaStreamSynchronize, 2.0 s in other calls, 6.4 s between calls\n" },
	{ "the operation's part is not known", 0, 12000, 6400,
	  "seen: 12.0 s in calls, 6.4 s\n           between calls\n" },
};

static void places_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		Ingero__V1__Finding *f = reply.finding;
		char want[256];

		(void)reply_hog(&reply);
		if (places[i].op)
			reply_evidence(&reply, f, "in_op_ns", (double)(places[i].op * MS), "ns");
		reply_evidence(&reply, f, "in_calls_ns", (double)(places[i].calls * MS), "ns");
		reply_evidence(&reply, f, "between_calls_ns", (double)(places[i].between * MS), "ns");
		(void)snprintf(want, sizeof(want), "\n  lost     18.4 s of the 1 min 0 s in which it was %s  where  ",
			       places[i].want);
		CHECK(places[i].name, strstr(report(&usual, &plain), want));
	}
}

/* The thread that lost the time, in the words of its account. */
static void threads_test(void)
{
	static const struct {
		const char *name;
		uint32_t tid; /* 0: not known */
		uint64_t lost_ns, present_ns;
		const char *want;
		uint64_t own_ns; /* of that thread; 0: not known */
	} rows[] = {
		{ "the main thread", 4711, 18400 * MS, 60 * S,
		  "18.4 s of the 1 min 0 s in which it was seen, in its main thread", 18400 * MS },
		{ "another thread", 4713, 18400 * MS, 60 * S,
		  "18.4 s of the 1 min 0 s in which it was seen, in its thread 4713", 18400 * MS },
		{ "several, one has most", 4713, 499 * MS, 60 * S,
		  "499 ms of the 1 min 0 s in which it was seen, 426 ms of it in its\n           thread 4713",
		  426 * MS },
		{ "all but what no figure shows", 4713, 499000 * US, 60 * S,
		  "499 ms of the 1 min 0 s in which it was seen, in its thread 4713", 498900 * US },
		{ "not known how much of it", 4713, 499 * MS, 60 * S,
		  "499 ms of the 1 min 0 s in which it was seen, most of it in its\n           thread 4713", 0 },
		{ "not known", 0, 18400 * MS, 60 * S, "18.4 s of the 1 min 0 s in which it was seen", 0 },
		{ "more than the time in which it was seen", 4713, 90 * S, 10 * S, "1 min 30 s, in its thread 4713",
		  90 * S },
		{ "more, and the thread is not known", 0, 90 * S, 10 * S,
		  "1 min 30 s of several threads in the 10.0 s in which it was seen", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__Finding *f = reply.finding;
		char want[256];

		(void)reply_hog(&reply);
		f->lost_ns = rows[i].lost_ns;
		f->present_ns = rows[i].present_ns;
		if (rows[i].tid) {
			f->tid_told_case = INGERO__V1__FINDING__TID_TOLD_TID;
			f->tid = rows[i].tid;
		}
		if (rows[i].own_ns) {
			f->tid_lost_ns_told_case = INGERO__V1__FINDING__TID_LOST_NS_TOLD_TID_LOST_NS;
			f->tid_lost_ns = rows[i].own_ns;
		}
		(void)snprintf(want, sizeof(want), "\n  lost     %s\n  where  ", rows[i].want);
		CHECK(rows[i].name, strstr(report(&usual, &plain), want));
	}
}

static const struct {
	const char *name;
	bool is_chosen, is_last;
	uint64_t kept_from_unix_ns; /* of a recording that has stopped */
	uint64_t figures_from_unix_ns;
	enum explain_window want;
} windows[] = {
	{ "the default", .figures_from_unix_ns = AT(100), .want = EXPLAIN_WINDOW_DEFAULT },
	{ "the recording began in it", .figures_from_unix_ns = AT(131), .want = EXPLAIN_WINDOW_ASKED },
	{ "asked for", .is_chosen = true, .figures_from_unix_ns = AT(100), .want = EXPLAIN_WINDOW_ASKED },
	{ "the end of a long one", .is_last = true, .kept_from_unix_ns = AT(99), .want = EXPLAIN_WINDOW_LAST },
	{ "all of a short one", .is_last = true, .kept_from_unix_ns = AT(100), .want = EXPLAIN_WINDOW_LAST_WHOLE },
};

static void windows_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		Ingero__V1__ExplainReply message = INGERO__V1__EXPLAIN_REPLY__INIT;
		Ingero__V1__Window window = INGERO__V1__WINDOW__INIT;
		const struct ingero_explanation answer = { .reply = &message,
							   .from_unix_ns = AT(100),
							   .kept_from_unix_ns = windows[i].kept_from_unix_ns,
							   .is_last_recorded = windows[i].is_last };

		window.from_unix_ns = windows[i].figures_from_unix_ns;
		message.window = &window;
		CHECK_INT_EQ(windows[i].name, explain_window_of(&answer, windows[i].is_chosen), windows[i].want);
	}
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	text_test();
	colour_test();
	command_test();
	screen_test();
	table_test();
	waits_test();
	places_test();
	threads_test();
	windows_test();
	return check_result();
}
