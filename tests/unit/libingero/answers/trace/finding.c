// SPDX-License-Identifier: Apache-2.0
/* A finding in a line of its own, the worst of several, and those before a summary. */
#include "libingero/answers/trace/finding.h"

#include <locale.h>

#include "../account/accounts.h"
#include "../explain/replies.h"
#include "libingero/answers/trace/report.h"
#include "tests/support/check.h"

static const struct text_style plain = { .is_utf8 = true, .columns = 200 };
static const struct text_style narrow = { .is_utf8 = true, .columns = 80 };

static struct reply reply;
static const char *explain = "ingero explain";

static const char *line(void (*append)(const Ingero__V1__Finding *, const char *, const struct text_style *,
				       struct buf *),
			const struct text_style *style)
{
	static struct buf out;

	buf_consume(&out, out.n);
	append(&reply.finding[0], explain, style, &out);
	return buf_text(&out);
}

static void line_test(void)
{
	(void)reply_hog(&reply);
	CHECK_STR_EQ("goes on", line(trace_finding_append, &plain),
		     "▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603, root) in python (pid "
		     "4711): "
		     "18.4 s lost so far · ingero explain 8f3a2c\n");
	CHECK_STR_EQ("broken", line(trace_finding_append, &narrow),
		     "▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603,\n"
		     "       root) in python (pid 4711): 18.4 s lost so far · ingero explain 8f3a2c\n");
	CHECK_STR_EQ("cut", line(trace_finding_append_one, &narrow),
		     "▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603, roo…\n");
	reply.finding[0].end_unix_ns = AT(231);
	CHECK_STR_EQ("over", line(trace_finding_append, &plain),
		     "▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603, root) in python (pid "
		     "4711): "
		     "18.4 s lost, over after 1 min 0 s · ingero explain 8f3a2c\n");
	reply.finding[0].lost_ns = 0;
	reply.finding[0].cause = NULL;
	reply.finding[0].title = figures_text("");
	CHECK_STR_EQ("little known", line(trace_finding_append, &plain),
		     "▲ HIGH cpu_contention in python (pid 4711): over after 1 min 0 s · ingero explain 8f3a2c\n");
	explain = NULL;
	CHECK_STR_EQ("not to be asked again", line(trace_finding_append, &plain),
		     "▲ HIGH cpu_contention in python (pid 4711): over after 1 min 0 s\n");
	explain = "ingero explain";
}

/* One that had less than half is told with its share, and so are the next. */
static void shares_test(void)
{
	static Ingero__V1__Culprit other = INGERO__V1__CULPRIT__INIT, *others[] = { &other };
	Ingero__V1__Finding *f;

	(void)reply_hog(&reply);
	f = &reply.finding[0];
	f->cause->share = 0.08;
	CHECK_STR_EQ(
		"one of them", line(trace_finding_append, &plain),
		"▲ HIGH cudaStreamSynchronize waited for the CPU, 8 % behind logrotate (pid 6603, root) in python "
		"(pid 4711): 18.4 s lost so far · ingero explain 8f3a2c\n");
	f->title = figures_text("python waited for the CPU between its calls");
	f->cause->share = 0.49;
	f->cause->comm = figures_text("cc1");
	f->cause->same_name = 12;
	f->cause->processes = 3;
	other.pid = 6604;
	other.comm = figures_text("updatedb");
	other.share = 0.08;
	f->cause->others = others;
	f->cause->n_others = 1;
	CHECK_STR_EQ(
		"a name, and another process", line(trace_finding_append, &plain),
		"▲ HIGH python (pid 4711) waited for the CPU, 49 % behind cc1 (12 processes, root), 8 % updatedb "
		"(pid 6604, root) and 1 more: 18.4 s lost so far · ingero explain 8f3a2c\n");
	f->cause->share = 0.5;
	CHECK_STR_EQ("it has half", line(trace_finding_append, &plain),
		     "▲ HIGH python (pid 4711) waited for the CPU behind cc1 (12 processes, root), updatedb "
		     "(pid 6604, root) and 1 more: 18.4 s lost so far · ingero explain 8f3a2c\n");
}

/* The line of the program, where it is known: at the end, and the first to go from a line that is too short. */
static void from_test(void)
{
	static Ingero__V1__Site site = INGERO__V1__SITE__INIT;

	(void)reply_hog(&reply);
	site.file = figures_text("/data/alice/train.py");
	site.func = figures_text("forward");
	site.line = 142;
	reply.finding[0].from = &site;
	CHECK_STR_EQ("goes on", line(trace_finding_append, &plain),
		     "▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603, root) in python (pid "
		     "4711): "
		     "18.4 s lost so far, from train.py:142 in forward · ingero explain 8f3a2c\n");
	CHECK_STR_EQ(
		"one line", line(trace_finding_append_one, &plain),
		"▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603, root): 18.4 s lost so "
		"far, from train.py:142 in forward · ingero explain 8f3a2c\n");
	CHECK_STR_EQ(
		"one line without room for the command",
		line(trace_finding_append_one, &(struct text_style){ .is_utf8 = true, .columns = 140 }),
		"▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603, root): 18.4 s lost so "
		"far, from train.py:142 in forward\n");
	CHECK_STR_EQ(
		"nor for the line",
		line(trace_finding_append_one, &(struct text_style){ .is_utf8 = true, .columns = 110 }),
		"▲ HIGH cudaStreamSynchronize waited for the CPU behind logrotate (pid 6603, root): 18.4 s lost so "
		"far\n");
}

