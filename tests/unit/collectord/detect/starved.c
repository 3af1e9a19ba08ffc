// SPDX-License-Identifier: Apache-2.0
/*
 * What a driving thread waits for between its calls is named, and the worse the longer it is; who only waits for work
 * is left alone.
 */
#include "starved_play.h"

/* A second of the main thread, in milliseconds: the rest it computes. */
static const struct {
	const char *name;
	uint64_t waits;	 /* between calls */
	uint64_t device; /* in calls */
	enum blame_class class;
	enum resource_kind kind;
	uint32_t waker, waker_tid;
	const char *comm;
	bool is_forked; /* the waker, before our eyes */
	uint64_t count; /* waits a second */
	const char *cause;
	enum finding_severity severity;
	int confidence; /* percent */
	const char *title;
} cases[] = {
	{ "loader, 20 %", 200, 100, BLAME_OTHER, RESOURCE_PIPE, WORKER, WORKER, "python", true, 20, "loader",
	  FINDING_MEDIUM, 100, "python waited for data between its calls" },
	{ "loader, 50 %", 500, 100, BLAME_OTHER, RESOURCE_PIPE, WORKER, WORKER, "python", true, 20, "loader",
	  FINDING_HIGH, 100, "python waited for data between its calls" },
	{ "loader, 80 %", 800, 100, BLAME_OTHER, RESOURCE_PIPE, WORKER, WORKER, "python", true, 20, "loader",
	  FINDING_CRITICAL, 100, "python waited for data between its calls" },
	{ "loader, polled", 500, 100, BLAME_OTHER, RESOURCE_NONE, WORKER, WORKER, "pt_data_worker", true, 20, "loader",
	  FINDING_HIGH, 100, "python waited for data between its calls" },
	{ "loader, its fork not seen", 500, 100, BLAME_OTHER, RESOURCE_PIPE, WORKER, WORKER, "python", false, 20,
	  "loader", FINDING_HIGH, 80, "python waited for data between its calls" },
	{ "loader, through shared memory", 500, 100, BLAME_LOCK, RESOURCE_FUTEX, WORKER, WORKER, "python", true, 20,
	  "loader", FINDING_HIGH, 100, "python waited for data between its calls" },
	{ "loader, hidden behind the device", 200, 700, BLAME_OTHER, RESOURCE_PIPE, WORKER, WORKER, "python", true, 20,
	  "loader", FINDING_LOW, 70, "python waited for data between its calls" },
	{ "loader, prefetched", 90, 100, BLAME_OTHER, RESOURCE_PIPE, WORKER, WORKER, "python", true, 20, "", 0, 0, "" },
	{ "disk", 500, 100, BLAME_BLOCK_IO, RESOURCE_INODE, 0, 0, "", false, 20, "disk", FINDING_HIGH, 100,
	  "python waited for a disk between its calls" },
	{ "disk, nothing known of it", 500, 100, BLAME_BLOCK_IO, RESOURCE_NONE, 0, 0, "", false, 0, "disk",
	  FINDING_HIGH, 100, "python waited for a disk between its calls" },
	{ "file of a server", 500, 100, BLAME_OTHER, RESOURCE_INODE, 0, 0, "", false, 20, "disk", FINDING_HIGH, 100,
	  "python waited for a disk between its calls" },
	{ "checkpoint", 500, 100, BLAME_BLOCK_IO, RESOURCE_WRITTEN, 0, 0, "", false, 2, "checkpoint", FINDING_HIGH, 100,
	  "python waited for a file to be written between its calls" },
	{ "checkpoint to a server", 500, 100, BLAME_OTHER, RESOURCE_WRITTEN, 0, 0, "", false, 2, "checkpoint",
	  FINDING_HIGH, 100, "python waited for a file to be written between its calls" },
	{ "memory", 500, 100, BLAME_MEMORY, RESOURCE_NONE, 0, 0, "", false, 0, "memory", FINDING_HIGH, 100,
	  "python waited for memory between its calls" },
	{ "GIL", 500, 100, BLAME_LOCK, RESOURCE_GIL, MAIN, 4999, "python", false, 100, "gil", FINDING_HIGH, 100,
	  "python waited for the GIL between its calls" },
	{ "lock", 500, 100, BLAME_LOCK, RESOURCE_FUTEX, MAIN, 4999, "python", false, 20, "lock", FINDING_MEDIUM, 50,
	  "python waited for a lock between its calls" },
	{ "lock of a file", 500, 100, BLAME_LOCK, RESOURCE_FILE_LOCK, EARLIER, EARLIER, "python", false, 20, "lock",
	  FINDING_HIGH, 100, "python waited for a lock between its calls" },
	{ "tool", 500, 100, BLAME_OTHER, RESOURCE_CHILD, WORKER, WORKER, "git", true, 1, "tool", FINDING_HIGH, 100,
	  "python waited for a child process between its calls" },
	{ "tool, its output", 500, 100, BLAME_OTHER, RESOURCE_PIPE, WORKER, WORKER, "git", true, 1, "tool",
	  FINDING_HIGH, 100, "python waited for a child process between its calls" },
	{ "server with a client here", 900, 50, BLAME_NETWORK, RESOURCE_PEER, WORKER, WORKER, "client", false, 5,
	  "network", FINDING_LOW, 40, "python waited for a socket between its calls" },
	{ "server, polling, with a client here", 900, 50, BLAME_OTHER, RESOURCE_NONE, WORKER, WORKER, "client", false,
	  5, "loader", FINDING_LOW, 40, "python waited for data between its calls" },
	{ "worker of a server", 900, 50, BLAME_OTHER, RESOURCE_PIPE, EARLIER, EARLIER, "python", false, 5, "loader",
	  FINDING_LOW, 40, "python waited for data between its calls" },
	{ "a child reads its output", 500, 100, BLAME_OTHER, RESOURCE_FULL_PIPE, WORKER, WORKER, "tee", true, 20,
	  "reader", FINDING_HIGH, 100, "python waited for the reader of its output between its calls" },
	{ "another process does", 500, 100, BLAME_OTHER, RESOURCE_FULL_PIPE, EARLIER, EARLIER, "python", false, 20,
	  "reader", FINDING_HIGH, 100, "python waited for the reader of its output between its calls" },
	{ "its own thread does", 500, 100, BLAME_OTHER, RESOURCE_FULL_PIPE, MAIN, 4999, "python", false, 20, "reader",
	  FINDING_MEDIUM, 50, "python waited for the reader of its output between its calls" },
	{ "server with a slow client", 900, 50, BLAME_NETWORK, RESOURCE_FULL_PEER, WORKER, WORKER, "client", false, 5,
	  "reader", FINDING_LOW, 40, "python waited for the reader of its output between its calls" },
	{ "stopped", 500, 100, BLAME_OTHER, RESOURCE_STOPPED, EARLIER, EARLIER, "bash", false, 1, "stopped",
	  FINDING_HIGH, 100, "python was stopped between its calls" },
	/* Those are well. */
	{ "lock of a file, nobody known to have it", 900, 50, BLAME_LOCK, RESOURCE_FILE_LOCK, 0, 0, "", false, 5, "", 0,
	  0, "" },
	{ "server with a client elsewhere", 900, 50, BLAME_NETWORK, RESOURCE_PEER, 0, 0, "", false, 5, "", 0, 0, "" },
	{ "server, polling", 900, 50, BLAME_OTHER, RESOURCE_NONE, 0, 0, "", false, 5, "", 0, 0, "" },
	{ "waits for work in a queue", 900, 50, BLAME_LOCK, RESOURCE_FUTEX, 0, 0, "", false, 5, "", 0, 0, "" },
	{ "waits for a terminal", 900, 50, BLAME_OTHER, RESOURCE_DEVICE, 0, 0, "", false, 5, "", 0, 0, "" },
	{ "paced", 900, 50, BLAME_SLEEP, RESOURCE_NONE, 0, 0, "", false, 50, "", 0, 0, "" },
	{ "out of its quota", 50, 50, BLAME_QUOTA, RESOURCE_CGROUP, 0, 0, "", false, 50, "", 0, 0, "" },
};

