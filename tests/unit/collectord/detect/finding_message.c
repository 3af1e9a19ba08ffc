// SPDX-License-Identifier: Apache-2.0
/*
 * The message has everything of a finding, and what was not measured is absent from it.
 */
#include "detect/finding_message.h"

#include "play.h"

static uint64_t unix_clock(uint64_t monotonic_ns, void *data)
{
	return monotonic_ns + *(const uint64_t *)data;
}

static struct finding sample(void)
{
	struct finding f = {
		.id = 0x8f3a2c,
		.kind = "cpu_contention",
		.severity = FINDING_HIGH,
		.confidence = 0.75,
		.process = { .tgid = 4711,
			     .uid = 1000,
			     .exec_gen = 2,
			     .start_unix_ns = 77,
			     .comm = "sixteen letters!" },
		.tid = 4713,
		.tid_lost_ns = 5,
		.op = play_find_op("cudaStreamSynchronize"),
		.start_ns = 5,
		.present_ns = 8,
		.recurrence = 3,
		.lost_ns = 6,
		.calls = 10,
		.slow_calls = 4,
		.usual_ns = 1,
		.p99_ns = 2,
		.max_ns = 3,
		.blame_ns = { 11, 12, 13 },
		.measured = MEASURED(BLAME_ON_CPU) | MEASURED(BLAME_RUNNABLE),
		.cause = { .kind = "cpu_contention",
			   .pid = 6603,
			   .uid = 1,
			   .comm = "logrotate",
			   .share = 0.5,
			   .processes = 3,
			   .others = { { .pid = 6604, .uid = 2, .comm = "updatedb", .share = 0.25, .same_name = 7 } } },
		.evidence = { { "runnable_ns", 6, FINDING_UNIT_NS }, { "lost_ratio", 0.25, FINDING_UNIT_RATIO } },
		.n_evidence = 2,
		.call = { { .start_ns = 7, .duration_ns = 2, .tid = 4712 } },
		.n_calls = 1,
		.from = { .file = "train.py", .func = "for\x1bward", .line = 142 },
		.title = "cudaStreamSynchronize waited for the CPU",
		.advice = { "renice" },
		.n_advice = 1,
	};

	return f;
}

