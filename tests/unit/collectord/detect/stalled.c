// SPDX-License-Identifier: Apache-2.0
/*
 * A process that made calls and then only waits is named with what it waits for; one that has nothing to do is not.
 */
#include "play.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRAINED 10 /* seconds with calls before */

static const struct {
	const char *name;
	uint32_t tid;
	enum blame_class class;
	enum resource_kind kind; /* RESOURCE_NONE: no wait is told */
	int pause;		 /* seconds without calls, while it trained */
	int seconds;		 /* without calls */
	int busy;		 /* percent of its clock it computes meanwhile */
	const char *cause;	 /* "": nothing */
	enum finding_severity severity;
	const char *advice; /* the first; NULL: where its threads are */
} cases[] = {
	{ "young", PLAY_PID, BLAME_LOCK, RESOURCE_NONE, 0, 10, 0, "", 0, NULL },
	{ "a lock", PLAY_PID, BLAME_LOCK, RESOURCE_NONE, 0, 20, 0, "lock", FINDING_LOW, NULL },
	{ "a lock, nothing else", PLAY_PID, BLAME_LOCK, RESOURCE_NONE, 0, 700, 0, "lock", FINDING_LOW, NULL },
	{ "the GIL", 5000, BLAME_LOCK, RESOURCE_GIL, 0, 20, 0, "gil", FINDING_LOW, NULL },
	{ "a pipe", PLAY_PID, BLAME_OTHER, RESOURCE_PIPE, 0, 20, 0, "loader", FINDING_LOW,
	  "it waits for the pipe '/data/my set': see who has it open: sudo fuser -v '/data/my set'" },
	{ "a child", PLAY_PID, BLAME_OTHER, RESOURCE_CHILD, 0, 20, 0, "tool", FINDING_LOW,
	  "it waits for the end of process 4026; see what that process does (this stops the process meanwhile): sudo "
	  "gdb -p 4026 -batch -ex bt" },
	{ "the lock of a file", PLAY_PID, BLAME_LOCK, RESOURCE_FILE_LOCK, 0, 20, 0, "lock", FINDING_LOW,
	  "it waits for the lock of the file '/data/my set'; see which process holds it: sudo lslocks" },
	{ "a reader", PLAY_PID, BLAME_OTHER, RESOURCE_FULL_PIPE, 0, 20, 0, "reader", FINDING_LOW,
	  "it waits for room in pipe:[4026]: see who should read it: sudo find /proc/[0-9]*/fd -lname "
	  "'pipe:\\[4026\\]' "
	  "2>/dev/null" },
	{ "a reader of a socket", PLAY_PID, BLAME_NETWORK, RESOURCE_FULL_PEER, 0, 20, 0, "reader", FINDING_LOW,
	  "it waits for room in the socket socket:[4026]: see who should read it: sudo ss -xtnpe" },
	{ "stopped, for a minute", PLAY_PID, BLAME_OTHER, RESOURCE_STOPPED, 0, 70, 0, "stopped", FINDING_HIGH,
	  "if it is still stopped (ps -o stat= -p 4711 shows T): kill -CONT 4711" },
	{ "a disk", PLAY_PID, BLAME_BLOCK_IO, RESOURCE_NONE, 0, 20, 0, "disk", FINDING_LOW, NULL },
	{ "a disk, longer", 5000, BLAME_BLOCK_IO, RESOURCE_NONE, 0, 40, 0, "disk", FINDING_MEDIUM, NULL },
	{ "a disk, for a minute", PLAY_PID, BLAME_BLOCK_IO, RESOURCE_NONE, 0, 70, 0, "disk", FINDING_HIGH, NULL },
	{ "a disk, forever", PLAY_PID, BLAME_BLOCK_IO, RESOURCE_NONE, 0, 700, 0, "disk", FINDING_CRITICAL, NULL },
	{ "a server of a network file system", PLAY_PID, BLAME_OTHER, RESOURCE_INODE, 0, 70, 0, "disk", FINDING_HIGH,
	  "it waits for the file '/data/my set': see whether its disk answers" },
	{ "a pause like those before", PLAY_PID, BLAME_LOCK, RESOURCE_NONE, 4, 70, 0, "", 0, NULL },
	{ "longer than those before", PLAY_PID, BLAME_LOCK, RESOURCE_NONE, 1, 30, 0, "lock", FINDING_LOW, NULL },
	/* Those have nothing to do. */
	{ "an empty queue", 5000, BLAME_LOCK, RESOURCE_NONE, 0, 700, 0, "", 0, NULL },
	{ "asleep", PLAY_PID, BLAME_SLEEP, RESOURCE_NONE, 0, 700, 0, "", 0, NULL },
	{ "polls", PLAY_PID, BLAME_OTHER, RESOURCE_NONE, 0, 700, 0, "", 0, NULL },
	{ "a terminal", PLAY_PID, BLAME_OTHER, RESOURCE_DEVICE, 0, 700, 0, "", 0, NULL },
	{ "a socket", PLAY_PID, BLAME_NETWORK, RESOURCE_PEER, 0, 700, 0, "", 0, NULL },
	{ "computes", PLAY_PID, BLAME_LOCK, RESOURCE_NONE, 0, 700, 20, "", 0, NULL },
};

