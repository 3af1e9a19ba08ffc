// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a command and measures its time and memory: bench_used FILE COMMAND [ARGUMENT]... Exits with the command's
 * status. Writes one line to FILE: seconds from start to end, CPU seconds of the command and of all children that it
 * waited for, KiB of the largest of these processes.
 *
 * This is a small program because a child process has the size of its parent until it calls exec: if Python started
 * the command, the size of the interpreter would be measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	double began = now_s(), took;
	struct rusage used;
	int status;
	FILE *file;
	pid_t pid;

	if (argc < 3)
		return fprintf(stderr, "usage: bench_used FILE COMMAND [ARGUMENT]...\n"), 2;
	pid = fork();
	if (pid == 0) {
		(void)execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0)
		return perror("bench_used"), 2;
	took = now_s() - began;
	file = fopen(argv[1], "w");
	if (!file ||
	    fprintf(file, "%.6f %.6f %ld\n", took, seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
		    used.ru_maxrss) < 0 ||
	    fclose(file) != 0)
		return perror(argv[1]), 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