/* The cause of a throttled process is what the title says: it is said once. */
static void quota_test(void)
{
	Ingero__V1__Finding *f;

	(void)reply_calm(&reply);
	f = reply_finding(&reply, "8f3a2c0000000001", "cpu_quota", "HIGH",
			  "train.py was throttled by its CPU quota between its calls");
	f->lost_ns = 3 * S;
	reply_cause(&reply, f, "cpu_quota", 0, "", 1);
	explain = NULL;
	CHECK_STR_EQ(
		"quota", line(trace_finding_append, &plain),
		"▲ HIGH train.py was throttled by its CPU quota between its calls in python (pid 4711): 3.0 s lost "
		"so far\n");
	explain = "ingero explain";
}

static Ingero__V1__Finding *starved_make(const char *kind, const char *title, uint32_t pid, const char *comm)
{
	Ingero__V1__Finding *f;

	(void)reply_calm(&reply);
	f = reply_finding(&reply, "8f3a2c0000000001", "starved", "LOW", title);
	f->lost_ns = 3 * S;
	f->present_ns = 4 * S;
	reply_cause(&reply, f, kind, pid, comm, 1);
	return f;
}

/* What a process did between its calls is said once, by the cause. */
static void between_test(void)
{
	static char script[] = "train.py";
	static struct part_made made;
	static const struct part_row chain = { .where = "",
					       .class = "",
					       .chain = { { "lock", 58, "gil", "", 26693, 26693 } } };
	static const struct {
		const char *name, *kind, *title;
		uint32_t pid;
		const char *comm, *want;
	} rows[] = {
		{ "by another process", "loader", "train.py waited for data between its calls", 26693, "python3",
		  "▲ LOW python train.py (pid 4711) waited for data from python3 (pid 26693, root): 3.0 s lost so "
		  "far\n" },
		{ "by nobody", "disk", "train.py waited for a disk between its calls", 0, "",
		  "▲ LOW python train.py (pid 4711) waited for a disk: 3.0 s lost so far\n" },
		{ "by its threads", "lock", "train.py waited for a lock between its calls", 4711, "python",
		  "▲ LOW python train.py (pid 4711) waited for a lock released by its own other threads: 3.0 s lost so "
		  "far\n" },
		{ "in Python", "python", "train.py computed in Python between its calls", 0, "",
		  "▲ LOW python train.py (pid 4711) computed in Python: 3.0 s lost so far\n" },
		{ "garbage", "gc", "train.py collected garbage between its calls", 0, "",
		  "▲ LOW python train.py (pid 4711) collected garbage in Python: 3.0 s lost so far\n" },
		{ "for the CPU", "cpu_contention", "train.py waited for the CPU between its calls", 26693, "sh",
		  "▲ LOW python train.py (pid 4711) waited for the CPU behind sh (pid 26693, root): 3.0 s lost so "
		  "far\n" },
		{ "throttled", "cpu_quota", "train.py was throttled by its CPU quota between its calls", 0, "",
		  "▲ LOW python train.py (pid 4711) was throttled by its CPU quota: 3.0 s lost so far\n" },
		{ "stopped", "stopped", "train.py was stopped between its calls", 26693, "python3",
		  "▲ LOW python train.py (pid 4711) was stopped (by a signal, a debugger or the freezer), continued by "
		  "python3 (pid 26693, root): 3.0 s lost so far\n" },
		{ "launches", "launches", "train.py spent its time in launches of short kernels", 0, "",
		  "▲ LOW python train.py (pid 4711) spent its time in launches of short kernels: 3.0 s lost so far\n" },
		{ "another language", "host_bound", "train.py computed on the CPU between its calls", 0, "",
		  "▲ LOW python train.py (pid 4711) computed on the CPU: 3.0 s lost so far\n" },
		{ "the title says more", "disk", "train.py has stopped making calls", 0, "",
		  "▲ LOW python train.py (pid 4711) has stopped making calls and waits for a disk: 3.0 s lost so "
		  "far\n" },
		{ "the title says more, over", "loader", "train.py made no calls for a long time", 26693, "python3",
		  "▲ LOW python train.py (pid 4711) made no calls for a long time and waited for data from python3 "
		  "(pid "
		  "26693, root): 3.0 s lost so far\n" },
		{ "stopped for long", "stopped", "train.py has stopped making calls", 0, "",
		  "▲ LOW python train.py (pid 4711) has stopped making calls and is stopped (by a signal, a debugger "
		  "or "
		  "the freezer): 3.0 s lost so far\n" },
		{ "of another name", "loader", "old.py waited for data between its calls", 0, "",
		  "▲ LOW old.py waited for data between its calls, waits for data in python train.py (pid 4711): 3.0 s "
		  "lost so far\n" },
		{ "the title is hidden", "disk", "", 0, "",
		  "▲ LOW python train.py (pid 4711) waited for a disk: 3.0 s lost so far\n" },
	};
	Ingero__V1__Program program = INGERO__V1__PROGRAM__INIT;
	Ingero__V1__Finding *f;

	program.script = script;
	explain = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		f = starved_make(rows[i].kind, rows[i].title, rows[i].pid, rows[i].comm);
		f->program = &program;
		CHECK_STR_EQ(rows[i].name, line(trace_finding_append, &plain), rows[i].want);
	}
	explain = "ingero explain";

	/* On one line the command goes first, then the chain: the cause and what was lost stay. */
	f = starved_make("loader", "train.py waited for data between its calls", 26693, "python3");
	f->cause->chain = part_make(&made, &chain)->chain;
	f->cause->n_chain = 1;
	f->cause->chain_ns = 100;
	f->program = &program;
	CHECK_STR_EQ(
		"one line", line(trace_finding_append_one, &plain),
		"▲ LOW train.py waited for data from python3 (pid 26693, root) ← waits for the GIL 58 %: 3.0 s lost "
		"so far · ingero explain 8f3a2c\n");
	CHECK_STR_EQ("one line of 80", line(trace_finding_append_one, &narrow),
		     "▲ LOW train.py waited for data from python3 (pid 26693, root): 3.0 s lost so far\n");
	f->end_unix_ns = AT(200);
	f->lost_ns = 0;
	f->present_ns = 4 * S;
	CHECK_STR_EQ("without a loss", line(trace_finding_append_one, &narrow),
		     "▲ LOW train.py waited for data from python3 (pid 26693, root): over after 4.0 s\n");
}

