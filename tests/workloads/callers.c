// SPDX-License-Identifier: Apache-2.0
/*
 * See callers.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "callers.h"
#include "cuda_calls.h"
#include "standin/control.h"

#define LINE_BYTES (256u << 10)
#define BYTES_FIRST 65536u /* no other call of the workload has as many */
#define EXTRA_MAX 64

static struct {
	int fd;
	unsigned int n_calls; /* atomic */
	int n_failed;	      /* atomic */
	const char *path;
	bool is_checked;
	callers_fn *malloc; /* found by name, so that an auditor of the linker sees it */
	const char *alias_file, *alias_name;
	uintptr_t alias_start, alias_end;
} report = { .fd = -1 };

volatile unsigned int callers_n_turns = 2;

static const char *const rules[] = {
	[CALLERS_COMPLETE] = "complete",
	[CALLERS_PREFIX] = "prefix",
	[CALLERS_SOME] = "some",
	[CALLERS_EITHER] = "either",
};

struct stack {
	void *frames[CALLERS_FRAMES_MAX];
	size_t n;
};

static __thread struct {
	const char *shape;
	enum callers_rule rule;
	unsigned int least;
	size_t bytes;
	void *extra[EXTRA_MAX];
	size_t n_extra;
	bool is_driver;
	bool is_inside;
	bool is_checking;
	struct stack told; /* what the last witness noted */
	char *line;	   /* LINE_BYTES, for good */
} thread;

void callers_failed(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "callers: %s: ", thread.shape ? thread.shape : "?");
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	__atomic_add_fetch(&report.n_failed, 1, __ATOMIC_RELAXED);
}

int callers_end(void)
{
	return __atomic_load_n(&report.n_failed, __ATOMIC_RELAXED) ? 1 : 0;
}

void callers_extra(void *const *frames, size_t n)
{
	thread.n_extra = MIN(n, (size_t)EXTRA_MAX);
	memcpy(thread.extra, frames, thread.n_extra * sizeof(*frames));
}

void callers_driver(bool is_driver)
{
	thread.is_driver = is_driver;
}

void callers_inside(bool is_inside)
{
	thread.is_inside = is_inside;
}

void callers_alias(const void *start, size_t n, const char *file)
{
	report.alias_file = file;
	report.alias_name = NULL;
	report.alias_start = (uintptr_t)start;
	report.alias_end = (uintptr_t)start + n;
}

void callers_name(const void *start, size_t n, const char *name)
{
	callers_alias(start, n, NULL);
	report.alias_name = name;
}

void callers_number(unsigned int first)
{
	__atomic_store_n(&report.n_calls, first, __ATOMIC_RELAXED);
}

const char *callers_report(void)
{
	return report.path;
}

bool callers_is_checked(void)
{
	return report.is_checked;
}

