// SPDX-License-Identifier: Apache-2.0
/* For python_frames.py: runs a program of the kernel half on the current thread. */
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int python_probe(int fd, unsigned long first, unsigned long second, unsigned int repeat);
EXPORT int python_probe_through(int (*callback)(int), int argument);

/* Loaded before the interpreter: its own key of threads is not among the first then, which are elsewhere. */
__attribute__((constructor)) static void keys_make(void)
{
	const char *n = getenv("PYTHON_PROBE_KEYS");
	pthread_key_t key;

	for (int i = n ? atoi(n) : 0; i > 0; i--)
		(void)pthread_key_create(&key, NULL);
}

/* Until there is room on the ring. Return: nanoseconds of one run; negative: it cannot be run */
int python_probe(int fd, unsigned long first, unsigned long second, unsigned int repeat)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	static const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned long context[12] = { first, second, (unsigned long)__builtin_frame_address(0) & ~15ul };
	union bpf_attr attr;
	long r;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (unsigned int)fd;
	attr.test.ctx_in = (unsigned long)context;
	attr.test.ctx_size_in = sizeof(context);
	for (;;) {
		(void)pthread_mutex_lock(&one_at_a_time);
		for (unsigned int i = 0; i <= repeat; i++)
			r = syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
		(void)pthread_mutex_unlock(&one_at_a_time);
		if (r < 0)
			return -1;
		if (!attr.test.retval)
			return (int)attr.test.duration;
		(void)nanosleep(&pause, NULL);
	}
}

int python_probe_through(int (*callback)(int), int argument)
{
	return callback(argument) + 1;
}