static const struct {
	const char *name;
	struct {
		const char *severity;
		uint64_t lost_ns;
		bool is_over;
	} findings[REPLY_MAX];
	int worst;	   /* index; -1: none */
	const char *first; /* beginning of the first line before a summary */
} cases[] = {
	{ "none", { { NULL, 0, false } }, -1, "" },
	{ "severity before loss", { { "LOW", 9 * S, false }, { "HIGH", 1 * S, false } }, 1, "▲ HIGH" },
	{ "loss among equals", { { "HIGH", 1 * S, false }, { "HIGH", 2 * S, false } }, 1, "▲ HIGH" },
	{ "what is over is not on the screen", { { "CRITICAL", 9 * S, true }, { "LOW", 1, false } }, 1, "▲ CRITICAL" },
	{ "all over", { { "HIGH", 9 * S, true } }, -1, "▲ HIGH" },
	{ "what is over among worse", { { "LOW", 9 * S, false }, { "HIGH", 1 * S, true } }, 0, "▲ HIGH" },
	{ "more than a screen bears",
	  { { "LOW", 1, false },
	    { "LOW", 2, false },
	    { "LOW", 3, false },
	    { "LOW", 4, false },
	    { "LOW", 5, false },
	    { "LOW", 6, false },
	    { "CRITICAL", 7, false } },
	  6,
	  "▲ CRITICAL" },
};

static void order_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		const Ingero__V1__Finding *worst;

		(void)reply_calm(&reply);
		for (size_t k = 0; cases[i].findings[k].severity; k++) {
			Ingero__V1__Finding *f =
				reply_finding(&reply, "8f3a2c0000000001", "x", cases[i].findings[k].severity, "y");

			f->lost_ns = cases[i].findings[k].lost_ns;
			f->end_unix_ns = cases[i].findings[k].is_over ? AT(200) : 0;
		}
		summary.findings = reply.finding_list;
		summary.n_findings = reply.reply.n_findings;
		worst = trace_finding_worst(&summary);
		CHECK_INT_EQ(cases[i].name, worst ? worst - reply.finding : -1, cases[i].worst);
		trace_findings_append(&summary, NULL, explain, &plain, &out);
		CHECK(cases[i].name, strncmp(buf_text(&out), cases[i].first, strlen(cases[i].first)) == 0);
		CHECK(cases[i].name, !strstr(buf_text(&out), "more;") == (summary.n_findings <= 5));
	}
}

/* A healthy table beside a finding: the finding comes first, and nothing says that there is nothing. */
static void summary_test(void)
{
	static const struct figures_op ops[] = { { .pid = 4711,
						   .process = "python",
						   .op = "cudaFree",
						   .count = 10,
						   .blame_ns = { [BLAME_VIEW_ON_CPU] = 10 * US } },
						 { 0 } };
	static struct figures figures;
	struct trace_setting setting = { .scope = "of root", .kept = "every call" };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	(void)reply_hog(&reply);
	(void)figures_build(&figures, 60 * S, ops, NULL, NULL);
	CHECK_INT_EQ("without", trace_report_summary(&setting, &figures.summary, false, &plain, &out), 0);
	CHECK("without", strstr(buf_text(&out), "No problem found"));
	buf_consume(&out, out.n);
	figures.summary.findings = reply.finding_list;
	figures.summary.n_findings = 1;
	CHECK_INT_EQ("with", trace_report_summary(&setting, &figures.summary, false, &plain, &out), 0);
	CHECK("first",
	      strncmp(buf_text(&out), "▲ HIGH cudaStreamSynchronize", strlen("▲ HIGH cudaStreamSynchronize")) == 0);
	CHECK("table", strstr(buf_text(&out), "cudaFree"));
	CHECK("with", !strstr(buf_text(&out), "No problem found"));
	CHECK("and its remedy", strstr(buf_text(&out), "what it means\n▲ cudaStreamSynchronize waited") &&
					strstr(buf_text(&out), "\n  do: "));
}

