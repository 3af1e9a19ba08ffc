// SPDX-License-Identifier: Apache-2.0
#include "waits.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rig.h"

const struct timespec wait_time = { .tv_nsec = (long)WAIT_NS };

void wait_sleep(void)
{
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL);
}

void wait_poll(void)
{
	struct pollfd p = { .events = POLLIN };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	p.fd = ends[0];
	(void)ppoll(&p, 1, &wait_time, NULL);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

void wait_futex(void)
{
	static uint32_t word;

	(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_time, NULL, 0);
}

static uint64_t ready_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ns = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %llu", &ns) != 1)
		ns = 0;
	(void)fclose(file);
	return ns;
}

uint64_t wait_blocked_ns(void)
{
	uint64_t before_ns, after_ns = ready_ns(), ns;

	do { /* again if it lost the CPU meanwhile */
		before_ns = after_ns;
		ns = rig_now_ns() - rig_thread_cpu_ns();
		after_ns = ready_ns();
	} while (after_ns != before_ns);
	return ns - after_ns;
}

void spin(uint64_t ns)
{
	uint64_t until = rig_thread_cpu_ns() + ns;

	while (rig_thread_cpu_ns() < until)
		;
}

void wait_spin(void)
{
	spin(WAIT_NS);
}
