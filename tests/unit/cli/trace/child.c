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

int main(void)
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
	CHECK("nobody is left", waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	return check_result();
}