/* What it means and its remedy come with each finding, in calls and between them. */
static void meaning_test(void)
{
	static char first[] = "more workers", second[] = "and more";
	char *advice[] = { first, second };
	static const struct {
		const char *name, *op, *kind, *title;
		uint64_t lost_ns, present_ns;
		size_t n_advice;
		const char *want; /* behind the title; NULL: no title either */
	} rows[] = {
		{ "between calls", "", "loader", "python waited for data between its calls", 3 * S, 4 * S, 2,
		  "▲ python (pid 4711) waited for data from python3 (pid 26693, root): 3.0 s of\n"
		  "  4.0 s lost between its calls, 75 % of the time.\n"
		  "  do: more workers\n" },
		{ "of several threads", "", "loader", "python waited for data between its calls", 5 * S, 4 * S, 2,
		  "▲ python (pid 4711) waited for data from python3 (pid 26693, root): 5.0 s lost\n"
		  "  between its calls.\n"
		  "  do: more workers\n" },
		{ "for the CPU", "", "cpu_contention", "python waited for the CPU between its calls", 3 * S, 4 * S, 2,
		  "▲ python (pid 4711) waited for the CPU behind python3 (pid 26693, root): 3.0 s\n"
		  "  of 4.0 s lost between its calls, 75 % of the time.\n"
		  "  do: more workers\n" },
		{ "a stall", "", "loader", "python has stopped making calls", 3 * S, 4 * S, 2,
		  "▲ python (pid 4711) has stopped making calls and waits for data from python3\n"
		  "  (pid 26693, root): 3.0 s of 4.0 s lost, 75 % of the time.\n"
		  "  do: more workers\n" },
		{ "in calls", "cudaFree", "cpu_contention", "cudaFree waited for the CPU", 3 * S, 4 * S, 2,
		  "▲ cudaFree waited for the CPU behind python3 (pid 26693, root) in python (pid\n"
		  "  4711): 3.0 s of 4.0 s lost, 75 % of the time.\n"
		  "  do: more workers\n" },
		{ "without a remedy", "", "loader", "python waited for data between its calls", 3 * S, 4 * S, 0, NULL },
	};
	static const struct figures_op ops[] = {
		{ .pid = 4711,
		  .process = "python",
		  .op = "cudaFree",
		  .count = 10,
		  .blame_ns = { [BLAME_VIEW_ON_CPU] = 10 * US } },
		{ 0 },
	};
	struct trace_setting setting = { .scope = "of root", .kept = "every call" };
	static const char title[] = "what it means\n";
	static struct figures figures;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		const char *told;
		Ingero__V1__Finding *f = starved_make(rows[i].kind, rows[i].title, 26693, "python3");

		f->op = figures_text(rows[i].op);
		f->lost_ns = rows[i].lost_ns;
		f->present_ns = rows[i].present_ns;
		f->advice = advice;
		f->n_advice = rows[i].n_advice;
		(void)figures_build(&figures, 60 * S, ops, NULL, NULL);
		figures.summary.findings = reply.finding_list;
		figures.summary.n_findings = 1;
		CHECK_INT_EQ(rows[i].name, trace_report_summary(&setting, &figures.summary, false, &narrow, &out), 0);
		told = strstr(buf_text(&out), title);
		CHECK_STR_EQ(rows[i].name, told ? told + strlen(title) : "", rows[i].want ? rows[i].want : "");
	}
}

/* What the delay's line says is not said again. */
static void delay_test(void)
{
	static char advice_text[] = "more CPUs", takes[] = "runnable";
	char *advice[] = { advice_text };
	static const struct figures_op ops[] = {
		{ .pid = 4711,
		  .process = "python",
		  .op = "cudaFree",
		  .count = 10,
		  .blame_ns = { [BLAME_VIEW_RUNNABLE] = 10 * MS } },
		{ 0 },
	};
	Ingero__V1__Delay delay = INGERO__V1__DELAY__INIT;
	struct trace_setting setting = { .scope = "of root", .kept = "every call" };
	static struct figures figures;
	Ingero__V1__Finding *f =
		starved_make("cpu_contention", "python waited for the CPU between its calls", 26693, "python3");

	f->advice = advice;
	f->n_advice = 1;
	(void)figures_build(&figures, 60 * S, ops, NULL, NULL);
	delay.operation = figures.summary.operations[0];
	delay.takes = takes;
	delay.advice = advice_text;
	delay.lost_ns = 10 * MS;
	figures.summary.delay = &delay;
	figures.summary.findings = reply.finding_list;
	figures.summary.n_findings = 1;
	for (int is_other = 0; is_other < 2; is_other++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		const char *first, *again;

		f->pid += (uint32_t)is_other;
		CHECK_INT_EQ("delay", trace_report_summary(&setting, &figures.summary, false, &plain, &out), 0);
		first = strstr(buf_text(&out), "  do: more CPUs\n");
		again = first ? strstr(first + 1, "  do: more CPUs\n") : NULL;
		CHECK("delay", first && !again == !is_other);
	}
}