static void second_of(struct play *p, size_t i, uint64_t waits_ns)
{
	struct account *a = play_account(p, MAIN, true);
	struct account_wait wait = { .ns = waits_ns,
				     .max_ns = waits_ns,
				     .count = cases[i].count,
				     .tid = MAIN,
				     .class = (uint8_t)cases[i].class,
				     .kind = (uint8_t)cases[i].kind,
				     .resource = cases[i].kind == RESOURCE_STOPPED ? STOP_SIGNAL : 0,
				     .waker_tgid = cases[i].waker,
				     .waker_tid = cases[i].waker_tid,
				     .waker_uid = PLAY_UID,
				     .name = "train.bin" };

	play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
	play_in(a, "cudaStreamSynchronize", BLAME_DEVICE, cases[i].device * MS);
	play_between(a, cases[i].class, waits_ns);
	play_rest(a, S);
	/* PyTorch's autograd thread: idle, and no loss. */
	a = play_account(p, OTHER_THREAD, false);
	play_between(a, BLAME_LOCK, S);
	memcpy(wait.waker_comm, cases[i].comm, strlen(cases[i].comm));
	if (wait.count && waits_ns)
		play_wait(p, &wait);
	wait.tid = OTHER_THREAD;
	wait.class = BLAME_LOCK;
	wait.kind = RESOURCE_FUTEX;
	wait.waker_tgid = wait.waker_tid = MAIN;
	wait.ns = S;
	play_wait(p, &wait);
}

