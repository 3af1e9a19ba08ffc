// SPDX-License-Identifier: Apache-2.0
#include "waits.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
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