/* A delay of calls is a part of what a process lost: the sentence has all of it, as 'ingero explain' has. */
static void whole_test(void)
{
	static char advice_text[] = "more CPUs";
	static const struct figures_behind few[] = { { 4711, 8310, 0, "sh", 352 * MS }, { 0 } };
	static const struct part_row ready[] = {
		{ .where = "between", .class = "runnable", .ns = 3 * S, .by_pid = 8310, .by = "sh" },
		{ .where = "between", .class = "runnable", .ns = 2700 * MS, .by_pid = 8311, .by = "sh" },
		{ .where = "between", .class = "on_cpu", .ns = 5900 * MS },
		{ .where = "in", .class = "runnable", .op = "cudaFree", .ns = 200 * MS, .by_pid = 8310, .by = "sh" },
		{ .where = "in", .class = "runnable", .op = "cudaMalloc", .ns = 100 * MS, .by_pid = 8310, .by = "sh" },
		{ .where = "in", .class = "on_cpu", .op = "cudaFree", .ns = 100 * MS },
	};
	static const struct part_row hardly_attributed[] = {
		{ .where = "between", .class = "runnable", .ns = 100 * MS, .by_pid = 8310, .by = "sh" },
		{ .where = "between", .class = "runnable", .ns = 5 * S },
		{ .where = "in", .class = "runnable", .op = "cudaFree", .ns = 200 * MS },
	};
	static const struct part_row short_ones[] = {
		{ .where = "between", .class = "runnable", .ns = 5100 * MS, .by = "cc1" },
		{ .where = "in", .class = "runnable", .op = "cudaFree", .ns = 200 * MS, .by = "" },
	};
	static const struct part_row throttled[] = {
		{ .where = "between", .class = "quota", .ns = 8 * S },
		{ .where = "between", .class = "on_cpu", .ns = 3600 * MS },
		{ .where = "in", .class = "quota", .op = "cudaFree", .ns = 400 * MS },
	};
	static const struct part_row in_calls[] = {
		{ .where = "between", .class = "runnable", .ns = 100 * MS, .by_pid = 8310, .by = "sh" },
		{ .where = "between", .class = "on_cpu", .ns = 5900 * MS },
		{ .where = "in", .class = "runnable", .op = "cudaFree", .ns = 200 * MS, .by_pid = 8310, .by = "sh" },
	};
	static const struct part_row in_one[] = {
		{ .where = "between", .class = "runnable", .ns = 2 * MS },
		{ .where = "between", .class = "on_cpu", .ns = 5900 * MS },
		{ .where = "in", .class = "runnable", .op = "cudaFree", .ns = 201 * MS, .by_pid = 8310, .by = "sh" },
	};
	static const struct part_row of_threads[] = {
		{ .where = "between", .class = "runnable", .ns = 150 * MS, .by_pid = 8310, .by = "sh" },
		{ .where = "in", .class = "runnable", .op = "cudaFree", .ns = 100 * MS, .by_pid = 8310, .by = "sh" },
	};
	static const struct part_row stopped[] = {
		{ .where = "between", .class = "other", .ns = 4600 * MS, .kind = "stopped", .name = "signal" },
		{ .where = "between", .class = "other", .ns = 100 * MS },
		{ .where = "between", .class = "on_cpu", .ns = 6 * S },
		{ .where = "in",
		  .class = "other",
		  .op = "cudaFree",
		  .ns = 400 * MS,
		  .kind = "stopped",
		  .name = "signal" },
		{ .where = "in", .class = "on_cpu", .op = "cudaFree", .ns = 100 * MS },
	};
	static const struct part_row stopped_in_calls[] = {
		{ .where = "between", .class = "on_cpu", .ns = 6 * S },
		{ .where = "in",
		  .class = "other",
		  .op = "cudaFree",
		  .ns = 200 * MS,
		  .kind = "stopped",
		  .name = "freezer" },
	};
	static const struct part_row piped[] = {
		{ .where = "between", .class = "other", .ns = 4600 * MS, .kind = "pipe", .name = "" },
		{ .where = "between", .class = "other", .ns = 500 * MS },
	};
	static const struct part_row hardly_known[] = {
		{ .where = "between", .class = "other", .ns = 2 * S, .kind = "stopped", .name = "signal" },
		{ .where = "between", .class = "other", .ns = 3 * S },
	};
	static const struct {
		const char *name, *takes, *finding; /* the finding's title; NULL: none */
		const struct part_row *rows;
		size_t n;
		const char *want;
	} cases_of[] = {
		{ "of the account", "runnable", NULL, ready, ARRAY_SIZE(ready),
		  "▲ python (pid 4711) lost 6.0 s of 12.0 s, 50 % of the time, ready to run while\n"
		  "  another task had the CPU: 200 ms in cudaFree, 100 ms in other calls, 5.7 s\n"
		  "  between calls.\n"
		  "  Meanwhile the CPU ran sh (pid 8310, root) for 3.3 s (55 %), sh (pid 8311,\n"
		  "  root) for 2.7 s (45 %).\n"
		  "  do: more CPUs\n" },
		{ "of the finding", "runnable", "python waited for the CPU between its calls", ready, ARRAY_SIZE(ready),
		  "▲ python (pid 4711) lost 5.9 s of 12.3 s, 48 % of the time, ready to run while\n"
		  "  another task had the CPU: 290 ms in calls, 5.6 s between calls.\n"
		  "  Meanwhile the CPU ran sh (pid 8310, root) for 3.3 s (55 %), sh (pid 8311,\n"
		  "  root) for 2.7 s (45 %).\n"
		  "  do: more CPUs\n" },
		{ "of the finding alone", "runnable", "python waited for the CPU between its calls", NULL, 0,
		  "▲ python (pid 4711) lost 5.9 s of 12.3 s, 48 % of the time, ready to run while\n"
		  "  another task had the CPU: 290 ms in calls, 5.6 s between calls.\n"
		  "  While calls of this process waited, the CPU ran sh (pid 8310, root) for 352 ms\n"
		  "  (100 %).\n"
		  "  do: more CPUs\n" },
		{ "behind hardly anybody known", "runnable", NULL, hardly_attributed, ARRAY_SIZE(hardly_attributed),
		  "▲ python (pid 4711) lost 5.3 s of 5.3 s, 100 % of the time, ready to run while\n"
		  "  another task had the CPU: 200 ms in cudaFree, 5.1 s between calls.\n"
		  "  Meanwhile the CPU ran sh (pid 8310, root) for 100 ms (1.9 %), unknown\n"
		  "  processes for 5.2 s (98 %).\n"
		  "  do: more CPUs\n" },
		{ "behind many short ones of a name", "runnable", NULL, short_ones, ARRAY_SIZE(short_ones),
		  "▲ python (pid 4711) lost 5.3 s of 5.3 s, 100 % of the time, ready to run while\n"
		  "  another task had the CPU: 200 ms in cudaFree, 5.1 s between calls.\n"
		  "  Meanwhile the CPU ran cc1 (several, root) for 5.1 s (96 %), another process\n"
		  "  (root) for 200 ms (3.8 %).\n"
		  "  do: more CPUs\n" },
		{ "quota", "quota", NULL, throttled, ARRAY_SIZE(throttled),
		  "▲ python (pid 4711) lost 8.4 s of 12.0 s, 70 % of the time, ready to run but out\n"
		  "  of its cgroup's CPU quota: 400 ms in cudaFree, 8.0 s between calls.\n"
		  "  do: more CPUs\n" },
		{ "stopped", "other", NULL, stopped, ARRAY_SIZE(stopped),
		  "▲ python (pid 4711) lost 5.1 s of 11.2 s, 46 % of the time, stopped by a signal:\n"
		  "  400 ms in cudaFree, 4.7 s between calls.\n"
		  "  do: more CPUs\n" },
		{ "stopped in calls", "other", NULL, stopped_in_calls, ARRAY_SIZE(stopped_in_calls),
		  "▲ cudaFree in python (pid 4711) lost 200 ms, 100 % of its time, frozen by its\n"
		  "  cgroup. Half of its 10 calls took more than 0 ns, one in 100 more than 0 ns.\n"
		  "  do: more CPUs\n" },
		{ "of another known cause", "other", NULL, piped, ARRAY_SIZE(piped),
		  "▲ python (pid 4711) lost 5.1 s of 5.1 s, 100 % of the time, mostly waiting for a\n"
		  "  pipe.\n"
		  "  do: more CPUs\n" },
		{ "most of no known cause", "other", NULL, hardly_known, ARRAY_SIZE(hardly_known),
		  "▲ python (pid 4711) lost 5.0 s of 5.0 s, 100 % of the time, blocked for an\n"
		  "  unknown reason.\n"
		  "  do: more CPUs\n" },
		{ "most in calls", "runnable", NULL, in_calls, ARRAY_SIZE(in_calls),
		  "▲ python (pid 4711) lost 300 ms of 6.2 s, 4.8 % of the time, ready to run while\n"
		  "  another task had the CPU: 200 ms in cudaFree, 100 ms between calls. cudaFree\n"
		  "  alone lost 200 ms, 67 % of its time. For another 33 % the call was computing.\n"
		  "  Half of its 10 calls took more than 0 ns, one in 100 more than 0 ns.\n"
		  "  Meanwhile the CPU ran sh (pid 8310, root) for 300 ms (100 %).\n"
		  "  do: more CPUs\n" },
		{ "in one operation", "runnable", NULL, in_one, ARRAY_SIZE(in_one),
		  "▲ cudaFree in python (pid 4711) lost 200 ms, 67 % of its time, ready to run\n"
		  "  while another task had the CPU. For another 33 % the call was computing. Half\n"
		  "  of its 10 calls took more than 0 ns, one in 100 more than 0 ns.\n"
		  "  While calls of this process waited, the CPU ran sh (pid 8310, root) for 352 ms\n"
		  "  (100 %).\n"
		  "  do: more CPUs\n" },
		{ "of several threads", "runnable", NULL, of_threads, ARRAY_SIZE(of_threads),
		  "▲ cudaFree in python (pid 4711) lost 200 ms, 67 % of its time, ready to run\n"
		  "  while another task had the CPU. For another 33 % the call was computing. Half\n"
		  "  of its 10 calls took more than 0 ns, one in 100 more than 0 ns.\n"
		  "  While calls of this process waited, the CPU ran sh (pid 8310, root) for 352 ms\n"
		  "  (100 %).\n"
		  "  do: more CPUs\n" },
	};
	static const struct figures_op ops[][2] = {
		{ { .pid = 4711,
		    .process = "python",
		    .op = "cudaFree",
		    .count = 10,
		    .blame_ns = { [BLAME_VIEW_RUNNABLE] = 200 * MS, [BLAME_VIEW_ON_CPU] = 100 * MS } },
		  { 0 } },
		{ { .pid = 4711,
		    .process = "python",
		    .op = "cudaFree",
		    .count = 10,
		    .blame_ns = { [BLAME_VIEW_QUOTA] = 400 * MS } },
		  { 0 } },
		{ { .pid = 4711,
		    .process = "python",
		    .op = "cudaFree",
		    .count = 10,
		    .blame_ns = { [BLAME_VIEW_OTHER] = 200 * MS } },
		  { 0 } },
	};
	struct trace_setting setting = { .scope = "of root", .kept = "every call" };
	static struct account_made made;
	static struct figures figures;

	for (size_t i = 0; i < ARRAY_SIZE(cases_of); i++) {
		bool is_quota = strcmp(cases_of[i].takes, "quota") == 0;
		bool is_other = strcmp(cases_of[i].takes, "other") == 0;
		Ingero__V1__Account *account = account_make(&made, cases_of[i].rows, cases_of[i].n);
		Ingero__V1__Delay delay = INGERO__V1__DELAY__INIT;
		char *advice[] = { advice_text };
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		const char *told;

		(void)figures_build(&figures, 12 * S, ops[is_other ? 2 : is_quota], NULL, few);
		delay.operation = figures.summary.operations[0];
		delay.takes = figures_text(cases_of[i].takes);
		delay.advice = advice_text;
		delay.lost_ns = is_quota ? 400 * MS : 200 * MS;
		figures.summary.delay = &delay;
		if (cases_of[i].n) {
			figures.summary.accounts = &account;
			figures.summary.n_accounts = 1;
		}
		if (cases_of[i].finding) {
			Ingero__V1__Finding *f = starved_make("cpu_contention", cases_of[i].finding, 8310, "sh");

			f->lost_ns = 5900 * MS;
			f->present_ns = 12300 * MS;
			f->advice = advice;
			f->n_advice = 1;
			f->cause->takes = figures_text(cases_of[i].takes);
			reply_evidence(&reply, f, "in_calls_ns", 290e6, "ns");
			reply_evidence(&reply, f, "between_calls_ns", 5610e6, "ns");
			figures.summary.findings = reply.finding_list;
			figures.summary.n_findings = 1;
		}
		CHECK_INT_EQ(cases_of[i].name, trace_report_summary(&setting, &figures.summary, false, &narrow, &out),
			     0);
		told = strstr(buf_text(&out), "what it means\n");
		CHECK_STR_EQ(cases_of[i].name, told ? told + strlen("what it means\n") : "", cases_of[i].want);
	}
}