static void check_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const char *name = cases[i].name;
		const struct finding *f;

		p->but = "host_bound"; /* the rest of the second it computes */
		for (int second = 0; second < BEGIN + SECONDS; second++) {
			if (second == (int)(i % 2) && cases[i].is_forked)
				play_fork(p, cases[i].waker);
			second_of(p, i, cases[i].waits * MS);
			CHECK_INT_EQ(name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(name, f ? f->cause.kind : "", cases[i].cause);
		if (f) {
			bool has_who = cases[i].waker != 0;

			CHECK_INT_EQ(name, p->n_findings, 1);
			CHECK_INT_EQ(name, f->severity, cases[i].severity);
			CHECK_INT_EQ(name, f->tid, MAIN);
			CHECK_INT_EQ(name, f->cause.pid, cases[i].waker);
			CHECK_STR_EQ(name, f->cause.comm, cases[i].comm);
			CHECK_INT_EQ(name, f->cause.tid, cases[i].waker_tid);
			CHECK_INT_EQ(name, f->cause.longest.kind, cases[i].kind);
			CHECK_INT_EQ(name, f->cause.processes, has_who);
			CHECK_INT_EQ(name, f->lost_ns, (SECONDS + 1) * cases[i].waits * MS);
			CHECK_INT_EQ(name, f->blame_ns[cases[i].class], f->lost_ns);
			CHECK_INT_EQ(name, (int)(play_evidence(f, "lost_ratio") * 1000 + 0.5), cases[i].waits);
			CHECK_INT_EQ(name, (int)(f->confidence * 100 + 0.5), cases[i].confidence);
			CHECK_STR_EQ(name, f->title, cases[i].title);
			CHECK(name, f->op == NULL && f->n_advice > 0);
			if (cases[i].kind == RESOURCE_FUTEX && strcmp(f->cause.kind, "lock") == 0)
				CHECK_STR_EQ(name, f->advice[0],
					     "see what thread 4999 does while it holds the lock (this stops the "
					     "process meanwhile): sudo gdb -p 4711 "
					     "-batch -ex 'thread apply all bt'");
		}
		play_free(p);
	}
}

/* A headline has the name that all texts have, whole, and nothing in it moves a terminal. */
static void check_names(void)
{
#define SCRIPT_47 "a-script-whose-name-has-forty-seven-characters-"
	static const struct {
		const char *name, *comm;
		struct program program;
		const char *want; /* followed by what happened */
	} rows[] = {
		{ "a script", "python3", { .script = "train.py" }, "train.py" },
		{ "one of several",
		  "python3",
		  { .script = "train.py", .rank = { 3, true }, .world_size = { 8, true } },
		  "train.py rank 3" },
		{ "alone in its run",
		  "python3",
		  { .script = "train.py", .rank = { 0, true }, .world_size = { 1, true } },
		  "train.py" },
		{ "no script", "python3", { .rank = { 3, true } }, "python3 rank 3" },
		{ "nothing", "", { .script = "" }, "the process" },
		{ "an escape", "python3", { .script = "e\x1b[m" }, "e?[m" },
		{ "the longest",
		  "python3",
		  { .script = SCRIPT_47, .rank = { UINT32_MAX, true } },
		  SCRIPT_47 " rank 4294967295" },
	};
#undef SCRIPT_47
	static const char what[] = "waited for a file to be written between its calls";
	size_t row = 0;

	while (strcmp(cases[row].name, "checkpoint") != 0)
		row++;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		char want[FINDING_TITLE_BYTES];
		const struct finding *f;

		memset(p->identity.comm, 0, sizeof(p->identity.comm));
		memcpy(p->identity.comm, rows[i].comm, strlen(rows[i].comm));
		p->identity.program = rows[i].program;
		for (int second = 0; second < BEGIN + SECONDS; second++) {
			second_of(p, row, cases[row].waits * MS);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		(void)snprintf(want, sizeof(want), "%s %s", rows[i].want, what);
		CHECK_STR_EQ(rows[i].name, f ? f->title : "", want);
		play_free(p);
	}
}