/* Milliseconds of the last second in which a wait ends. */
#define END_MS 800

static const char names[RESOURCE_COUNT][ACCOUNT_PATH_BYTES] = {
	[RESOURCE_PIPE] = "/data/my set", [RESOURCE_INODE] = "/data/my set", [RESOURCE_FILE_LOCK] = "/data/my set"
};

static void train(struct play *p, const char *name, uint32_t tid)
{
	play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
	play_rest(play_account(p, tid, true), S);
	CHECK_INT_EQ(name, play_tick(p, S), 0);
}

static void wait_on(struct play *p, size_t i)
{
	struct account *a = play_account(p, cases[i].tid, true);

	play_between(a, cases[i].class, (uint64_t)(100 - cases[i].busy) * 10 * MS);
	play_rest(a, S);
	if (cases[i].kind) {
		struct account_wait wait = { .ns = S,
					     .max_ns = S,
					     .count = 1,
					     .tid = cases[i].tid,
					     .class = (uint8_t)cases[i].class,
					     .kind = (uint8_t)cases[i].kind,
					     .resource = cases[i].kind == RESOURCE_STOPPED ? STOP_SIGNAL : 4026,
					     .is_open = true };

		memcpy(wait.name, names[cases[i].kind], sizeof(wait.name));
		play_wait(p, &wait);
	}
	CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
}

static void wait_for(struct play *p, const struct account_wait *wait)
{
	struct account *a = play_account(p, PLAY_PID, true);

	play_between(a, (enum blame_class)wait->class, S);
	play_rest(a, S);
	play_wait(p, wait);
	CHECK_INT_EQ("wait", play_tick(p, S), 0);
}

/* The command that names who has the pipe open finds this process at both ends of a real one. */
static void check_pipe(void)
{
	static const char words[] = "see who has its other end: sudo ";
	struct account_wait wait = { .ns = S,
				     .max_ns = S,
				     .count = 1,
				     .tid = PLAY_PID,
				     .class = BLAME_OTHER,
				     .kind = RESOURCE_PIPE,
				     .is_open = true };
	struct play *p = play_new(1);
	int ends[2], n_found = 0;
	const struct finding *f;
	char want[64], line[256];
	const char *command;
	struct stat st;
	FILE *out;

	if (pipe(ends) < 0 || fstat(ends[0], &st) < 0)
		abort();
	wait.resource = st.st_ino;
	for (int second = 0; second < TRAINED; second++)
		train(p, "pipe", PLAY_PID);
	for (int second = 0; second < 20; second++)
		wait_for(p, &wait);
	f = play_find(p, "stalled");
	command = f ? strstr(f->advice[0], words) : NULL;
	CHECK("command", command);
	(void)snprintf(want, sizeof(want), "/proc/%d/fd/", getpid());
	out = popen(command ? command + strlen(words) : "false",
		    "r"); /* NOLINT(cert-env33-c): its words are the test */
	while (out && fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, want, strlen(want)) == 0)
			n_found++;
	}
	CHECK_INT_EQ("ends", n_found, 2);
	if (out)
		(void)pclose(out);
	/* When it has ended nobody finds it by its number, nor its pipe. */
	play_process(p)->gone_ns = p->now_ns + S / 2;
	wait_for(p, &wait);
	CHECK_STR_EQ("ended", f ? f->advice[0] : "",
		     "see where its threads are (this stops the process meanwhile), while it runs: sudo gdb -p PID "
		     "-batch -ex 'thread apply all bt'");
	CHECK_INT_EQ("ended", f ? f->n_advice : 0, 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	play_free(p);
}