/* What was lost is less than the account has, since the first seconds are not judged: it is said once. */
static void judged_test(void)
{
	static char more[] = "more workers";
	char *advice[] = { more };
	static const struct {
		const char *name, *kind, *title, *class;
		uint64_t account_ns, lost_ns;
		size_t n_findings, want;
	} rows[] = {
		{ "most in the first seconds", "loader", "python waited for data between its calls", "other", 7 * S,
		  2600 * MS, 1, 1 },
		{ "of two findings", "loader", "python waited for data between its calls", "other", 7 * S, 2600 * MS, 2,
		  1 },
		{ "of what it computed", "python", "python computed in Python between its calls", "on_cpu", 12 * S,
		  7600 * MS, 1, 1 },
		{ "the same", "loader", "python waited for data between its calls", "other", 7 * S, 6900 * MS, 1, 0 },
		{ "less for another reason", "loader", "python waited for data between its calls", "other", 60 * S,
		  2600 * MS, 1, 0 },
		{ "not between calls", "loader", "python has stopped making calls", "other", 7 * S, 2600 * MS, 1, 0 },
		{ "for the CPU", "cpu_contention", "python waited for the CPU between its calls", "runnable", 7 * S,
		  2600 * MS, 1, 0 },
	};
	static const struct figures_op ops[] = {
		{ .pid = 4711,
		  .process = "python",
		  .op = "cudaFree",
		  .count = 10,
		  .blame_ns = { [BLAME_VIEW_ON_CPU] = 10 * US } },
		{ 0 },
	};
	static const char words[] = " Time between calls is judged from 5 s after the first call on.";
	struct trace_setting setting = { .scope = "of root", .kept = "every call" };
	static struct figures figures;
	static struct account_made made;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct part_row part = { .where = "between", .class = rows[i].class, .ns = rows[i].account_ns };
		Ingero__V1__Account *account = account_make(&made, &part, 1);
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		size_t n = 0;

		(void)reply_calm(&reply);
		for (size_t k = 0; k < rows[i].n_findings; k++) {
			Ingero__V1__Finding *f = reply_finding(&reply, k ? "8f3a2c0000000002" : "8f3a2c0000000001",
							       "starved", "LOW", rows[i].title);

			f->lost_ns = f->present_ns = rows[i].lost_ns;
			f->advice = advice;
			f->n_advice = 1;
			reply_cause(&reply, f, rows[i].kind, 8310, "sh", 1);
			f->cause->takes = figures_text(rows[i].class);
		}
		(void)figures_build(&figures, 60 * S, ops, NULL, NULL);
		figures.summary.accounts = &account;
		figures.summary.n_accounts = 1;
		figures.summary.findings = reply.finding_list;
		figures.summary.n_findings = reply.reply.n_findings;
		CHECK_INT_EQ(rows[i].name, trace_report_summary(&setting, &figures.summary, false, &plain, &out), 0);
		for (const char *at = buf_text(&out); (at = strstr(at, words)); at++)
			n++;
		CHECK_INT_EQ(rows[i].name, n, rows[i].want);
	}
}