const char *callers_place(void)
{
	static char place[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", place, sizeof(place) - 1);

	if (n > 0)
		*strrchr(place, '/') = '\0';
	return place;
}

size_t callers_bytes(void)
{
	return thread.bytes;
}

static int add(size_t *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int add(size_t *at, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(thread.line + *at, LINE_BYTES - *at, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= LINE_BYTES - *at) {
		callers_failed("no room for a line");
		return -1;
	}
	*at += (size_t)n;
	return 0;
}

/* What a C program calls its modules needs no escapes: they are paths of tests. */
static void add_frame(size_t *at, uintptr_t ip)
{
	Dl_info info;

	bool is_alias = ip >= report.alias_start && ip < report.alias_end;

	if (is_alias && report.alias_name)
		(void)add(at, "{\"ip\":\"0x%zx\",\"module\":\"\",\"symbol\":\"%s+0x%zx\"}", ip, report.alias_name,
			  ip - report.alias_start);
	else if (is_alias && report.alias_file)
		(void)add(at, "{\"ip\":\"0x%zx\",\"module\":\"%s\",\"at\":\"0x%zx\"}", ip, report.alias_file,
			  ip - report.alias_start);
	else if (dladdr((void *)(ip - 1), &info) && info.dli_fname &&
		 ((const ElfW(Ehdr) *)info.dli_fbase)->e_type == ET_EXEC)
		(void)add(at, "{\"ip\":\"0x%zx\",\"module\":\"%s\",\"at\":\"0x%zx\"}", ip, info.dli_fname, ip);
	else if (dladdr((void *)(ip - 1), &info) && info.dli_fname)
		(void)add(at, "{\"ip\":\"0x%zx\",\"module\":\"%s\",\"at\":\"0x%zx\"}", ip, info.dli_fname,
			  ip - (uintptr_t)info.dli_fbase);
	else
		(void)add(at, "{\"ip\":\"0x%zx\",\"module\":\"\"}", ip);
}

static void tell(const struct stack *stack)
{
	size_t at = 0;

	if (!thread.line)
		thread.line = mmap(NULL, LINE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (thread.line == MAP_FAILED || report.fd < 0)
		return;
	(void)add(&at,
		  "{\"shape\":\"%s\",\"pid\":%d,\"tid\":%d,\"bytes\":%zu,\"op\":\"%s\",\"rule\":\"%s\",\"least\":%u,"
		  "\"frames\":[",
		  thread.shape, (int)getpid(), (int)gettid(), thread.bytes,
		  thread.is_driver ? "cuMemAlloc" : "cudaMalloc", rules[thread.rule], thread.least);
	for (size_t i = 0; i < stack->n; i++) {
		if (i)
			(void)add(&at, ",");
		add_frame(&at, (uintptr_t)stack->frames[i]);
	}
	(void)add(&at, "]}\n");
	/* one line, one write: those of several processes do not mix */
	if (write(report.fd, thread.line, at) != (ssize_t)at)
		callers_failed("no line was written: %s", strerror(errno));
}

static bool is_of_standin(const void *ip)
{
	Dl_info info;

	return dladdr((const char *)ip - 1, &info) && info.dli_fname && strstr(info.dli_fname, "/standins/");
}

/* The frames up to the last one of the stand-in, and then those of the call around. */
static void join(struct stack *stack, const struct stack *outer)
{
	size_t i = 0;

	while (i < stack->n && !is_of_standin(stack->frames[i]))
		i++;
	while (i < stack->n && is_of_standin(stack->frames[i]))
		i++;
	stack->n = MIN(i + outer->n, (size_t)CALLERS_FRAMES_MAX);
	memcpy(stack->frames + i, outer->frames, (stack->n - i) * sizeof(stack->frames[0]));
}

/* Not on the stack, which may be small. */
static __thread void *noted[CALLERS_FRAMES_MAX];

static CALLERS_NOINLINE int witness(void **pointer, size_t bytes)
{
	int n = backtrace(noted, CALLERS_FRAMES_MAX);
	static __thread struct stack stack;

	(void)pointer;
	(void)bytes;
	memcpy(stack.frames, thread.extra, thread.n_extra * sizeof(void *));
	stack.n = thread.n_extra;
	thread.n_extra = 0;
	for (int i = 1; i < n && stack.n < CALLERS_FRAMES_MAX; i++)
		stack.frames[stack.n++] = noted[i];
	if (thread.is_inside)
		join(&stack, &thread.told);
	thread.told = stack;
	tell(&stack);
	return 0;
}

/* Inside of the CUDA call: its caller and all behind it are what the witness said. */
static void check_inside(void *data)
{
	const struct stack *told = &thread.told;
	size_t first = 1;
	int n;

	(void)data;
	if (thread.is_inside || thread.is_checking)
		return;
	thread.is_checking = true;
	n = backtrace(noted, CALLERS_FRAMES_MAX);
	while (first < (size_t)n && is_of_standin(noted[first]))
		first++;
	for (size_t i = 0; i < told->n && first + i < (size_t)n; i++) {
		if (noted[first + i] != told->frames[i]) {
			callers_failed("frame %zu is %p, told was %p", i, noted[first + i], told->frames[i]);
			break;
		}
	}
	/* where backtrace(3) cannot pass, the witness knew more */
	if ((size_t)n - first != told->n && thread.rule == CALLERS_COMPLETE)
		callers_failed("%zu frames, told were %zu", (size_t)n - first, told->n);
	thread.is_checking = false;
}

void callers_shape(const char *name, enum callers_rule rule, unsigned int least)
{
	thread.shape = name;
	thread.rule = rule;
	thread.least = least;
	if (report.is_checked)
		(void)ingero_standin_callback("cudaMalloc", check_inside, NULL);
}

/* The driver's function takes the same registers: where to put the pointer, and a number of bytes. */
callers_fn *callers_turn(unsigned int turn)
{
	if (turn == 0) {
		thread.bytes = BYTES_FIRST + __atomic_add_fetch(&report.n_calls, 1, __ATOMIC_RELAXED);
		return witness;
	}
	return thread.is_driver ? (callers_fn *)(void (*)(void))cuMemAlloc_v2 : report.malloc;
}

void callers_open(const char *path, bool is_checked)
{
	void *one[1];

	report.fd =
		strcmp(path, "-") == 0 ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (report.fd < 0) {
		fprintf(stderr, "callers: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	report.malloc = (callers_fn *)dlsym(RTLD_DEFAULT, "cudaMalloc");
	if (!report.malloc)
		report.malloc = cudaMalloc;
	(void)backtrace(one, 1); /* loads what it needs */
	report.path = path;
	report.is_checked = is_checked;
}
