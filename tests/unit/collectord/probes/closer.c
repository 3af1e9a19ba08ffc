// SPDX-License-Identifier: Apache-2.0
/*
 * Who closes what takes long: a process of its own, which keeps nothing else, says how much is left, waits while
 * somebody attaches, and ends.
 */
#include "probes/closer.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "procs/closers.h"
#include "tests/support/check.h"

#define PROBES 5
#define FDS (2 * PROBES) /* an event and its link each */

static struct {
	uint32_t pid, n_probes, n;
} told;

static void on_start(uint32_t pid, uint32_t n_probes, void *data)
{
	(void)data;
	told.pid = pid;
	told.n_probes = n_probes;
	told.n++;
}

/* Whether nobody holds the other end any more. */
static bool is_closed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static int count_closed(const int *fds)
{
	int n = 0;

	for (int i = 0; i < FDS; i++)
		n += is_closed(fds[i]);
	return n;
}

static bool is_there(void)
{
	return kill((pid_t)told.pid, 0) == 0;
}

/* How often it has gone to sleep: once between two looks at the lock, and between two closes. */
static uint64_t sleeps(void)
{
	static const char field[] = "\nvoluntary_ctxt_switches:";
	char path[64], text[8192] = "";
	const char *found;

	(void)snprintf(path, sizeof(path), "/proc/%u/status", told.pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	found = strstr(text, field);
	return found ? strtoull(found + sizeof(field) - 1, NULL, 10) : 0;
}

static void command_check(void)
{
	static const char want[] = "ingero-collectord\0--child\0closer";
	char path[64], text[128] = "";

	(void)snprintf(path, sizeof(path), "/proc/%u/cmdline", told.pid);
	CHECK_INT_EQ("what ps shows", fd_read_file_at(AT_FDCWD, path, text, sizeof(text)), sizeof(want));
	CHECK("what ps shows", memcmp(text, want, sizeof(want)) == 0);
}

/* Other daemons are counted by their name and the file that they run. */
static void daemons_check(void)
{
	static const struct {
		const char *name, *title;
		bool is_counted;
	} rows[] = {
		{ "a daemon", "ingero-collectord", true },
		{ "a child of one", "parser", false },
		{ "who closes", CLOSER_TITLE "5", false },
	};
	uint32_t before = daemons_count();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int ends[2];
		char byte;
		pid_t pid;

		if (pipe2(ends, O_CLOEXEC) < 0)
			abort();
		pid = fork();
		if (pid == 0) {
			(void)prctl(PR_SET_NAME, rows[i].title);
			(void)!write(ends[1], "x", 1);
			(void)pause();
			_exit(0);
		}
		CHECK(rows[i].name, read(ends[0], &byte, 1) == 1);
		CHECK_INT_EQ(rows[i].name, daemons_count(), before + rows[i].is_counted);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	(void)prctl(PR_SET_NAME, "ingero-collectord");
	CHECK_INT_EQ("the one that asks", daemons_count(), before);
}

int main(int argc, char **argv)
{
	int read_ends[FDS], write_ends[FDS], other[2], hold_fd;
	struct closer seen;

	if (argc == 3 && strcmp(argv[1], "--child") == 0 && strcmp(argv[2], CLOSER_ROLE) == 0)
		return closer_main();

	daemons_check();
	for (int i = 0; i < FDS; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			abort();
		read_ends[i] = ends[0];
		write_ends[i] = ends[1];
	}
	if (pipe(other) < 0) /* which an exec does not close */
		abort();
	closer_observe(on_start, NULL);
	hold_fd = closer_hold();
	closer_start(write_ends, FDS);
	CHECK_INT_EQ("one was started", told.n, 1);
	CHECK_INT_EQ("to close so many", told.n_probes, PROBES);
	while (is_there() && !closer_read(told.pid, &seen))
		(void)sched_yield();
	CHECK("it says what it is", is_there() && closer_read(told.pid, &seen));
	command_check();
	(void)close(other[1]);
	CHECK("it keeps nothing else", is_closed(other[0]));
	if (hold_fd < 0) {
		fprintf(stderr, "skipped: this kernel has no perf events of uprobes, nobody is waited for\n");
	} else {
		CHECK_INT_EQ("as many as there are", seen.n_probes, PROBES);
		for (uint64_t before = sleeps(); is_there() && sleeps() < before + 2 * FDS;)
			(void)sched_yield();
		CHECK_INT_EQ("it waits for who attaches", count_closed(read_ends), 0);
		(void)close(hold_fd);
	}
	for (int before = 0, n; before < FDS; before = n) {
		n = count_closed(read_ends);
		CHECK("one after the other", n >= before);
		if (n > 0 && n < FDS && closer_read(told.pid, &seen))
			CHECK("as many as are left", seen.n_probes <= PROBES);
		(void)sched_yield();
	}
	while (closer_read(told.pid, &seen))
		(void)sched_yield();
	closer_observe(NULL, NULL);
	return check_result();
}
