// SPDX-License-Identifier: Apache-2.0
/*
 * The device itself: its clock, how a thread waits for it, what the environment says of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/parse.h"
#include "driver.h"

#define MEMORY_DEFAULT (16ull << 30)
#define CAPABILITY_DEFAULT 90

enum { SCHED_SPIN = 1, SCHED_YIELD = 2, SCHED_BLOCKING = 4, SCHED_MASK = 7 };

struct device device;
__thread struct context *current;

int standin_unlisted(void)
{
	return standin_device.unlisted_code;
}

/* Forms of before 2010, whose device pointers have 32 bits. */
int driver_32_bit_form(void)
{
	return NOT_SUPPORTED;
}

void raise_to(uint64_t *at, uint64_t to)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (old < to && !__atomic_compare_exchange_n(at, &old, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void give_work(struct stream *stream, uint64_t work_ns)
{
	uint64_t now_ns = standin_now_ns(), old = __atomic_load_n(&stream->finish_ns, __ATOMIC_RELAXED), done_ns;

	do
		done_ns = MAX(old, now_ns) + work_ns;
	while (!__atomic_compare_exchange_n(&stream->finish_ns, &old, done_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	raise_to(&device.finish_ns, done_ns);
}

static enum ingero_standin_how how_to_wait(bool is_blocking)
{
	unsigned int sched = (current ? current->flags : device.primary.flags) & SCHED_MASK;

	if (is_blocking || sched == SCHED_BLOCKING)
		return INGERO_STANDIN_POLL;
	if (sched == SCHED_SPIN)
		return INGERO_STANDIN_SPIN;
	if (sched == SCHED_YIELD)
		return INGERO_STANDIN_YIELD;
	return standin_device.how;
}

void wait_for(const uint64_t *finish_ns, bool is_blocking)
{
	uint64_t at_ns = __atomic_load_n(finish_ns, __ATOMIC_RELAXED);

	if (at_ns)
		standin_wait_until(at_ns, how_to_wait(is_blocking));
}

uint64_t copy_ns(size_t n)
{
	return (uint64_t)n * NSEC_PER_USEC / standin_device.bytes_per_us;
}

static void refuse(const char *variable, const char *text, const char *want)
{
	fprintf(stderr, "ingero stand-in: %s: cannot use '%s': want %s\n", variable, text, want);
	exit(2);
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *memory = getenv("INGERO_STANDIN_MEMORY"), *capability = getenv("INGERO_STANDIN_CAPABILITY");

	device.memory_bytes = MEMORY_DEFAULT;
	device.capability = CAPABILITY_DEFAULT;
	if (memory && parse_size(memory, &device.memory_bytes) < 0)
		refuse("INGERO_STANDIN_MEMORY", memory, "bytes, such as 16g");
	if (!capability)
		return;
	if (capability[0] < '1' || capability[0] > '9' || capability[1] != '.' || capability[2] < '0' ||
	    capability[2] > '9' || capability[3])
		refuse("INGERO_STANDIN_CAPABILITY", capability, "a digit, a point and a digit, such as 7.0");
	device.capability = 10 * (capability[0] - '0') + capability[2] - '0';
}
