// SPDX-License-Identifier: Apache-2.0
/*
 * Calls from handlers of signals.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include "callers.h"
#include "callers_asm.h"

#define STACK_BYTES (512u << 10)
#define TIMES 20

static volatile int n_left;

static void handle(int number)
{
	(void)number;
	CALLERS_CALL();
	CALLERS_STAYS();
}

static void handle_fault(int number, siginfo_t *info, void *data)
{
	ucontext_t *context = data;

	(void)number;
	(void)info;
	CALLERS_CALL();
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RIP] += callers_fault_next - (const char *)(void *)callers_fault;
#else
	(void)context;
#endif
}

static void handle_tick(int number)
{
	(void)number;
	if (n_left > 0) {
		CALLERS_CALL();
		n_left--;
	}
}

static void handle_outer(int number)
{
	(void)number;
	(void)raise(SIGUSR2);
	CALLERS_STAYS();
}

static void on_signal(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	(void)sigaction(number, &action, NULL);
}

static void raised(void)
{
	on_signal(SIGUSR1, handle, 0);
	(void)raise(SIGUSR1);
	CALLERS_STAYS();
}

static void nested(void)
{
	on_signal(SIGUSR1, handle_outer, 0);
	on_signal(SIGUSR2, handle, 0);
	(void)raise(SIGUSR1);
	CALLERS_STAYS();
}

static void alternate(void)
{
	stack_t stack = { .ss_size = STACK_BYTES }, none = { .ss_flags = SS_DISABLE };

	stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED)
		return callers_failed("no memory");
	(void)sigaltstack(&stack, NULL);
	on_signal(SIGUSR1, handle, SA_ONSTACK);
	(void)raise(SIGUSR1);
	(void)sigaltstack(&none, NULL);
	(void)munmap(stack.ss_sp, STACK_BYTES);
}

/* The instruction that faults is the first of its function: the one before it belongs to another. */
static void fault(void)
{
	struct sigaction action = { .sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO }, old;

	(void)sigaction(SIGSEGV, &action, &old);
	(void)callers_fault(NULL);
	(void)sigaction(SIGSEGV, &old, NULL);
}

/* Wherever the program is. */
static void timer(void)
{
	static const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never;

	n_left = TIMES;
	on_signal(SIGALRM, handle_tick, 0);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	while (n_left > 0) {
		static volatile int is_over = 1;

		(void)callers_spin(&is_over);
	}
	(void)setitimer(ITIMER_REAL, &never, NULL);
}

const struct callers_row callers_signals[] = {
	{ "signal", raised, CALLERS_COMPLETE, 0 },
	{ "signal_nested", nested, CALLERS_COMPLETE, 0 },
	{ "signal_alternate", alternate, CALLERS_COMPLETE, 0 },
#if defined(__x86_64__)
	{ "signal_fault", fault, CALLERS_COMPLETE, 0 },
	{ "signal_timer", timer, CALLERS_COMPLETE, 0 },
#endif
	{ .name = NULL },
};