/* A path is what a user makes of it: a remedy holds it as one word, and nothing in it moves a terminal. */
static void check_paths(void)
{
	static const struct {
		enum resource_kind kind;
		enum blame_class class;
		const char *path, *device, *want;
	} rows[] = {
		{ RESOURCE_INODE, BLAME_BLOCK_IO, "/data/train.bin", "sda",
		  "keep /data/train.bin in memory or on a faster disk than sda" },
		{ RESOURCE_INODE, BLAME_BLOCK_IO, "/data/a b;reboot", "",
		  "keep '/data/a b;reboot' in memory or on a faster disk" },
		{ RESOURCE_INODE, BLAME_BLOCK_IO, "/\x1b[31m", "", "keep $'/\\033[31m' in memory or on a faster disk" },
		{ RESOURCE_DEVICE, BLAME_BLOCK_IO, "", "vdb",
		  "keep what it reads in memory or on a faster disk than vdb" },
		{ RESOURCE_DEVICE, BLAME_MEMORY, "", "vdb",
		  "its page faults wait for vdb: read mapped files ahead (MADV_WILLNEED), or keep them on a faster "
		  "disk" },
		{ RESOURCE_NONE, BLAME_MEMORY, "", "", "raise memory.max of its control group, or use less memory" },
		{ RESOURCE_FILE_LOCK, BLAME_LOCK, "/cache/a.lock", "",
		  "give each process a file of its own in the place of /cache/a.lock, or hold its lock for less time" },
		{ RESOURCE_FILE_LOCK, BLAME_LOCK, "", "", "see which process holds the lock: sudo lslocks" },
		{ RESOURCE_WRITTEN, BLAME_BLOCK_IO, "/out/it's.pt", "",
		  "write '/out/it'\\''s.pt' in another thread or process, from a copy in memory" },
		{ RESOURCE_FULL_PIPE, BLAME_OTHER, "", "",
		  "write less (fewer messages of a log or progress bar), or to a file" },
		{ RESOURCE_FULL_PEER, BLAME_NETWORK, "", "", "see what the socket is: sudo ss -tnp | grep pid=4711," },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < BEGIN + SECONDS; second++) {
			enum blame_class class = rows[i].class;
			struct account_wait wait = { .ns = 500 * MS,
						     .max_ns = 50 * MS,
						     .count = 10,
						     .tid = MAIN,
						     .waker_tgid = class == BLAME_LOCK ? EARLIER : 0,
						     .waker_tid = class == BLAME_LOCK ? EARLIER : 0,
						     .class = (uint8_t) class,
						     .kind = (uint8_t)rows[i].kind };

			(void)snprintf(wait.name, sizeof(wait.name), "%s", rows[i].path);
			(void)snprintf(wait.device_name, sizeof(wait.device_name), "%s", rows[i].device);
			waiting_second(p, class, 500 * MS);
			play_wait(p, &wait);
			CHECK_INT_EQ(rows[i].want, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(rows[i].path, f ? f->advice[0] : "", rows[i].want);
		play_free(p);
	}
}

/* A second in which the main thread waits for half of it. @ends: the process ends in it */
static void half_waited(struct play *p, const struct account_wait *like, bool ends)
{
	struct account_wait wait = *like;

	wait.ns = wait.max_ns = 500 * MS;
	wait.count = 1;
	wait.tid = MAIN;
	waiting_second(p, (enum blame_class)wait.class, wait.ns);
	play_wait(p, &wait);
	if (ends)
		play_process(p)->gone_ns = p->now_ns + S / 2;
	CHECK_INT_EQ("half", play_tick(p, S), 0);
}

/*
 * What helps depends on what stopped it, or on what the wait is for. When the process has ended, another one may have
 * its number: no command has it then.
 */
static void check_ended(void)
{
#define FULL(resource, waker, uid)                                                                                     \
	{                                                                                                              \
		.class = BLAME_NETWORK, .kind = resource, .waker_tgid = waker, .waker_tid = waker, .waker_uid = uid    \
	}
#define STOP(stop)                                                                                                     \
	{                                                                                                              \
		.class = BLAME_OTHER, .kind = RESOURCE_STOPPED, .resource = stop                                       \
	}
	static const struct {
		struct account_wait wait;
		const char *want, *ended;
	} rows[] = {
		{ STOP(STOP_SIGNAL), "if it is still stopped (ps -o stat= -p 4711 shows T): kill -CONT 4711",
		  "if it is stopped again (ps -o stat= -p PID shows T), while it runs: kill -CONT PID" },
		{ STOP(STOP_DEBUGGER), "see which process debugs or traces it: grep TracerPid /proc/4711/status",
		  "see which process debugs or traces it, while it runs: grep TracerPid /proc/PID/status" },
		{ STOP(STOP_FREEZER),
		  "if it is still frozen, thaw its control group, which cat /proc/4711/cgroup names: echo 0 > "
		  "cgroup.freeze; of version 1: echo THAWED > freezer.state; docker unpause; systemctl thaw",
		  "if it is frozen again, thaw its control group, which cat /proc/PID/cgroup names: echo 0 > "
		  "cgroup.freeze; of version 1: echo THAWED > freezer.state; docker unpause; systemctl thaw" },
		{ FULL(RESOURCE_FULL_PEER, 0, PLAY_UID), "see what the socket is: sudo ss -tnp | grep pid=4711,",
		  "see what the socket is, while it runs: sudo ss -tnp | grep pid=PID," },
		{ FULL(RESOURCE_PEER, WORKER, PLAY_UID), "see what the socket is: sudo ss -tnp | grep pid=4711,",
		  "see what the socket is, while it runs: sudo ss -tnp | grep pid=PID," },
		{ FULL(RESOURCE_FULL_PIPE, 5120, PLAY_UID),
		  "see why 5120 reads so slowly (this stops the process meanwhile): sudo gdb -p 5120 -batch -ex bt, or "
		  "if it is in Python: sudo py-spy dump --pid 5120",
		  "see why its reader is so slow (this stops the process meanwhile), while it runs: sudo gdb -p PID "
		  "-batch -ex bt, or if it is in Python: sudo py-spy dump --pid PID" },
		/* A debugger would stop what another user runs. */
		{ FULL(RESOURCE_FULL_PIPE, 5120, PLAY_UID + 1), "see why 5120 reads so slowly: top -H -p 5120",
		  "see why its reader is so slow, while it runs: top -H -p PID" },
		{ FULL(RESOURCE_FULL_PIPE, 5120, 0), "see why 5120 reads so slowly: top -H -p 5120",
		  "see why its reader is so slow, while it runs: top -H -p PID" },
	};
#undef FULL
#undef STOP

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < BEGIN + SECONDS; second++)
			half_waited(p, &rows[i].wait, false);
		f = play_find(p, "starved");
		CHECK_STR_EQ(rows[i].want, f ? f->advice[0] : "", rows[i].want);
		half_waited(p, &rows[i].wait, true);
		CHECK_STR_EQ(rows[i].ended, f ? f->advice[0] : "", rows[i].ended);
		play_free(p);
	}
}

