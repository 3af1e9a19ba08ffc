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
	  "it waits for the end of process 4026; see what that process does: sudo gdb -p 4026 -batch -ex bt" },
	{ "the lock of a file", PLAY_PID, BLAME_LOCK, RESOURCE_FILE_LOCK, 0, 20, 0, "lock", FINDING_LOW,
	  "it waits for the lock of the file '/data/my set'; see which process holds it: sudo lslocks" },
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
					     .resource = 4026,
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
		     "see where its threads are, while it runs: sudo gdb -p PID -batch -ex 'thread apply all bt'");
	CHECK_INT_EQ("ended", f ? f->n_advice : 0, 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	play_free(p);
}

int main(void)
{
	check_pipe();
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
			CHECK_INT_EQ(name, f->start_ns, start_ns);
			CHECK_INT_EQ(name, f->lost_ns, (uint64_t)(cases[i].seconds - cases[i].pause) * S);
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
