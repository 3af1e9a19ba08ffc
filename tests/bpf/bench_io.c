// SPDX-License-Identifier: Apache-2.0
/*
 * CPU time of system calls without and with `ingero io`, by turns in one process: a line for each round and variant.
 *
 *   bench_io ROUNDS
 *
 * Not a test: tests/bench/io_cost.py makes the figures of it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io_rig.h"
#include "tests/support/check.h"

#define CALLS 100000
#define FIRST_FILES 2000
#define BYTES 512

enum variant { ALONE, BYSTANDER, TRACED, VARIANT_COUNT };

static const char *const variant_names[VARIANT_COUNT] = { "alone", "bystander", "traced" };
static int files[2];

static uint64_t cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void one_file(void)
{
	char buffer[BYTES];

	for (int i = 0; i < CALLS; i++)
		(void)!pread(files[0], buffer, sizeof(buffer), 0);
}

static void two_files(void)
{
	char buffer[BYTES];

	for (int i = 0; i < CALLS; i++)
		(void)!pread(files[i & 1], buffer, sizeof(buffer), 0);
}

static void path_call(void)
{
	struct stat st;

	for (int i = 0; i < CALLS; i++)
		(void)!stat("/proc/self/../version", &st);
}

static void not_listed(void)
{
	for (int i = 0; i < CALLS; i++)
		(void)getppid();
}

static const struct {
	const char *name;
	void (*run)(void);
} loads[] = {
	{ "pread", one_file },
	{ "pread of two files in turn", two_files },
	{ "stat", path_call },
	{ "getppid", not_listed },
};

static void loads_measure(enum variant variant)
{
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		uint64_t before = cpu_ns();

		loads[i].run();
		printf("%s\t%s\t%.1f\n", variant_names[variant], loads[i].name, (double)(cpu_ns() - before) / CALLS);
	}
}

/* The first and the second read of files four directories deep: the difference is the first sight. */
static void first_sight_measure(void)
{
	static int fds[FIRST_FILES];
	uint64_t spent[2];
	char name[64], byte;

	(void)mkdir("a", 0700);
	(void)mkdir("a/b", 0700);
	for (int i = 0; i < FIRST_FILES; i++) {
		(void)snprintf(name, sizeof(name), "a/b/%d", i);
		fds[i] = open(name, O_RDWR | O_CREAT, 0600);
	}
	for (int round = 0; round < 2; round++) {
		uint64_t before;

		(void)close(dup(fds[0]));
		before = cpu_ns();
		for (int i = 0; i < FIRST_FILES; i++)
			(void)!pread(fds[i], &byte, 1, 0);
		spent[round] = cpu_ns() - before;
	}
	printf("traced\tfirst sight\t%.1f\n", ((double)spent[0] - (double)spent[1]) / FIRST_FILES);
	for (int i = 0; i < FIRST_FILES; i++) {
		(void)close(fds[i]);
		(void)snprintf(name, sizeof(name), "a/b/%d", i);
		(void)unlink(name);
	}
	(void)rmdir("a/b");
	(void)rmdir("a");
}

/* Measures in a child: the rig's own process is never traced. @rig: traces the child; NULL: does not */
static void child_measure(struct io_rig *rig, enum variant variant, uint64_t call)
{
	struct io_lease lease = { .flags = IO_LEASE_READ };
	int go[2], status = -1;
	char byte = 0;
	pid_t pid;

	(void)fflush(stdout);
	if (pipe(go) < 0)
		exit(2);
	pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		if (call)
			first_sight_measure();
		else
			loads_measure(variant);
		(void)fflush(stdout);
		_exit(0);
	}
	if (call)
		lease.calls[call / 64] = 1ull << (call & 63);
	if (rig)
		io_rig_trace(rig, pid, lease);
	if (write(go[1], &byte, 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		exit(2);
	(void)close(go[0]);
	(void)close(go[1]);
}

static void round_measure(void)
{
	struct io_rig rig;

	child_measure(NULL, ALONE, IO_CALL_NONE);
	io_rig_open(&rig);
	io_rig_trace(&rig, 1, (struct io_lease){ .flags = IO_LEASE_READ });
	child_measure(NULL, BYSTANDER, IO_CALL_NONE);
	child_measure(&rig, TRACED, IO_CALL_NONE);
	io_rig_close(&rig);

	/* Files are opened without being counted, so that the first read is the first sight. */
	io_rig_open(&rig);
	child_measure(&rig, TRACED, IO_CALL_pread64);
	io_rig_close(&rig);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5;
	char directory[] = P_tmpdir "/bench_io.XXXXXX", buffer[BYTES] = "";

	if (!mkdtemp(directory) || chdir(directory) < 0)
		return 2;
	files[0] = open("one", O_RDWR | O_CREAT, 0600);
	files[1] = open("two", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 2; i++)
		if (write(files[i], buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
			return 2;
	for (int i = 0; i < rounds; i++)
		round_measure();
	(void)unlink("one");
	(void)unlink("two");
	(void)!chdir("/");
	(void)rmdir(directory);
	return check_result();
}