/* A pipe's name that is written for a shell, and does not fit as one word, is in no command. */
static void check_hostile_name(enum resource_kind kind)
{
	static const char order[] = ";id>pwned;'";
	struct account_wait wait = { .ns = S,
				     .max_ns = S,
				     .count = 1,
				     .tid = PLAY_PID,
				     .class = BLAME_OTHER,
				     .kind = (uint8_t)kind,
				     .is_open = true };
	struct play *p = play_new(1);
	const struct finding *f;

	memset(wait.name, '\'', 81);
	memcpy(wait.name + 81, order, sizeof(order));
	for (int second = 0; second < TRAINED; second++)
		train(p, "pipe", PLAY_PID);
	for (int second = 0; second < 20; second++)
		wait_for(p, &wait);
	f = play_find(p, "stalled");
	CHECK("found", f && f->n_advice);
	for (size_t i = 0; f && i < f->n_advice; i++)
		CHECK("no order", !strstr(f->advice[i], "id>pwned") && !strstr(f->advice[i], "''"));
	CHECK_STR_EQ("another way", f ? f->advice[0] : "",
		     kind == RESOURCE_PIPE
			     ? "it waits for a named pipe: see which one: sudo ls -l /proc/4711/fd"
			     : "it waits for room in a named pipe: see which one: sudo ls -l /proc/4711/fd");
	play_free(p);
}

/* A thread waits for so many seconds and a part of one, and goes on: one wait is told once, whole. */
static const struct {
	const char *name;
	enum blame_class class;
	enum resource_kind kind;
	uint32_t waker;
	int seconds;
	const char *cause, *words;
	uint64_t stalled_ms, starved_ms; /* lost, by findings of these kinds */
} ends[] = {
	{ "a pipe", BLAME_OTHER, RESOURCE_PIPE, 4720, 21, "loader", "python made no calls for a long time",
	  21000 + END_MS, 0 },
	{ "a pipe, shorter", BLAME_OTHER, RESOURCE_PIPE, 4720, 5, "", "", 0, 5000 + END_MS },
	{ "a lock", BLAME_LOCK, RESOURCE_FUTEX, PLAY_PID, 30, "lock", "python made no calls for a long time",
	  30000 + END_MS, 0 },
	{ "a disk, as it goes on", BLAME_BLOCK_IO, RESOURCE_INODE, 0, 30, "disk",
	  "python made no calls for a long time", 20000 + END_MS, 10000 },
};

static void ended(struct play *p, size_t i, int second)
{
	bool is_open = second < ends[i].seconds;
	uint64_t ns = is_open ? S : END_MS * MS;
	struct account *a = play_account(p, PLAY_PID, true);

	play_between(a, ends[i].class, ns);
	play_rest(a, S);
	play_wait(p, &(struct account_wait){ .ns = ns,
					     .max_ns = (uint64_t)second * S + ns,
					     .earlier_ns = is_open ? 0 : (uint64_t)ends[i].seconds * S,
					     .count = !is_open,
					     .tid = PLAY_PID,
					     .class = (uint8_t)ends[i].class,
					     .kind = (uint8_t)ends[i].kind,
					     .waker_tgid = is_open ? 0 : ends[i].waker,
					     .waker_tid = is_open ? 0 : ends[i].waker,
					     .waker_uid = PLAY_UID,
					     .waker_comm = "python",
					     .is_open = is_open });
	if (!is_open)
		play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
	CHECK_INT_EQ(ends[i].name, play_tick(p, S), 0);
}