/* A run that ends before a wait was there for long is judged as a whole; while it goes on nobody knows its length. */
static void check_run(void)
{
	static const struct account_wait wait = { .class = BLAME_BLOCK_IO, .kind = RESOURCE_INODE };

	for (int ends = 0; ends < 2; ends++) {
		struct play *p = play_new(1);
		const struct finding *f;

		p->first_call_ns -= 600 * MS;
		for (int second = 0; second < 7; second++)
			half_waited(p, &wait, ends && second == 6);
		engine_finish(p->engine, p->now_ns);
		f = play_find(p, "starved");
		CHECK_INT_EQ("half of a run of 7 s", f ? f->severity : 0, ends ? FINDING_MEDIUM : FINDING_LOW);
		play_free(p);
	}
}

/* A wait of 3 s counts when it is over, as long as it was; what ticks told of it while it went on is no loss besides.
 */
static void check_open(void)
{
	struct play *p = play_new(3);
	const struct finding *f;

	for (int second = 0; second < BEGIN + 12; second++) {
		bool is_last = second % 3 == 2;
		struct account_wait wait = { .ns = is_last ? 800 * MS : 900 * MS,
					     .max_ns = (uint64_t)(second % 3 + 1) * 900 * MS,
					     .earlier_ns = is_last ? 1800 * MS : 0,
					     .count = is_last,
					     .is_open = !is_last,
					     .tid = MAIN,
					     .class = BLAME_OTHER,
					     .kind = RESOURCE_PIPE,
					     .waker_tgid = is_last ? WORKER : 0,
					     .waker_uid = PLAY_UID,
					     .waker_comm = "python" };

		play_fork(p, WORKER);
		waiting_second(p, BLAME_OTHER, 900 * MS);
		play_wait(p, &wait);
		CHECK_INT_EQ("open", play_tick(p, S), 0);
	}
	f = play_find(p, "starved");
	CHECK_STR_EQ("open", f ? f->cause.kind : "", "loader");
	CHECK_INT_EQ("waits of 2.6 s, as long as they were", f ? f->lost_ns % (2600 * MS) : 1, 0);
	CHECK_INT_IN("waits of 2.6 s, as long as they were", f ? f->lost_ns : 0, 4 * 2600 * MS, 6 * 2600 * MS);
	CHECK("seen while they lasted", f && f->lost_ns <= f->present_ns && f->present_ns <= p->now_ns - f->start_ns);
	CHECK("their share", f && play_evidence(f, "lost_ratio") > 0.8 && play_evidence(f, "lost_ratio") <= 1);
	CHECK_INT_IN("their class", f ? f->blame_ns[BLAME_OTHER] : 0, f ? f->lost_ns : 1, f ? f->present_ns : 1);
	play_free(p);
}