static void check_all(void)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct finding f = sample();
	uint64_t offset_ns = 1000;
	Ingero__V1__Finding *m = finding_to_message(&f, 9, unix_clock, &offset_ns, &arena);

	memset(&f, 0xff, sizeof(f)); /* the message owns what it says */
	CHECK_STR_EQ("id", m->id, "00000000008f3a2c");
	CHECK_STR_EQ("its line", m->from ? m->from->file : "", "train.py");
	CHECK_STR_EQ("without control characters", m->from ? m->from->func : "", "for?ward");
	CHECK_INT_EQ("its line", m->from ? m->from->line : 0, 142);
	CHECK_STR_EQ("kind", m->kind, "cpu_contention");
	CHECK_STR_EQ("severity", m->severity, "HIGH");
	CHECK("confidence", m->confidence == 0.75);
	CHECK_INT_EQ("pid", m->pid, 4711);
	CHECK_INT_EQ("tid", m->tid_told_case ? m->tid : 0, 4713);
	CHECK_INT_EQ("its part", m->tid_lost_ns_told_case ? m->tid_lost_ns : 0, 5);
	CHECK_STR_EQ("process_name", m->process_name, "sixteen letters!");
	CHECK_INT_EQ("uid", m->uid, 1000);
	CHECK_INT_EQ("start of the process", m->start_time_unix_ns, 77);
	CHECK_INT_EQ("exec_generation", m->exec_generation, 2);
	CHECK_STR_EQ("source", m->source, "cuda");
	CHECK_STR_EQ("op", m->op, "cudaStreamSynchronize");
	CHECK_INT_EQ("start", m->start_unix_ns, 1005);
	CHECK_INT_EQ("goes on", m->end_unix_ns, 0);
	CHECK_INT_EQ("present", m->present_ns, 8);
	CHECK_INT_EQ("recurrence", m->recurrence, 3);
	CHECK_INT_EQ("lost", m->lost_ns, 6);
	CHECK_INT_EQ("calls", m->calls, 10);
	CHECK_INT_EQ("slow_calls", m->slow_calls, 4);
	CHECK_INT_EQ("usual", m->usual_ns, 1);
	CHECK_INT_EQ("p99", m->p99_ns, 2);
	CHECK_INT_EQ("max", m->max_ns, 3);
	CHECK_STR_EQ("cause", m->cause->kind, "cpu_contention");
	CHECK_STR_EQ("cause", m->cause->comm, "logrotate");
	CHECK_INT_EQ("cause", m->cause->pid, 6603);
	CHECK_INT_EQ("cause", m->cause->uid, 1);
	CHECK("cause", m->cause->share == 0.5);
	CHECK_INT_EQ("cause", m->cause->processes, 3);
	CHECK_INT_EQ("others", m->cause->n_others, 1);
	CHECK_INT_EQ("others", m->cause->others[0]->pid, 6604);
	CHECK_INT_EQ("others", m->cause->others[0]->uid, 2);
	CHECK_STR_EQ("others", m->cause->others[0]->comm, "updatedb");
	CHECK("others", m->cause->others[0]->share == 0.25);
	CHECK_INT_EQ("blame", m->blame_ns->on_cpu, 11);
	CHECK_INT_EQ("blame", m->blame_ns->runnable, 12);
	CHECK("measured", m->blame_ns->has_runnable);
	CHECK("not measured", !m->blame_ns->has_quota && !m->blame_ns->has_other);
	CHECK_INT_EQ("evidence", m->n_evidence, 2);
	CHECK_STR_EQ("evidence", m->evidence[1]->name, "lost_ratio");
	CHECK_STR_EQ("evidence", m->evidence[0]->unit, "ns");
	CHECK_STR_EQ("evidence", m->evidence[1]->unit, "ratio");
	CHECK("evidence", m->evidence[1]->value == 0.25);
	CHECK_STR_EQ("advice", m->advice[0], "renice");
	CHECK_INT_EQ("advice", m->n_advice, 1);
	CHECK_STR_EQ("title", m->title, "cudaStreamSynchronize waited for the CPU");
	CHECK_INT_EQ("examples", m->n_examples, 1);
	CHECK_STR_EQ("examples", m->examples[0]->id, "9.7.4712");
	CHECK_INT_EQ("examples", m->examples[0]->timestamp_unix_ns, 1007);
	CHECK_INT_EQ("examples", m->examples[0]->duration_ns, 2);
}

static void check_absent(void)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct finding f = {
		.id = 1, .kind = "k", .severity = FINDING_LOW, .cause.kind = "k", .n_calls = 1, .end_ns = 4
	};
	uint64_t offset_ns = 1000;
	Ingero__V1__Finding *m = finding_to_message(&f, 0, unix_clock, &offset_ns, &arena);

	CHECK_STR_EQ("no operation", m->op, "");
	CHECK_STR_EQ("no operation", m->source, "");
	CHECK_INT_EQ("no thread", m->tid_told_case, 0);
	CHECK_INT_EQ("nor its part", m->tid_lost_ns_told_case, 0);
	CHECK_STR_EQ("kept nowhere", m->examples[0]->id, "");
	CHECK_INT_EQ("over", m->end_unix_ns, 1004);
}

static bool is_this(uint32_t uid, bool is_guarded, void *this)
{
	return uid == *(const uint32_t *)this && !is_guarded;
}