/* Findings and the delay of calls are in the order of 'ingero explain': the delay in the place of its finding. */
static void meaning_order_test(void)
{
	static char more[] = "more CPUs", fewer[] = "fewer threads", takes[] = "runnable";
	char *advice_cpu[] = { more }, *advice_gil[] = { fewer };
	static const struct {
		const char *name, *cpu, *gil; /* severities; "": no such finding */
		uint64_t cpu_ns, gil_ns;
		bool is_gil_over;
		const char *first;
	} rows[] = {
		{ "more is lost elsewhere", "LOW", "LOW", 1300 * MS, 1400 * MS, false, fewer },
		{ "more is lost in the delay", "LOW", "LOW", 1400 * MS, 1300 * MS, false, more },
		{ "a worse one", "LOW", "HIGH", 1400 * MS, 1300 * MS, false, fewer },
		{ "a worse one that is over", "LOW", "HIGH", 1400 * MS, 1300 * MS, true, fewer },
		{ "a delay that is no finding", "", "LOW", 0, 1300 * MS, false, fewer },
		{ "a delay alone", "LOW", "", 1300 * MS, 0, false, more },
	};
	static const struct figures_op ops[] = {
		{ .pid = 4711,
		  .process = "python",
		  .op = "cudaFree",
		  .count = 10,
		  .blame_ns = { [BLAME_VIEW_RUNNABLE] = 200 * MS } },
		{ 0 },
	};
	struct trace_setting setting = { .scope = "of root", .kept = "every call" };
	static struct figures figures;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__Delay delay = INGERO__V1__DELAY__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		Ingero__V1__Finding *f;
		const char *first;

		(void)reply_calm(&reply);
		if (*rows[i].cpu) {
			f = reply_finding(&reply, "8f3a2c0000000001", "cpu_contention", rows[i].cpu,
					  "python waited for the CPU");
			f->lost_ns = rows[i].cpu_ns;
			f->advice = advice_cpu;
			f->n_advice = 1;
			reply_cause(&reply, f, "cpu_contention", 8310, "sh", 1);
			f->cause->takes = takes;
			reply_evidence(&reply, f, "between_calls_ns", 400e6, "ns");
		}
		if (*rows[i].gil) {
			f = reply_finding(&reply, "8f3a2c0000000002", "starved", rows[i].gil,
					  "python waited for the GIL between its calls");
			f->lost_ns = rows[i].gil_ns;
			f->end_unix_ns = rows[i].is_gil_over ? AT(200) : 0;
			f->advice = advice_gil;
			f->n_advice = 1;
			reply_cause(&reply, f, "gil", 4711, "python", 1);
		}
		(void)figures_build(&figures, 12 * S, ops, NULL, NULL);
		delay.operation = figures.summary.operations[0];
		delay.takes = takes;
		delay.advice = more;
		delay.lost_ns = 200 * MS;
		figures.summary.delay = &delay;
		figures.summary.findings = reply.finding_list;
		figures.summary.n_findings = reply.reply.n_findings;
		CHECK_INT_EQ(rows[i].name, trace_report_summary(&setting, &figures.summary, false, &plain, &out), 0);
		first = strstr(buf_text(&out), "  do: ");
		CHECK(rows[i].name,
		      first && strncmp(first + strlen("  do: "), rows[i].first, strlen(rows[i].first)) == 0);
		CHECK(rows[i].name, first && !strstr(first + strlen("  do: ") + 1, rows[i].first));
	}
}

