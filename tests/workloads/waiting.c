// SPDX-License-Identifier: Apache-2.0
/*
 * A program that waits between its calls for another thread: for a mutex that it holds for 5 ms at a time, or for
 * memory that it brings after 3 ms (userfaultfd(2)).
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda_calls.h"
#include "options.h"
#include "program.h"

#define HELD_NS (5 * NSEC_PER_MSEC)
#define RESTS_NS (2 * NSEC_PER_MSEC)
#define BRINGS_NS (3 * NSEC_PER_MSEC)
#define MISSING_BYTES 4096

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_held;

static void *holder(void *data)
{
	for (;;) {
		pthread_mutex_lock(&turn);
		is_held = true;
		program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + HELD_NS);
		is_held = false;
		pthread_mutex_unlock(&turn);
		program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + RESTS_NS);
	}
	return data;
}

static __attribute__((noinline)) void wait_for_turn(void)
{
	while (!is_held)
		sched_yield();
	pthread_mutex_lock(&turn); /* waits: mutex */
	pthread_mutex_unlock(&turn);
}

static char *missing;
static int faults_fd;

static void *bringer(void *data)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)missing, MISSING_BYTES } };
	struct uffd_msg message;

	while (read(faults_fd, &message, sizeof(message)) == sizeof(message)) {
		program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + BRINGS_NS);
		(void)ioctl(faults_fd, UFFDIO_ZEROPAGE, &zero);
	}
	return data;
}

/* Return: false: this kernel does not let programs bring memory */
static bool missing_begin(void)
{
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	missing = mmap(NULL, MISSING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	area.range = (struct uffdio_range){ (uintptr_t)missing, MISSING_BYTES };
	return missing != MAP_FAILED && faults_fd >= 0 && ioctl(faults_fd, UFFDIO_API, &api) == 0 &&
	       ioctl(faults_fd, UFFDIO_REGISTER, &area) == 0;
}

/* In the C library, at some instruction of it. */
static __attribute__((noinline)) void touch_by_library(void)
{
	(void)madvise(missing, MISSING_BYTES, MADV_DONTNEED);
	(void)memset(missing, (int)getpid(), MISSING_BYTES); /* waits: library */
	__asm__ volatile("" ::: "memory");
}

#if defined(__x86_64__)
/* Its first instruction waits: the one before it is of another function. */
static __attribute__((naked, noinline)) void touch_first(__attribute__((unused)) char *at)
{
	__asm__ volatile("movb $1, (%%rdi)\n\tret" ::: "memory"); /* waits: first */
}

/* Without a symbol, and with another frame before the instruction that waits than behind it. */
__asm__(".pushsection .text\n"
	".balign 16\n"
	".Ltouch_pushed:\n\t"
	".cfi_startproc\n\t"
	"push %rbx\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	"movb $1, (%rdi)\n\t"
	"pop %rbx\n\t"
	".cfi_adjust_cfa_offset -8\n\t"
	"ret\n\t"
	".cfi_endproc\n"
	".popsection");

static __attribute__((noinline)) void touch_pushed(void)
{
	char *at = missing;

	(void)madvise(missing, MISSING_BYTES, MADV_DONTNEED);
	__asm__ volatile("call .Ltouch_pushed" : "+D"(at)::"memory"); /* waits: pushed */
}
#else
static __attribute__((noinline)) void touch_first(char *at)
{
	*(volatile char *)at = 1;
}

static void touch_pushed(void)
{
	touch_by_library();
}
#endif

static __attribute__((noinline)) void touch_at_first(void)
{
	(void)madvise(missing, MISSING_BYTES, MADV_DONTNEED);
	touch_first(missing);
	__asm__ volatile("" ::: "memory");
}

static const struct {
	const char *name;
	void (*wait)(void);
	void *(*other)(void *data);
} waits[] = {
	{ "mutex", wait_for_turn, holder },
	{ "library", touch_by_library, bringer },
	{ "first", touch_at_first, bringer },
	{ "pushed", touch_pushed, bringer },
};

int main(int argc, char **argv)
{
	uint64_t duration_ns = 3 * NSEC_PER_SEC, until_ns;
	const char *name = "mutex";
	pthread_t thread;
	size_t i = 0;
	const struct workload_option table[] = {
		{ "duration", "TIME", "3s", options_take_duration, &duration_ns, 0, 0 },
		{ "for", "mutex|library|first|pushed", "mutex", options_take_text, (void *)&name, 0, 0 },
	};

	options_parse("waiting: waits for another thread between its calls", NULL, table, ARRAY_SIZE(table), argc,
		      argv);
	while (i < ARRAY_SIZE(waits) && strcmp(waits[i].name, name) != 0)
		i++;
	if (i == ARRAY_SIZE(waits))
		return 2;
	if (waits[i].other == bringer && !missing_begin())
		return 77;
	if (pthread_create(&thread, NULL, waits[i].other, NULL))
		return 1;
	until_ns = program_clock_ns(CLOCK_MONOTONIC) + duration_ns;
	while (program_clock_ns(CLOCK_MONOTONIC) < until_ns) {
		if (cudaFree(NULL) != 0)
			return 1;
		waits[i].wait();
	}
	return 0;
}