/* The advice names a process as much as the cause does. */
static void check_hidden(void)
{
	static const struct {
		const char *name;
		uint32_t reader;
		const char *title, *comm, *want_title;
		uint32_t want_pid, want_other;
		bool is_guarded; /* the largest, the other, and the last of the chain */
	} cases[] = {
		{ "who it was is told nowhere", 1000, "cudaMalloc waited for the CPU", "logrotate",
		  "cudaMalloc waited for the CPU", 0, 0, false },
		{ "in the title", 1000, "cudaMalloc waited behind logrotate", "logrotate", "", 0, 0, false },
		{ "nobody", 1000, "cudaMalloc waited", "", "cudaMalloc waited", 0, 0, false },
		{ "the largest is the reader's", 1, "cudaMalloc waited behind updatedb", "logrotate", "", 6603, 0,
		  false },
		{ "another is the reader's", 2, "cudaMalloc waited", "logrotate", "cudaMalloc waited", 0, 6604, false },
		{ "the largest is the reader's, who may not inspect it", 1, "cudaMalloc waited behind logrotate",
		  "logrotate", "", 0, 0, true },
		{ "another is the reader's, who may not inspect it", 2, "cudaMalloc waited", "logrotate",
		  "cudaMalloc waited", 0, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_done) struct arena arena = ARENA_INIT;
		struct finding f = sample();
		uint64_t offset_ns = 1000;
		uint32_t reader = cases[i].reader;
		Ingero__V1__Finding *m;

		(void)snprintf(f.title, sizeof(f.title), "%s", cases[i].title);
		memset(f.cause.comm, 0, sizeof(f.cause.comm));
		memcpy(f.cause.comm, cases[i].comm, strlen(cases[i].comm));
		f.cause.tid = 6605;
		f.cause.is_guarded = f.cause.others[0].is_guarded = cases[i].is_guarded;
		f.cause.chain = (struct finding_chain){
			.ns = 9,
			.n = 2,
			.hop = { { .pid = 5,
				   .tid = 6,
				   .uid = reader,
				   .comm = "mine",
				   .is_known = true,
				   .class = BLAME_BLOCK_IO,
				   .kind = RESOURCE_INODE,
				   .name = "train.bin",
				   .ns = 7 },
				 { .pid = 7,
				   .tid = 8,
				   .uid = cases[i].is_guarded ? reader : 3,
				   .is_guarded = cases[i].is_guarded,
				   .comm = "other" } },
		};
		m = finding_to_message(&f, 9, unix_clock, &offset_ns, &arena);
		finding_message_hide(m, is_this, &reader);
		CHECK_INT_EQ(cases[i].name, m->cause->pid, cases[i].want_pid);
		CHECK_INT_EQ(cases[i].name, m->cause->tid, cases[i].want_pid ? 6605 : 0);
		CHECK_STR_EQ(cases[i].name, m->cause->comm, cases[i].want_pid ? cases[i].comm : "");
		CHECK_INT_EQ(cases[i].name, m->cause->others[0]->pid, cases[i].want_other);
		CHECK_STR_EQ(cases[i].name, m->cause->others[0]->comm, cases[i].want_other ? "updatedb" : "");
		CHECK_INT_EQ(cases[i].name, m->cause->n_chain, 2);
		CHECK_INT_EQ(cases[i].name, m->cause->chain_ns, 9);
		CHECK_INT_EQ(cases[i].name, m->cause->chain[0]->by->pid, 5);
		CHECK_STR_EQ(cases[i].name, m->cause->chain[0]->class_, "block_io");
		CHECK_STR_EQ(cases[i].name, m->cause->chain[0]->resource->name, "train.bin");
		CHECK_INT_EQ(cases[i].name, m->cause->chain[1]->by->pid, 0);
		CHECK_INT_EQ(cases[i].name, m->cause->chain[1]->by->tid, 0);
		CHECK_INT_EQ(cases[i].name, m->cause->chain[1]->by->uid, cases[i].is_guarded ? reader : 3);
		CHECK_INT_EQ(cases[i].name, m->cause->guarded_told_case, 0);
		CHECK_INT_EQ(cases[i].name, m->cause->others[0]->guarded_told_case, 0);
		CHECK_INT_EQ(cases[i].name, m->cause->chain[1]->by->guarded_told_case, 0);
		CHECK_STR_EQ(cases[i].name, m->cause->chain[1]->by->comm, "");
		CHECK_STR_EQ(cases[i].name, m->cause->chain[1]->class_, "");
		CHECK_INT_EQ(cases[i].name, m->n_advice, 0);
		CHECK_STR_EQ(cases[i].name, m->title, cases[i].want_title);
		CHECK_INT_EQ(cases[i].name, m->pid, 4711);
	}
}