/* Without a finding, long waits between calls are no all-clear. */
static void waits_test(void)
{
	static const struct figures_op ops[] = { { .pid = 4711,
						   .process = "python3",
						   .op = "cudaFree",
						   .count = 10,
						   .blame_ns = { [BLAME_VIEW_ON_CPU] = 10 * US } },
						 { 0 } };
	static const struct part_row starved[] = { { .where = "between",
						     .class = "network",
						     .ns = 95,
						     .kind = "pipe",
						     .name = "",
						     .by_pid = 1565,
						     .by_tid = 1565,
						     .by_uid = 1000,
						     .by = "python3" },
						   { .where = "between", .class = "on_cpu", .ns = 5 } };
	static const struct part_row busy[] = { { .where = "between", .class = "on_cpu", .ns = 100 } };
	static const struct part_row asleep[] = { { .where = "between", .class = "sleep", .ns = 98 },
						  { .where = "in", .class = "on_cpu", .op = "cudaFree", .ns = 2 } };
	static const struct part_row dozing[] = { { .where = "between", .class = "sleep", .ns = 40 },
						  { .where = "in", .class = "on_cpu", .op = "cudaFree", .ns = 60 } };
	static const struct {
		const struct part_row *rows;
		size_t n;
		const char *want;
	} cases_of[] = {
		{ starved, ARRAY_SIZE(starved),
		  "what it means\n"
		  "No finding: 1 process of root made 10 calls in 5.0 s, with no significant delays\n"
		  "in them. But 95 % of the time python3 4711 waited for a pipe from python3\n"
		  "(1565); waits between calls are judged from 5 s after the first call on.\n" },
		{ busy, ARRAY_SIZE(busy),
		  "what it means\n"
		  "No problem found: 1 process of root made 10 calls in 5.0 s, with no significant\n"
		  "delays. Most of the time of python3 4711, 100 %: Python on the CPU.\n" },
		{ asleep, ARRAY_SIZE(asleep),
		  "what it means\n"
		  "No finding: 1 process of root made 10 calls in 5.0 s, with no significant delays\n"
		  "in them. But 98 % of the time python3 4711 was sleeping: the program asked to.\n" },
		{ dozing, ARRAY_SIZE(dozing),
		  "what it means\n"
		  "No problem found: 1 process of root made 10 calls in 5.0 s, with no significant\n"
		  "delays. Most time was in cudaFree, 100 % of it running on the CPU.\n" },
	};
	struct trace_setting setting = { .scope = "of root", .kept = "every call" };
	static struct figures figures;
	static struct account_made made;

	for (size_t i = 0; i < ARRAY_SIZE(cases_of); i++) {
		Ingero__V1__Account *account = account_make(&made, cases_of[i].rows, cases_of[i].n);
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		const char *told;

		(void)figures_build(&figures, 5 * S, ops, NULL, NULL);
		figures.summary.accounts = &account;
		figures.summary.n_accounts = 1;
		CHECK_INT_EQ(cases_of[i].want, trace_report_summary(&setting, &figures.summary, false, &narrow, &out),
			     0);
		told = strstr(buf_text(&out), "what it means\n");
		CHECK_STR_EQ(cases_of[i].want, told ? told : "", cases_of[i].want);
	}
}

static void news_test(void)
{
	static const struct {
		const char *name, *id, *severity;
		bool is_over, want;
	} steps[] = {
		{ "first", "1111111111111111", "LOW", false, true },
		{ "the same again", "1111111111111111", "LOW", false, false },
		{ "another", "1111111111111112", "LOW", false, true },
		{ "worse", "1111111111111111", "HIGH", false, true },
		{ "no worse", "1111111111111111", "HIGH", false, false },
		{ "over", "1111111111111111", "HIGH", true, true },
		{ "still over", "1111111111111111", "HIGH", true, false },
		{ "back", "1111111111111111", "HIGH", false, true },
		{ "the other is still known", "1111111111111112", "LOW", false, false },
	};
	CLEANUP(trace_told_done) struct trace_told told = { .findings.n = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		(void)reply_calm(&reply);
		reply_finding(&reply, steps[i].id, "x", steps[i].severity, "y")->end_unix_ns = steps[i].is_over;
		CHECK_INT_EQ(steps[i].name, trace_finding_is_news(&told, &reply.finding[0]), steps[i].want);
	}
}

/* What had its line is repeated before the summary where it says more by then. */
static void told_test(void)
{
	static const struct {
		const char *name;
		uint64_t lost_ns;
		bool is_over, want;
	} ends[] = {
		{ "the same", 1 * S, false, false },
		{ "more lost", 2 * S, false, true },
		{ "over", 1 * S, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		CLEANUP(trace_told_done) struct trace_told told = { .findings.n = 0 };
		Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		(void)reply_calm(&reply);
		reply_finding(&reply, "8f3a2c0000000001", "x", "LOW", "y")->lost_ns = 1 * S;
		(void)trace_finding_is_news(&told, &reply.finding[0]);
		reply.finding[0].lost_ns = ends[i].lost_ns;
		reply.finding[0].end_unix_ns = ends[i].is_over ? AT(200) : 0;
		summary.findings = reply.finding_list;
		summary.n_findings = 1;
		trace_findings_append(&summary, &told, explain, &plain, &out);
		CHECK_INT_EQ(ends[i].name, out.n > 0, ends[i].want);
	}
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	line_test();
	shares_test();
	from_test();
	quota_test();
	between_test();
	order_test();
	summary_test();
	meaning_test();
	delay_test();
	whole_test();
	judged_test();
	meaning_order_test();
	waits_test();
	news_test();
	told_test();
	return check_result();
}
