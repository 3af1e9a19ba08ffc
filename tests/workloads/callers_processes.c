// SPDX-License-Identifier: Apache-2.0
/*
 * Calls in threads, in children, and in other programs that a process becomes.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "callers.h"

#define THREADS 8
#define STACK_BYTES (256u << 10)
#define PATH_BYTES 512
#define IMAGES "5" /* programs that a child becomes, one after the other */

static CALLERS_NOINLINE void call_here(void)
{
	CALLERS_CALL();
	CALLERS_STAYS();
}

static void *in_thread(void *data)
{
	callers_shape("threads", CALLERS_COMPLETE, 0);
	(void)data;
	call_here();
	CALLERS_STAYS();
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];
	int n = 0;

	while (n < THREADS && pthread_create(&all[n], NULL, in_thread, NULL) == 0)
		n++;
	for (int i = 0; i < n; i++)
		(void)pthread_join(all[i], NULL);
}

static void once(void)
{
	static pthread_once_t control;

	control = PTHREAD_ONCE_INIT;
	(void)pthread_once(&control, call_here);
	CALLERS_STAYS();
}

static void wait_for(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, __WALL) != pid || status != 0)
		callers_failed("a child ended with status 0x%x", (unsigned int)status);
}

static void child_of_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		call_here();
		_exit(callers_end());
	}
	call_here();
	wait_for(pid);
}

static void child_of_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		call_here();
		_exit(0);
	}
	wait_for(pid);
}

static int in_clone(void *data)
{
	(void)data;
	call_here();
	return 0;
}

/* A process of its own in the same memory, on a stack that is no thread's. */
static void child_of_clone(void)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		return callers_failed("no memory");
	wait_for(clone(in_clone, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	(void)munmap(stack, STACK_BYTES);
}

/* Two programs at one address, with different functions there: callers_fixed.c. */
static void exec(void)
{
	char path[PATH_BYTES];
	pid_t pid;

	(void)snprintf(path, sizeof(path), "%s/callers-fixed-one", callers_place());
	pid = fork();
	if (pid == 0) {
		(void)execl(path, path, callers_report(), IMAGES, NULL);
		fprintf(stderr, "callers: %s: %s\n", path, strerror(errno));
		_exit(1);
	}
	wait_for(pid);
}

const struct callers_row callers_processes[] = {
	{ "threads", threads, CALLERS_COMPLETE, 0 },
	{ "once", once, CALLERS_COMPLETE, 0 },
	{ "fork", child_of_fork, CALLERS_COMPLETE, 0 },
	{ "vfork", child_of_vfork, CALLERS_COMPLETE, 0 },
	{ "clone", child_of_clone, CALLERS_COMPLETE, 0 },
	{ "exec", exec, CALLERS_EITHER, 0 },
	{ .name = NULL },
};
