// SPDX-License-Identifier: Apache-2.0
/*
 * Faults, times and callbacks by function, and the settings of the device.
 *
 * While nothing is asked for, no call comes here but a thread's first
 * (standin_attention is 0). Settings are read without a lock: each field is one
 * word, and a test that changes them while calls run gets some calls of each kind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "books.h"
#include "how.h"
#include "standin.h"
#include "standin_names.h"

#define KERNEL_NS_DEFAULT 2000u
#define BYTES_PER_US_DEFAULT 12000u /* 12 GB/s: a 16-lane link of the third generation */

struct hook {
	uint64_t inside_ns;
	void (*callback)(void *argument);
	void *argument;
	uint64_t n_calls; /* since the failure was asked for; atomic */
	uint64_t fail_nth;
	uint64_t fail_every;
	int fail_code;
	unsigned int how; /* enum ingero_standin_how */
	bool is_set;
};

#define ATTENTION_HOOKS 1u
#define ATTENTION_PID 2u
#define ATTENTION_LOG 4u

static struct hook hooks[STANDIN_N_FUNCTIONS];
static int log_fd = -1; /* for good, inherited by fork */
unsigned int standin_attention;
struct standin_device standin_device = {
	.kernel_ns = KERNEL_NS_DEFAULT,
	.bytes_per_us = BYTES_PER_US_DEFAULT,
};

uint64_t standin_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC) };
}

/* One descriptor for the process, on which nothing ever happens: what is waited for is the time-out. */
static void poll_until(uint64_t at_ns)
{
	static int never = -1;
	uint64_t now_ns = standin_now_ns();
	struct timespec left = to_timespec(at_ns > now_ns ? at_ns - now_ns : 0);
	struct pollfd p;
	int fd = __atomic_load_n(&never, __ATOMIC_ACQUIRE), none = -1;

	if (fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC);
		if (!__atomic_compare_exchange_n(&never, &none, fd, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			(void)close(fd); /* another thread was first */
			fd = none;
		}
	}
	p = (struct pollfd){ .fd = fd, .events = POLLIN };
	(void)ppoll(&p, 1, at_ns == INGERO_STANDIN_FOR_EVER ? NULL : &left, NULL);
}