/*
 * Waits that began before the tick in which they end, and were too short then to be told: their loss is longer than the
 * tick. It was seen for as long as it lasted, and a worker that keeps up with none of it gets as many as there are
 * CPUs.
 */
static void check_short_open(void)
{
	struct play *p = play_new(4);
	const struct finding *f;

	for (int second = 0; second < BEGIN + 8; second++) {
		play_fork(p, WORKER);
		waiting_second(p, BLAME_OTHER, 995 * MS);
		worker_wait(p, MAIN, WORKER, second % 2 ? 1090 * MS : 980 * MS, false);
		CHECK_INT_EQ("short open", play_tick(p, S), 0);
	}
	f = play_find(p, "starved");
	CHECK_STR_EQ("short open", f ? f->cause.kind : "", "loader");
	CHECK("seen while they lasted", f && f->lost_ns <= f->present_ns && f->present_ns <= p->now_ns - f->start_ns);
	CHECK("their share", f && play_evidence(f, "lost_ratio") > 0.99 && play_evidence(f, "lost_ratio") <= 1);
	CHECK_STR_EQ("short open", f ? f->advice[0] : "",
		     "more workers while CPUs are free; if it is a PyTorch DataLoader: num_workers 1 -> 16");
	play_free(p);
}

/* Two findings of one time are two, with an id each; how many workers would do is said. */
static void check_several(void)
{
	struct play *p = play_new(1);

	for (int second = 0; second < 15; second++) {
		struct account *a = play_account(p, MAIN, true);

		play_fork(p, WORKER + (uint32_t)second);
		play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
		play_between(a, BLAME_BLOCK_IO, 200 * MS);
		play_between(a, BLAME_OTHER, 500 * MS);
		play_rest(a, S);
		for (uint32_t k = 0; k < 2; k++)
			worker_wait(p, MAIN, WORKER + k, 250 * MS, false);
		CHECK_INT_EQ("several", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("several", p->n_findings, 2);
	CHECK("several", p->findings[0].id != p->findings[1].id);
	CHECK_STR_EQ("several", p->findings[0].cause.kind, "loader");
	CHECK_STR_EQ("several", p->findings[1].cause.kind, "disk");
	CHECK_INT_EQ("several", p->findings[0].cause.processes, 2);
	CHECK_STR_EQ("several", p->findings[0].advice[0],
		     "more workers while CPUs are free; if it is a PyTorch DataLoader: num_workers 2 -> 4");
	play_free(p);
}

/* Programs that are started again and again, each time with a number of its own, are one cause by their name. */
static void check_children(void)
{
	static const struct {
		const char *name, *other; /* of every fifth child */
		const char *comm;
		double share;
		uint32_t processes;
	} rows[] = {
		{ "one program", "sh", "sh", 1, 100 },
		{ "another one now and then", "git", "sh", 0.8, 100 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;
		uint32_t pid = WORKER;

		for (int second = 0; second < BEGIN - 1 + 20; second++) {
			waiting_second(p, BLAME_OTHER, 900 * MS);
			for (int k = 0; k < 5; k++) {
				struct account_wait wait = { .ns = 180 * MS,
							     .max_ns = 180 * MS,
							     .count = 1,
							     .tid = MAIN,
							     .class = BLAME_OTHER,
							     .kind = RESOURCE_CHILD,
							     .resource = pid,
							     .waker_tgid = pid,
							     .waker_tid = pid,
							     .waker_uid = PLAY_UID };

				(void)snprintf(wait.waker_comm, sizeof(wait.waker_comm), "%s",
					       k ? "sh" : rows[i].other);
				play_fork(p, pid++);
				play_wait(p, &wait);
			}
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(rows[i].name, f ? f->cause.kind : "", "tool");
		CHECK_STR_EQ(rows[i].name, f ? f->cause.comm : "", rows[i].comm);
		CHECK_INT_EQ(rows[i].name, f ? f->cause.processes : 0, rows[i].processes);
		CHECK_INT_EQ(rows[i].name, f ? (int)(f->cause.share * 1000 + 0.5) : 0, (int)(rows[i].share * 1000));
		CHECK_INT_EQ("the last of them", f ? f->cause.pid : 0, pid - 5 + (i == 1));
		CHECK_INT_EQ(rows[i].name, f ? f->cause.others[0].pid : 1, 0);
		CHECK_INT_EQ(rows[i].name, p->n_findings, 1);
		play_free(p);
	}
}

/* Half of its time it waits for the disk: milliseconds of that whose file is known, since they were long waits. */
static const struct {
	const char *name;
	uint64_t read, written;
	const char *cause;
	uint64_t lost; /* milliseconds of each second */
} short_waits[] = {
	{ "none of them known", 0, 0, "disk", 500 },
	{ "mostly reads known", 200, 50, "disk", 450 },
	{ "mostly writes known", 50, 200, "checkpoint", 450 },
	{ "few known, all writes", 0, 50, "checkpoint", 500 },
};

static void check_short_waits(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_waits); i++) {
		struct account_wait wait = { .max_ns = 5 * MS, .count = 10, .tid = MAIN, .class = BLAME_BLOCK_IO };
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < BEGIN + SECONDS; second++) {
			waiting_second(p, BLAME_BLOCK_IO, 500 * MS);
			wait.ns = short_waits[i].read * MS;
			wait.kind = RESOURCE_INODE;
			if (wait.ns)
				play_wait(p, &wait);
			wait.ns = short_waits[i].written * MS;
			wait.kind = RESOURCE_WRITTEN;
			if (wait.ns)
				play_wait(p, &wait);
			CHECK_INT_EQ(short_waits[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(short_waits[i].name, f ? f->cause.kind : "", short_waits[i].cause);
		CHECK_INT_EQ(short_waits[i].name, f ? f->lost_ns : 0, (SECONDS + 1) * short_waits[i].lost * MS);
		play_free(p);
	}
}

/*
 * Most waits for a disk are too short to be told singly: the file is that of the longest so far, even of the time
 * before it is looked at; how many they were and how long the longest was is told only where it is known of most.
 */
static void check_known(void)
{
	static const struct {
		const char *name;
		enum blame_class class;
		enum resource_kind kind;
		const char *path, *device;
		int seconds;	       /* in which single waits are told, from the first on */
		uint64_t ms, tid;      /* of each */
		const char *advice;    /* the first */
		int waits, longest_ms; /* -1: not told */
	} rows[] = {
		{ "a file, early", BLAME_BLOCK_IO, RESOURCE_INODE, "/data/a.bin", "vda", 2, 2, MAIN,
		  "keep /data/a.bin in memory or on a faster disk than vda", -1, -1 },
		{ "a disk, early", BLAME_MEMORY, RESOURCE_DEVICE, "", "vdb", 2, 2, MAIN,
		  "its page faults wait for vdb: read mapped files ahead (MADV_WILLNEED), or keep them on a faster "
		  "disk",
		  -1, -1 },
		{ "a file of another thread", BLAME_BLOCK_IO, RESOURCE_INODE, "/data/a.bin", "vda", 2, 2, OTHER_THREAD,
		  "prefetch the data in another process; in a PyTorch DataLoader: num_workers", -1, -1 },
		{ "some of them", BLAME_BLOCK_IO, RESOURCE_INODE, "/data/a.bin", "", BEGIN + 10, 100, MAIN,
		  "keep /data/a.bin in memory or on a faster disk", -1, -1 },
		{ "most of them", BLAME_BLOCK_IO, RESOURCE_INODE, "/data/a.bin", "", BEGIN + 10, 400, MAIN,
		  "keep /data/a.bin in memory or on a faster disk", 110, 400 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < BEGIN + 10; second++) {
			struct account_wait wait = { .ns = rows[i].ms * MS,
						     .max_ns = rows[i].ms * MS,
						     .count = 10,
						     .tid = (uint32_t)rows[i].tid,
						     .class = (uint8_t)rows[i].class,
						     .kind = (uint8_t)rows[i].kind };

			(void)snprintf(wait.name, sizeof(wait.name), "%s", rows[i].path);
			(void)snprintf(wait.device_name, sizeof(wait.device_name), "%s", rows[i].device);
			waiting_second(p, rows[i].class, 600 * MS);
			if (second < rows[i].seconds)
				play_wait(p, &wait);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(rows[i].name, f ? f->advice[0] : "", rows[i].advice);
		CHECK_INT_EQ(rows[i].name, f ? (int)play_evidence(f, "waits") : 0, rows[i].waits);
		CHECK_INT_EQ(rows[i].name, f ? (int64_t)play_evidence(f, "longest_wait_ns") : 0,
			     rows[i].longest_ms < 0 ? -1 : rows[i].longest_ms * (int64_t)MS);
		CHECK_INT_EQ(rows[i].name, f ? f->cause.longest.kind : 0, rows[i].tid == MAIN ? rows[i].kind : 0);
		play_free(p);
	}
}

/* Seconds in which it waits for the first row of cases, with pauses. */
static const struct {
	const char *name;
	int waits, pause;
	uint64_t ms;
	enum finding_severity severity; /* at most */
} epochs[] = {
	{ "the first batch of an epoch", 3, 30, 900, FINDING_LOW },
	{ "a slow batch", 1, 40, 900, FINDING_LOW },
	{ "most of the time", 8, 4, 900, FINDING_CRITICAL },
};

static void check_epochs(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(epochs); i++) {
		struct play *p = play_new(i);
		enum finding_severity worst = 0;

		p->but = "host_bound";
		for (int second = 0; second < 200; second++) {
			bool is_waiting = second % (epochs[i].waits + epochs[i].pause) < epochs[i].waits;

			second_of(p, 0, is_waiting ? epochs[i].ms * MS : 0);
			CHECK_INT_EQ(epochs[i].name, play_tick(p, S), 0);
		}
		for (size_t k = 0; k < p->n_findings; k++)
			worst = MAX(worst, p->findings[k].severity);
		CHECK_INT_EQ(epochs[i].name, worst, epochs[i].severity);
		play_free(p);
	}
}

/* A process that begins, and one without calls, are no matter of this. */
static void check_others(void)
{
	struct play *p = play_new(1);

	p->but = "host_bound";
	for (int second = 0; second < BEGIN - 1; second++) {
		second_of(p, 2, 900 * MS);
		CHECK_INT_EQ("begins", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("begins", p->n_findings, 0);
	for (int second = 0; second < 100; second++) {
		second_of(p, 2, 0);
		CHECK_INT_EQ("well", play_tick(p, S), 0);
	}
	for (int second = 0; second < 100; second++) {
		struct account *a = play_account(p, MAIN, true);

		play_between(a, BLAME_OTHER, S);
		CHECK_INT_EQ("no calls", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("no calls", p->n_findings, 0);
	play_free(p);
}

/* A process that forks and ends without a call is not remembered. */
static void check_forgets(void)
{
	struct play *p = play_new(1);
	struct engine_counts counts;

	play_fork(p, WORKER);
	engine_counts(p->engine, &counts);
	CHECK_INT_EQ("forked", counts.processes, 1);
	play_exit(p);
	engine_counts(p->engine, &counts);
	CHECK_INT_EQ("ended", counts.processes, 0);
	play_free(p);
}

int main(void)
{
	check_forgets();
	check_cases();
	check_names();
	check_paths();
	check_ended();
	check_run();
	check_open();
	check_short_open();
	check_several();
	check_children();
	check_short_waits();
	check_known();
	check_epochs();
	check_others();
	return check_result();
}