static void check_ends(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct play *p = play_new(i);
		const char *name = ends[i].name;
		uint64_t lost_ns[2] = { 0 };
		const struct finding *f;

		p->but = "host_bound";
		for (int second = 0; second < TRAINED; second++)
			train(p, name, PLAY_PID);
		for (int second = 0; second < ends[i].seconds; second++)
			ended(p, i, second);
		ended(p, i, ends[i].seconds);
		for (int second = 0; second < TRAINED; second++)
			train(p, name, PLAY_PID);
		for (size_t k = 0; k < p->n_findings; k++) {
			const struct finding *one = &p->findings[k];

			lost_ns[strcmp(one->kind, "stalled") == 0] += one->lost_ns;
			CHECK(name, one->lost_ns <= one->present_ns);
			CHECK(name, one->present_ns <= (one->end_ns ? one->end_ns : p->now_ns) - one->start_ns);
			CHECK_INT_EQ(name, one->blame_ns[ends[i].class], one->lost_ns);
			CHECK(name, play_evidence(one, "lost_ratio") <= 1);
		}
		f = play_find(p, "stalled");
		CHECK_STR_EQ(name, f ? f->cause.kind : "", ends[i].cause);
		CHECK_STR_EQ(name, f ? f->title : "", ends[i].words);
		CHECK_INT_EQ(name, f ? f->cause.pid : 0, f ? ends[i].waker : 0);
		CHECK_INT_EQ(name, lost_ns[true], ends[i].stalled_ms * MS);
		CHECK_INT_EQ(name, lost_ns[false], ends[i].starved_ms * MS);
		play_free(p);
	}
}

int main(void)
{
	check_pipe();
	check_hostile_name(RESOURCE_PIPE);
	check_hostile_name(RESOURCE_FULL_PIPE);
	check_ends();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const char *name = cases[i].name;
		const struct finding *f;
		uint64_t start_ns;

		for (int second = 0; second < TRAINED; second++)
			train(p, name, cases[i].tid);
		for (int second = 0; second < cases[i].pause; second++)
			wait_on(p, i);
		if (cases[i].pause)
			train(p, name, cases[i].tid);
		start_ns = p->now_ns;
		for (int second = 0; second < cases[i].seconds; second++)
			wait_on(p, i);
		f = play_find(p, "stalled");
		CHECK_STR_EQ(name, f ? f->cause.kind : "", cases[i].cause);
		CHECK_INT_EQ(name, f ? f->severity : 0, cases[i].severity);
		if (f) {
			CHECK_INT_EQ(name, f->end_ns, 0);
			/* Before, a finding of starved has the time of a disk. */
			uint64_t told_ns = cases[i].class == BLAME_BLOCK_IO ? 10 * S : 0;

			CHECK_INT_EQ(name, f->start_ns, start_ns + told_ns);
			CHECK_INT_EQ(name, f->lost_ns, (uint64_t)(cases[i].seconds - cases[i].pause) * S - told_ns);
			CHECK_INT_EQ(name, play_evidence(f, "quiet_ns"), f->lost_ns);
			CHECK_STR_EQ(name, f->title, "python has stopped making calls");
			CHECK_INT_EQ(name, f->cause.pid, 0);
			if (cases[i].advice)
				CHECK_STR_EQ(name, f->advice[0], cases[i].advice);
			else
				CHECK(name, strstr(f->advice[0], "see where its threads are") != NULL);
		}
		train(p, name, cases[i].tid);
		if (f) {
			CHECK(name, f->end_ns != 0);
			CHECK_STR_EQ(name, f->title, "python made no calls for a long time");
		}
		play_free(p);
	}
	return check_result();
}
