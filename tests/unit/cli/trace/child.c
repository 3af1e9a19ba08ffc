// SPDX-License-Identifier: Apache-2.0
/* Programs that end, are killed, cannot be started; what a shell would say of them; and who lets go on one that is
 * stopped. */
#include "cli/trace/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

static const struct {
	const char *name;
	const char *argv[4];
	int release_r;
	int exit_status;
} cases[] = {
	{ "ends well", { "true" }, 0, 0 },
	{ "own status", { "sh", "-c", "exit 7" }, 0, 7 },
	{ "killed", { "sh", "-c", "kill -TERM $$" }, 0, 143 },
	{ "not there", { "/nonexistent/program" }, -ENOENT, 127 },
	{ "not executable", { "/etc/passwd" }, -EACCES, 126 },
	{ "signals are as before", { "sh", "-c", "kill -USR1 $$" }, 0, 128 + SIGUSR1 },
};

/* Waits for the end by the kernel's word, not by the clock. */
static void end_wait(struct trace_child *child)
{
	while (!child->has_ended) {
		struct pollfd end = { .fd = child->guardian_fd >= 0 ? child->guardian_fd : child->pidfd,
				      .events = POLLIN };

		if (poll(&end, 1, -1) < 0 && errno != EINTR)
			return;
		trace_child_reap(child);
	}
}

/* Its parent is the guardian, who alone could wait for that. */
static void stop_wait(const struct trace_child *child)
{
	char path[32], text[512] = "";
	const char *end = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)child->pid);
	while (!end || end[2] != 'T') {
		if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
			return;
		end = strrchr(text, ')');
		(void)sched_yield();
	}
}

#define DESCRIPTORS_MOST 1024

/* How many a process has that its exec closes; all: others, too. */
static int descriptors_in(pid_t pid, bool all)
{
	int n = 0;

	for (int fd = 0; fd < DESCRIPTORS_MOST; fd++) {
		char path[64], text[1024], *flags;

		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
		if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
			continue;
		flags = strstr(text, "flags:");
		n += all || (flags && strtoul(flags + strlen("flags:"), NULL, 8) & O_CLOEXEC);
	}
	return n;
}

/* Who can be killed; the numbers are those of a set. */
enum who { CLIENT = 1, DAEMON = 2, GUARDIAN = 4, SECOND = 8, WHO_COUNT = 4, WHO_ALL = 15 };

/* What the client tells, and then what its program started and left behind. */
struct pids {
	pid_t of[WHO_COUNT], program;
};

/* Stops itself, in a session of its own, when its parent is gone, and says that it goes on. */
#define ORPHAN "(setsid sh -c 'echo $$ >&%d; kill -STOP $$; echo on >&%d' &); exec sleep 1000"

__attribute__((noreturn)) static void client_main(const struct caller *caller, pid_t daemon, int pids_fd, int orphan_fd)
{
	struct trace_child child = TRACE_CHILD_INIT;
	char script[128];
	const char *argv[] = { "sh", "-c", script, NULL };
	struct pids pids;
	sigset_t none;

	(void)sigemptyset(&none);
	(void)snprintf(script, sizeof(script), ORPHAN, orphan_fd, orphan_fd);
	if (trace_child_start(&child, (char **)(uintptr_t)argv, caller, false, &none, daemon) < 0)
		_exit(1);
	pids = (struct pids){ { getpid(), daemon, child.guardian, child.second }, child.pid };
	if (write(pids_fd, &pids, sizeof(pids)) != sizeof(pids) || trace_child_release(&child) < 0)
		_exit(1);
	for (;;)
		(void)pause();
}

/* One line of it. Return: whether it came */
static bool line_read(int fd, char *line, size_t room)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	do {
		if (n + 1 == room || poll(&end, 1, 10000) <= 0 || read(fd, line + n, 1) != 1)
			return false;
	} while (line[n++] != '\n');
	line[n] = '\0';
	return true;
}

/* @who: all at once, one behind the other, the first of them in this place of enum who */
static void check_killed(const struct caller *caller, unsigned int who, unsigned int first)
{
	struct trace_child orphan = TRACE_CHILD_INIT;
	struct pids pids = { .program = 0 };
	char line[32] = "", name[64];
	int told[2], orphans[2];
	pid_t daemon, client;

	(void)snprintf(name, sizeof(name), "killed: set %x from %u on", who, first);
	if (pipe2(told, O_CLOEXEC) < 0 || pipe2(orphans, 0) < 0)
		exit(1);
	daemon = fork();
	if (daemon == 0)
		for (;;)
			(void)pause();
	client = fork();
	if (client == 0)
		client_main(caller, daemon, told[1], orphans[1]);
	(void)close(orphans[1]);
	CHECK_INT_EQ(name, read(told[0], &pids, sizeof(pids)), sizeof(pids));
	CHECK(name, line_read(orphans[0], line, sizeof(line)));
	orphan.pid = (pid_t)strtol(line, NULL, 10);
	stop_wait(&orphan);
	for (unsigned int i = 0; i < WHO_COUNT; i++) {
		unsigned int one = (first + i) % WHO_COUNT;

		if (who & 1u << one)
			(void)kill(pids.of[one], SIGKILL);
	}
	CHECK(name, line_read(orphans[0], line, sizeof(line)) && strcmp(line, "on\n") == 0);
	for (unsigned int i = 0; i < WHO_COUNT; i++)
		(void)kill(pids.of[i], SIGKILL);
	(void)kill(pids.program, SIGKILL);
	if (orphan.pid > 0)
		(void)kill(orphan.pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0) /* all of them are ours by now */
		;
	(void)close(told[0]);
	(void)close(told[1]);
	(void)close(orphans[0]);
}