void standin_wait_until(uint64_t at_ns, enum ingero_standin_how how)
{
	static unsigned int never_woken;
	struct timespec until = to_timespec(at_ns);
	int saved_errno = errno;

	if (at_ns == INGERO_STANDIN_FOR_EVER)
		until.tv_sec = INT32_MAX;

	/* signals end every way of waiting early: look again */
	while (standin_now_ns() < at_ns) {
		switch (how) {
		case INGERO_STANDIN_SPIN:
		case INGERO_STANDIN_HOW_COUNT:
			break;
		case INGERO_STANDIN_BLOCK:
			(void)syscall(SYS_futex, &never_woken, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL,
				      FUTEX_BITSET_MATCH_ANY);
			break;
		case INGERO_STANDIN_POLL:
			poll_until(at_ns);
			break;
		case INGERO_STANDIN_SLEEP:
			(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
			break;
		case INGERO_STANDIN_YIELD:
			(void)sched_yield();
			break;
		}
	}
	errno = saved_errno;
}

static int run_hook(struct hook *hook, int *ret_code)
{
	void (*callback)(void *argument) = hook->callback;
	uint64_t inside_ns = hook->inside_ns, n;

	if (inside_ns)
		standin_wait_until(inside_ns == INGERO_STANDIN_FOR_EVER ? inside_ns : standin_now_ns() + inside_ns,
				   hook->how);
	n = __atomic_add_fetch(&hook->n_calls, 1, __ATOMIC_RELAXED);
	if (callback)
		callback(hook->argument); /* perhaps never to come back */
	if (n == hook->fail_nth || (hook->fail_every && n % hook->fail_every == 0)) {
		*ret_code = hook->fail_code;
		return 1;
	}
	return 0;
}

/* One line, one write: those of several processes do not mix. */
static void log_entry(unsigned int number)
{
	int saved_errno = errno, n;
	char line[160];

	n = snprintf(line, sizeof(line), "%llu %d %d %s\n", (unsigned long long)standin_now_ns(), (int)getpid(),
		     (int)gettid(), books_name(number));
	(void)!write(log_fd, line, (size_t)n);
	errno = saved_errno;
}

int standin_enter(unsigned int number, int *ret_code)
{
	struct books_cell *cells;

	if (standin_attention & ATTENTION_LOG)
		log_entry(number);
	if (!(standin_attention & ATTENTION_PID) || !books_of_child(number, /* is_return= */ 0)) {
		cells = standin_cells ? standin_cells : books_thread()->cells;
		__atomic_add_fetch(&cells[number].entries, 1, __ATOMIC_RELAXED);
	}
	return hooks[number].is_set ? run_hook(&hooks[number], ret_code) : 0;
}

void standin_leave(unsigned int number)
{
	struct books_cell *cells;

	if ((standin_attention & ATTENTION_PID) && books_of_child(number, /* is_return= */ 1))
		return;
	cells = standin_cells ? standin_cells : books_thread()->cells;
	__atomic_add_fetch(&cells[number].returns, 1, __ATOMIC_RELAXED);
}

/* The next function of that name from number i on; -1 at the end. */
static int find(const char *function, unsigned int i)
{
	for (; i < STANDIN_N_FUNCTIONS; i++) {
		if (strcmp(books_name(i), function) == 0)
			return (int)i;
	}
	return -1;
}

#define FOR_EACH_OF(function, i) for (int i = find(function, 0); i >= 0; i = find(function, (unsigned int)i + 1))

static void hook_changed(struct hook *hook)
{
	hook->is_set = hook->inside_ns || hook->callback || hook->fail_nth || hook->fail_every;
	if (hook->is_set)
		__atomic_fetch_or(&standin_attention, ATTENTION_HOOKS, __ATOMIC_RELEASE);
}

STANDIN_EXPORT int ingero_standin_inside(const char *function, uint64_t ns, enum ingero_standin_how how)
{
	int r = -ENOENT;

	FOR_EACH_OF(function, i)
	{
		hooks[i].how = how;
		hooks[i].inside_ns = ns;
		hook_changed(&hooks[i]);
		r = 0;
	}
	return r;
}

STANDIN_EXPORT int ingero_standin_fail(const char *function, uint64_t nth, uint64_t every, int code)
{
	int r = -ENOENT;

	FOR_EACH_OF(function, i)
	{
		hooks[i].n_calls = 0;
		hooks[i].fail_nth = nth;
		hooks[i].fail_every = every;
		hooks[i].fail_code = code;
		hook_changed(&hooks[i]);
		r = 0;
	}
	return r;
}

STANDIN_EXPORT int ingero_standin_callback(const char *function, void (*callback)(void *argument), void *argument)
{
	int r = -ENOENT;

	FOR_EACH_OF(function, i)
	{
		hooks[i].argument = argument;
		hooks[i].callback = callback;
		hook_changed(&hooks[i]);
		r = 0;
	}
	return r;
}

STANDIN_EXPORT void ingero_standin_no_hooks(void)
{
	__atomic_fetch_and(&standin_attention, ~ATTENTION_HOOKS, __ATOMIC_RELEASE);
	memset(hooks, 0, sizeof(hooks));
}

STANDIN_EXPORT void ingero_standin_device(uint64_t kernel_ns, uint64_t bytes_per_us, enum ingero_standin_how how)
{
	standin_device.kernel_ns = kernel_ns;
	standin_device.bytes_per_us = bytes_per_us ? bytes_per_us : BYTES_PER_US_DEFAULT;
	standin_device.how = how;
}

STANDIN_EXPORT void ingero_standin_check_pid(int is_on)
{
	if (is_on)
		__atomic_fetch_or(&standin_attention, ATTENTION_PID, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&standin_attention, ~ATTENTION_PID, __ATOMIC_RELEASE);
}

STANDIN_EXPORT int ingero_standin_count(const char *function, uint64_t *ret_entries, uint64_t *ret_returns)
{
	uint64_t entries = 0, returns = 0;
	int r = -ENOENT;

	FOR_EACH_OF(function, i)
	{
		for (struct books_block *block = books_first(); block; block = block->next) {
			entries += __atomic_load_n(&block->cells[i].entries, __ATOMIC_RELAXED);
			returns += __atomic_load_n(&block->cells[i].returns, __ATOMIC_RELAXED);
		}
		r = 0;
	}
	if (r == 0) {
		*ret_entries = entries;
		*ret_returns = returns;
	}
	return r;
}

STANDIN_EXPORT int ingero_standin_thread_count(const char *function, uint64_t *ret_entries, uint64_t *ret_returns)
{
	uint64_t entries = 0, returns = 0;
	int r = -ENOENT;

	FOR_EACH_OF(function, i)
	{
		entries += standin_cells ? standin_cells[i].entries : 0;
		returns += standin_cells ? standin_cells[i].returns : 0;
		r = 0;
	}
	if (r == 0) {
		*ret_entries = entries;
		*ret_returns = returns;
	}
	return r;
}

static bool has_calls(const char *function)
{
	uint64_t entries = 0, returns = 0;

	return ingero_standin_count(function, &entries, &returns) == 0 && (entries || returns);
}

STANDIN_EXPORT const char *ingero_standin_next(const char *function)
{
	int after = function ? find(function, 0) : -1;

	for (unsigned int i = (unsigned int)(after + 1); i < STANDIN_N_FUNCTIONS; i++) {
		/* the first of several libraries' functions of one name stands for all */
		if (find(books_name(i), 0) == (int)i && has_calls(books_name(i)))
			return books_name(i);
	}
	return NULL;
}

static void refuse(const char *variable, const char *text, const char *want)
{
	fprintf(stderr, "ingero stand-in: %s: cannot use '%s': %s\n", variable, text, want);
	exit(2);
}

static enum ingero_standin_how parse_how(const char *variable, const char *text)
{
	enum ingero_standin_how how = INGERO_STANDIN_SPIN;

	if (how_parse(text, &how) < 0)
		refuse(variable, text, "want " HOW_WORDS);
	return how;
}

/* FUNCTION=TIME[:HOW] */
static int set_inside(char *item)
{
	char *value = strchr(item, '='), *how;
	uint64_t ns = 0;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	how = strchr(value, ':');
	if (how)
		*how++ = '\0';
	if (strcmp(value, "ever") == 0)
		ns = INGERO_STANDIN_FOR_EVER;
	else if (parse_duration(value, &ns) < 0)
		return -EINVAL;
	return ingero_standin_inside(item, ns, how ? parse_how("INGERO_STANDIN_INSIDE", how) : INGERO_STANDIN_SPIN);
}

/* FUNCTION=CODE:nth:N or FUNCTION=CODE:every:N */
static int set_fail(char *item)
{
	char *value = strchr(item, '='), *when, *number;
	uint64_t code = 0, n = 0;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	when = strchr(value, ':');
	number = when ? strchr(when + 1, ':') : NULL;
	if (!number)
		return -EINVAL;
	*when++ = '\0';
	*number++ = '\0';
	if (parse_u64(value, INT32_MAX, &code) < 0 || parse_u64(number, UINT64_MAX, &n) < 0)
		return -EINVAL;
	if (strcmp(when, "nth") == 0)
		return ingero_standin_fail(item, n, 0, (int)code);
	if (strcmp(when, "every") == 0)
		return ingero_standin_fail(item, 0, n, (int)code);
	return -EINVAL;
}

static void read_list(const char *variable, int (*set)(char *item), const char *want)
{
	const char *text = getenv(variable);
	CLEANUP(freep) char *copy = text ? strdup(text) : NULL;
	char *rest = NULL;

	for (char *item = copy ? strtok_r(copy, ",", &rest) : NULL; item; item = strtok_r(NULL, ",", &rest)) {
		if (set(item) < 0)
			refuse(variable, text, want);
	}
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *kernel = getenv("INGERO_STANDIN_KERNEL"), *how = getenv("INGERO_STANDIN_WAIT");
	const char *bandwidth = getenv("INGERO_STANDIN_BANDWIDTH"), *unlisted = getenv("INGERO_STANDIN_UNLISTED");
	const char *log = getenv("INGERO_STANDIN_LOG");
	uint64_t bytes_per_s = 0, code = 0;

	if (kernel && parse_duration(kernel, &standin_device.kernel_ns) < 0)
		refuse("INGERO_STANDIN_KERNEL", kernel, "want the time of a kernel, such as 5us");
	if (bandwidth && (parse_size(bandwidth, &bytes_per_s) < 0 || bytes_per_s < 1000000))
		refuse("INGERO_STANDIN_BANDWIDTH", bandwidth, "want bytes a second, such as 12g, and 1m at least");
	if (bandwidth)
		standin_device.bytes_per_us = bytes_per_s / 1000000;
	if (how)
		standin_device.how = parse_how("INGERO_STANDIN_WAIT", how);
	if (unlisted && parse_u64(unlisted, INT32_MAX, &code) < 0)
		refuse("INGERO_STANDIN_UNLISTED", unlisted, "want an error code");
	standin_device.unlisted_code = (int)code;
	read_list("INGERO_STANDIN_INSIDE", set_inside, "want FUNCTION=TIME[:HOW], as cudaMalloc=5us:sleep");
	read_list("INGERO_STANDIN_FAIL", set_fail, "want FUNCTION=CODE:nth:N or FUNCTION=CODE:every:N");
	if (log) {
		log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (log_fd < 0)
			refuse("INGERO_STANDIN_LOG", log, "want a file that can be written");
		__atomic_fetch_or(&standin_attention, ATTENTION_LOG, __ATOMIC_RELEASE);
	}
	if (getenv("INGERO_STANDIN_CHECK_PID"))
		ingero_standin_check_pid(1);
}