/* Processes that the reader may not know have one name for all of them. */
static void check_several_hidden(void)
{
	static const struct {
		const char *name;
		uint32_t pid, processes;
		const char *want;
	} cases[] = {
		{ "all hidden", 0, 4, "cpu_contention: behind 3 processes of other users and 1 more" },
		{ "others hidden", 6603, 3, "cpu_contention: behind logrotate (pid 6603), 2 processes of other users" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Finding m = INGERO__V1__FINDING__INIT;
		Ingero__V1__Cause cause = INGERO__V1__CAUSE__INIT;
		Ingero__V1__Culprit hidden = INGERO__V1__CULPRIT__INIT, *others[] = { &hidden, &hidden };
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		m.pid = 4711;
		m.uid = 1000;
		m.cause = &cause;
		cause.kind = (char *)(uintptr_t) "cpu_contention";
		cause.comm = (char *)(uintptr_t) "logrotate";
		cause.pid = cases[i].pid;
		cause.processes = cases[i].processes;
		cause.others = others;
		cause.n_others = ARRAY_SIZE(others);
		finding_message_words(&cause, m.pid);
		finding_message_cause(&m, &out);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
}

/* Many processes of one name are told by their number, and only to who may know the name. */
static bool may_name_uid(uint32_t uid, bool is_guarded, void *data)
{
	return !is_guarded && uid == *(const uint32_t *)data;
}

static void check_same_name(void)
{
	static const struct {
		const char *name;
		uint32_t reader, cause_n, other_n;
		const char *want;
	} cases[] = {
		{ "the other's reader", 2, 0, 7,
		  "cpu_contention: behind another user's process, updatedb (7 processes)" },
		{ "the cause's reader", 1, 12, 0,
		  "cpu_contention: behind logrotate (12 processes), another user's process" },
		{ "nobody's", 3, 0, 0, "cpu_contention: behind 2 processes of other users" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_done) struct arena arena = ARENA_INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		struct finding f = sample();
		Ingero__V1__Finding *m;
		uint32_t reader = cases[i].reader;
		uint64_t offset_ns = 1000;

		f.cause.same_name = 12;
		f.cause.processes = 2;
		m = finding_to_message(&f, 0, unix_clock, &offset_ns, &arena);
		CHECK_INT_EQ(cases[i].name, m->cause->same_name, 12);
		CHECK_INT_EQ(cases[i].name, m->cause->others[0]->same_name, 7);
		finding_message_hide(m, may_name_uid, &reader);
		CHECK_INT_EQ(cases[i].name, m->cause->same_name, cases[i].cause_n);
		CHECK_INT_EQ(cases[i].name, m->cause->same_name_told_case != 0, cases[i].cause_n != 0);
		CHECK_INT_EQ(cases[i].name, m->cause->others[0]->same_name, cases[i].other_n);
		CHECK_INT_EQ(cases[i].name, m->cause->others[0]->same_name_told_case != 0, cases[i].other_n != 0);
		CHECK_INT_EQ(cases[i].name, m->cause->processes, 2);
		finding_message_cause(m, &out);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
}

/* Of several threads of the process itself one is named, if its name says more than that of the process. */
static void check_own(void)
{
	Ingero__V1__Finding m = INGERO__V1__FINDING__INIT;
	Ingero__V1__Cause cause = INGERO__V1__CAUSE__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	m.pid = 4711;
	m.process_name = (char *)(uintptr_t) "python";
	m.cause = &cause;
	cause.kind = (char *)(uintptr_t) "cpu_contention";
	cause.comm = (char *)(uintptr_t) "pt_autograd_0";
	cause.pid = 4711;
	cause.processes = 1;
	finding_message_words(&cause, m.pid);
	finding_message_cause(&m, &out);
	CHECK_STR_EQ("a thread's name", buf_text(&out),
		     "cpu_contention: behind its own other threads (such as pt_autograd_0)");
}

/* The cause of each detector in the words that everybody reads, and those that programs get. */
static void check_words(void)
{
	static const struct {
		const char *name;
		const char *kind;
		uint32_t pid, tid, processes;
		const char *words, *takes, *cause;
		const char *resource; /* what was waited for; NULL: not known */
		double share;	      /* of the one that is named */
	} cases[] = {
		{ "one", "cpu_contention", 6603, 0, 1, "behind", "runnable",
		  "cpu_contention: behind logrotate (pid 6603)", NULL, 0 },
		{ "itself", "cpu_contention", 4711, 0, 1, "behind", "runnable",
		  "cpu_contention: behind its own other threads", NULL, 0 },
		{ "hidden", "cpu_contention", 0, 0, 1, "behind", "runnable",
		  "cpu_contention: behind another user's process", NULL, 0 },
		{ "one of many", "cpu_contention", 6603, 0, 16, "behind many processes, such as", "runnable",
		  "cpu_contention: behind many processes, such as logrotate (pid 6603)", NULL, 0.035 },
		{ "one of several", "cpu_contention", 6603, 0, 3, "behind", "runnable",
		  "cpu_contention: behind logrotate (pid 6603)", NULL, 0.3 },
		{ "nobody known", "cpu_contention", 0, 0, 0, "", "runnable", "cpu_contention", NULL, 0 },
		{ "a quota", "cpu_quota", 0, 0, 0, "out of its CPU quota", "quota", "cpu_quota: out of its CPU quota",
		  NULL, 0 },
		{ "killed for another", "oom_kill", 6603, 0, 1, "through", "", "oom_kill: through logrotate (pid 6603)",
		  NULL, 0 },
		{ "killed for itself", "oom_kill", 4711, 0, 1, "", "", "oom_kill", NULL, 0 },
		{ "copies", "memcpy_share", 0, 0, 0, "", "", "memcpy_share", NULL, 0 },
		{ "a worker", "loader", 6603, 0, 1, "waits for data from", "",
		  "loader: waits for data from logrotate (pid 6603)", NULL, 0 },
		{ "its own threads", "gil", 4711, 0, 1, "waits for the GIL held by", "lock",
		  "gil: waits for the GIL held by its own other threads", NULL, 0 },
		{ "a thread of its own", "gil", 4711, 4715, 1, "waits for the GIL held by", "lock",
		  "gil: waits for the GIL held by its own thread 4715", NULL, 0 },
		{ "a disk", "disk", 0, 0, 0, "waits for a disk", "block_io", "disk: waits for a disk", NULL, 0 },
		{ "a lock", "lock", 4711, 4715, 1, "waits for a lock released by", "lock",
		  "lock: waits for a lock released by its own thread 4715", NULL, 0 },
		{ "a socket", "network", 6603, 0, 1, "waits for a socket from", "network",
		  "network: waits for a socket from logrotate (pid 6603)", NULL, 0 },
		{ "a child", "tool", 6603, 0, 1, "waits for its child process", "",
		  "tool: waits for its child process logrotate (pid 6603)", NULL, 0 },
		{ "one of many children", "tool", 6603, 0, 39, "waits for its child processes, such as", "",
		  "tool: waits for its child processes, such as logrotate (pid 6603)", NULL, 0 },
		{ "one of several workers", "loader", 6603, 0, 2, "waits for data from", "",
		  "loader: waits for data from logrotate (pid 6603)", NULL, 0 },
		{ "a child, whose end is waited for", "tool", 6603, 0, 1, "waits for its child process", "other",
		  "tool: waits for its child process logrotate (pid 6603)", "child", 0 },
		{ "a worker, through a pipe", "loader", 6603, 0, 1, "waits for data from", "other",
		  "loader: waits for data from logrotate (pid 6603)", "pipe", 0 },
		{ "a worker, through shared memory", "loader", 6603, 0, 1, "waits for data from", "lock",
		  "loader: waits for data from logrotate (pid 6603)", "futex", 0 },
		{ "a disk, by a file", "disk", 0, 0, 0, "waits for a disk", "block_io", "disk: waits for a disk",
		  "inode", 0 },
		{ "of Ingero", "coincidence", 0, 0, 0, "", "", "coincidence", NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Finding m = INGERO__V1__FINDING__INIT;
		Ingero__V1__Cause cause = INGERO__V1__CAUSE__INIT;
		Ingero__V1__Resource resource = INGERO__V1__RESOURCE__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		m.pid = 4711;
		m.uid = 1000;
		m.process_name = (char *)(uintptr_t) "logrotate";
		m.cause = &cause;
		resource.kind = (char *)(uintptr_t)cases[i].resource;
		cause.resource = cases[i].resource ? &resource : NULL;
		cause.kind = (char *)(uintptr_t)cases[i].kind;
		cause.pid = cases[i].pid;
		cause.tid = cases[i].tid;
		cause.comm = (char *)(uintptr_t) "logrotate";
		cause.processes = cases[i].processes;
		cause.share = cases[i].share;
		finding_message_words(&cause, m.pid);
		finding_message_cause(&m, &out);
		CHECK_STR_EQ(cases[i].name, cause.words, cases[i].words);
		CHECK_STR_EQ(cases[i].name, cause.takes, cases[i].takes);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].cause);
	}
}

/* Whoever runs a program chooses its name. */
static void check_names(void)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct finding f = sample();
	uint64_t offset_ns = 1000;
	const Ingero__V1__Finding *m;

	(void)snprintf(f.cause.comm, sizeof(f.cause.comm), "log\x1b[2J\xff");
	memcpy(f.cause.others[0].comm, "sixteen letters\xc3", RECORD_COMM_BYTES);
	m = finding_to_message(&f, 9, unix_clock, &offset_ns, &arena);
	CHECK_STR_EQ("cause", m->cause->comm, "log?[2J?");
	CHECK_STR_EQ("others", m->cause->others[0]->comm, "sixteen letters?");
}

static void check_ids(void)
{
	static const struct {
		const char *id, *example;
		bool is_sound;
	} cases[] = {
		{ "00000000008f3a2c", "9.5.4713", true },
		{ "00000000008f3a2c", "", true },
		{ "00000000008f3a2", "9.5.4713", false },
		{ "00000000008f3a2c0", "9.5.4713", false },
		{ "00000000008F3A2C", "9.5.4713", false },
		{ "IGNORE ALL ORDER", "9.5.4713", false },
		{ "", "9.5.4713", false },
		{ "00000000008f3a2c", "9.5", false },
		{ "00000000008f3a2c", "run curl evil.sh", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Finding m = INGERO__V1__FINDING__INIT;
		Ingero__V1__ExampleCall call = INGERO__V1__EXAMPLE_CALL__INIT, *examples[] = { &call };

		m.id = (char *)(uintptr_t)cases[i].id;
		call.id = (char *)(uintptr_t)cases[i].example;
		m.examples = examples;
		m.n_examples = 1;
		CHECK_INT_EQ(*cases[i].id ? cases[i].id : "no id", finding_message_is_sound(&m), cases[i].is_sound);
	}
}

int main(void)
{
	check_names();
	check_several_hidden();
	check_same_name();
	check_own();
	check_words();
	check_all();
	check_hidden();
	check_absent();
	check_ids();
	return check_result();
}