/* Where one guardian is left, whoever else is killed, in whatever order. */
static void check_all_killed(const struct caller *caller)
{
	for (unsigned int who = 1; who <= WHO_ALL; who++) {
		if ((who & (GUARDIAN | SECOND)) == (GUARDIAN | SECOND))
			continue;
		for (unsigned int first = 0; first < WHO_COUNT; first++)
			if (who & 1u << first)
				check_killed(caller, who, first);
	}
}

static void check_names(void)
{
	static const struct {
		const char *argv[8], *want;
	} rows[] = {
		{ { "python3", "train.py" }, "python3" },
		{ { "env", "LD_LIBRARY_PATH=/opt", "python3", "train.py" }, "python3" },
		{ { "/usr/bin/env", "A=1", "B=2", "./train" }, "./train" },
		{ { "env", "-i", "-u", "HOME", "--chdir", "/tmp", "A=1", "train" }, "train" },
		{ { "env", "--", "train" }, "train" },
		{ { "env", "-S", "python3 -u" }, "env" },
		{ { "env", "A=1" }, "env" },
		{ { "env", "-u" }, "env" },
		{ { "env" }, "env" },
		{ { "environ", "A=1", "train" }, "environ" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR_EQ(rows[i].want, trace_child_name((char **)(uintptr_t)rows[i].argv), rows[i].want);
}

int main(int argc, char **arguments)
{
	struct caller caller = { .uid = getuid(), .gid = getgid() };
	sigset_t before, block;

	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &block, &before);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trace_child child = TRACE_CHILD_INIT;
		const char *name = cases[i].name;

		CHECK_INT_EQ(name,
			     trace_child_start(&child, (char **)(uintptr_t)cases[i].argv, &caller,
					       /* stdout_to_stderr= */ false, &before, getpid()),
			     0);
		trace_child_reap(&child);
		CHECK(name, !child.has_ended); /* it waits */
		CHECK_INT_EQ(name, trace_child_release(&child), cases[i].release_r);
		CHECK_INT_EQ(name, child.has_failed, cases[i].release_r != 0);
		end_wait(&child);
		CHECK(name, child.has_ended);
		CHECK_INT_EQ(name, child.exit_status, cases[i].exit_status);
		trace_child_done(&child, true);
	}

	/* A stop is no end: the daemon stops programs while it attaches. */
	{
		struct trace_child child = TRACE_CHILD_INIT;
		const char *argv[] = { "sh", "-c", "kill -STOP $$; exit 3", NULL };

		CHECK_INT_EQ("stopped",
			     trace_child_start(&child, (char **)(uintptr_t)argv, &caller, false, &before, getpid()), 0);
		CHECK_INT_EQ("stopped", trace_child_release(&child), 0);
		stop_wait(&child);
		trace_child_reap(&child);
		CHECK("stopped", !child.has_ended);
		(void)kill(child.pid, SIGCONT);
		end_wait(&child);
		CHECK_INT_EQ("stopped", child.exit_status, 3);
		trace_child_done(&child, true);
	}

	/* Either guardian is killed: it goes on, and somebody tells how it ended. */
	for (int is_second = 0; is_second < 2; is_second++) {
		struct trace_child child = TRACE_CHILD_INIT;
		const char *argv[] = { "sh", "-c", "kill -STOP $$; exit 3", NULL };
		const char *name = is_second ? "second guardian killed" : "guardian killed";

		CHECK_INT_EQ(name,
			     trace_child_start(&child, (char **)(uintptr_t)argv, &caller, false, &before, getpid()), 0);
		CHECK(name, child.is_guarded && child.guardian > 0 && child.second > 0);
		CHECK_INT_EQ(name, trace_child_release(&child), 0);
		stop_wait(&child);
		CHECK_INT_EQ(name, kill(is_second ? child.second : child.guardian, SIGKILL), 0);
		end_wait(&child);
		CHECK(name, is_second || (!child.is_guarded && child.guardian == 0));
		CHECK_INT_EQ(name, child.exit_status, 3);
		trace_child_done(&child, true);
		while (is_second && waitpid(-1, NULL, 0) > 0) /* the guardian */
			;
	}

	/* Whatever of it is stopped goes on when nobody traces any more; as when whoever traces was killed. */
	for (int is_killed = 0; is_killed < 2; is_killed++) {
		struct trace_child child = TRACE_CHILD_INIT;
		const char *argv[] = { "sh", "-c", "kill -STOP $$; exit 3", NULL };
		pid_t daemon = fork();

		if (daemon == 0)
			for (;;)
				(void)pause();
		CHECK_INT_EQ("let go",
			     trace_child_start(&child, (char **)(uintptr_t)argv, &caller, false, &before, daemon), 0);
		CHECK_INT_EQ("let go", trace_child_release(&child), 0);
		stop_wait(&child);
		if (is_killed)
			(void)kill(daemon, SIGKILL);
		else
			trace_child_let_go(&child);
		end_wait(&child);
		CHECK_INT_EQ("let go", child.exit_status, 3);
		trace_child_done(&child, false);
		(void)kill(daemon, SIGKILL);
		(void)waitpid(daemon, NULL, 0);
	}

	/* Where it is not known who traces nobody is to be stopped; the program runs all the same, and what it holds is
	 * its own. */
	{
		struct trace_child child = TRACE_CHILD_INIT;
		const char *argv[] = { "sh", "-c", "kill -STOP $$; exit 4", NULL };
		int ends[2];
		char byte;

		CHECK_INT_EQ("unguarded", pipe2(ends, 0), 0);
		CHECK_INT_EQ("unguarded",
			     trace_child_start(&child, (char **)(uintptr_t)argv, &caller, false, &before, 0), 0);
		(void)close(ends[1]);
		CHECK("unguarded", !child.is_guarded);
		CHECK_INT_EQ("unguarded", trace_child_release(&child), 0);
		stop_wait(&child);
		(void)kill(child.pid, SIGKILL);
		CHECK_INT_EQ("unguarded: the guardian keeps no pipe of it open", read(ends[0], &byte, 1), 0);
		end_wait(&child);
		CHECK_INT_EQ("unguarded", child.exit_status, 128 + SIGKILL);
		trace_child_done(&child, true);
		(void)close(ends[0]);
	}

	/* One that is never released runs nothing and is gone afterwards. */
	{
		struct trace_child child = TRACE_CHILD_INIT;
		const char *argv[] = { "sh", "-c", "exit 9", NULL };

		CHECK_INT_EQ("never released",
			     trace_child_start(&child, (char **)(uintptr_t)argv, &caller, false, &before, getpid()), 0);
		trace_child_done(&child, true);
		CHECK("never released", child.has_ended && waitpid(child.pid, NULL, WNOHANG) < 0 && errno == ECHILD);
	}

	/* Its user may look into one that waits: it holds its two pipes, what the program inherits, and nothing of
	 * ours. */
	{
		struct trace_child child = TRACE_CHILD_INIT;
		const char *argv[] = { "sh", "-c", "exit 0", NULL };
		CLEANUP(closep) int own = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		CLEANUP(closep) int inherited = open("/dev/zero", O_RDONLY);
		int n_inherited = descriptors_in(getpid(), true) - descriptors_in(getpid(), false);

		CHECK("descriptors", own >= 0 && inherited >= 0);
		CHECK_INT_EQ("descriptors",
			     trace_child_start(&child, (char **)(uintptr_t)argv, &caller, false, &before, getpid()), 0);
		CHECK_INT_EQ("its pipes", descriptors_in(child.pid, false), 2);
		CHECK_INT_EQ("all", descriptors_in(child.pid, true), 2 + n_inherited);
		CHECK_INT_EQ("descriptors", trace_child_release(&child), 0);
		end_wait(&child);
		CHECK_INT_EQ("descriptors", child.exit_status, 0);
		trace_child_done(&child, true);
	}

	/* The terminal's signals are not passed on twice; those sent to us alone are. */
	{
		struct trace_child child = TRACE_CHILD_INIT;
		const char *argv[] = { "cat", NULL };

		CHECK_INT_EQ("signals",
			     trace_child_start(&child, (char **)(uintptr_t)argv, &caller, false, &before, getpid()), 0);
		trace_child_signal(&child, SIGKILL, SI_KERNEL);
		CHECK_INT_EQ("signals", kill(child.pid, 0), 0);
		trace_child_signal(&child, SIGTERM, SI_USER);
		end_wait(&child);
		CHECK_INT_EQ("signals", child.exit_status, 128 + SIGTERM);
		trace_child_done(&child, true);
	}
	for (long i = argc > 1 ? strtol(arguments[1], NULL, 10) : 1; i > 0; i--)
		check_all_killed(&caller);
	check_names();
	CHECK("nobody is left", waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	return check_result();
}
