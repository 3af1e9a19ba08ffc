// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel's return probes do to a program, shown by empty programs; what ours do
 * beside it; and the way out, which is no return trap.
 *
 * An exception that passes a trapped call ends the program on every back end: the unwinder
 * finds the kernel's trampoline where it expects a return address that has tables. Only
 * rewriting the stack would help, which a locked-down kernel refuses to programs.
 */
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "floor.h"
#include "rig.h"
#include "tests/support/check.h"
#include "throw.h"

#define TIMES 5
#define STACK_BYTES 65536

static ucontext_t main_context, fibre_context;
static char fibre_stack[STACK_BYTES] __attribute__((aligned(64)));

static int func_throw(void *data)
{
	(void)data;
	throw_now();
	return 0;
}

static int call_thrower(void *data)
{
	(void)data;
	return subject_runtime(func_throw, NULL);
}

static int func_catch_inside(void *data)
{
	(void)data;
	return throw_caught(call_thrower, NULL) == 1 ? subject_empty() : 7;
}

/* Thrown and caught while no call is open. */
static int run_around(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_empty() != 0 || throw_caught(func_throw, NULL) != 1 || subject_empty() != 0)
			return 1;
	return 0;
}

/* Through two nested calls. */
static int run_through(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (throw_caught(call_thrower, NULL) != 1 || subject_empty() != 0)
			return 1;
	return 0;
}

/* Through two calls, caught inside a third, which returns as ever. */
static int run_inside(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_call(func_catch_inside, NULL) != 0)
			return 1;
	return 0;
}

static int func_back(void *data)
{
	(void)data;
	return swapcontext(&fibre_context, &main_context);
}

static void fibre_back(void)
{
	subject_driver(func_back, NULL);
}

static int func_switch(void *data)
{
	(void)data;
	return swapcontext(&main_context, &fibre_context);
}

static int run_fibres(void *data)
{
	(void)data;
	if (getcontext(&fibre_context) < 0)
		return 1;
	fibre_context.uc_stack.ss_sp = fibre_stack;
	fibre_context.uc_stack.ss_size = sizeof(fibre_stack);
	fibre_context.uc_link = &main_context;
	makecontext(&fibre_context, fibre_back, 0);
	if (subject_call(func_switch, NULL) != 0 || subject_empty() != 0)
		return 2;
	return swapcontext(&main_context, &fibre_context) < 0 ? 3 : 0;
}

enum harm_probes { HARM_FLOOR, HARM_OURS, HARM_ENTRY_ONLY };

static const struct {
	const char *name;
	int (*run)(void *data);
	enum harm_probes probes;
	bool is_harmed;
	struct {
		unsigned int op, count, abandoned, untimed;
	} ops[4];
	bool is_session_alone; /* the other back ends do what the floor does */
} cases[] = {
	/* First what must not meet a return trap: perf events go slowly. */
	{ "exception through calls, entry only",
	  run_through,
	  HARM_ENTRY_ONLY,
	  false,
	  { { RIG_RUNTIME, TIMES, 0, TIMES }, { RIG_DRIVER, TIMES, 0, TIMES }, { RIG_EMPTY, TIMES, 0, TIMES } },
	  false },
	{ "exception caught inside a call, entry only",
	  run_inside,
	  HARM_ENTRY_ONLY,
	  false,
	  { { RIG_RUNTIME, TIMES, 0, TIMES },
	    { RIG_DRIVER, TIMES, 0, TIMES },
	    { RIG_EMPTY, TIMES, 0, TIMES },
	    { RIG_CALL, TIMES, 0, TIMES } },
	  false },
	{ "exceptions around calls, floor", run_around, HARM_FLOOR, false, {}, false },
	{ "exceptions around calls", run_around, HARM_OURS, false, { { RIG_EMPTY, 2 * TIMES, 0, 0 } }, false },
	{ "exception through calls, floor", run_through, HARM_FLOOR, true, {}, false },
	{ "exception through calls", run_through, HARM_OURS, true, {}, false },
	{ "fibre's call outlives the call around it, floor", run_fibres, HARM_FLOOR, true, {}, false },
	{ "fibre's call outlives the call around it",
	  run_fibres,
	  HARM_OURS,
	  false,
	  { { RIG_CALL, 1, 0, 0 }, { RIG_DRIVER, 1, 0, 1 }, { RIG_EMPTY, 1, 0, 0 } },
	  true },
};

/* The floor has no idea of targets: the child is just started. */
static int child_plain(int (*run)(void *data))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(run(NULL));
	(void)waitpid(pid, &status, 0);
	return status;
}

static int run_floor(enum probe_back_end back_end, int (*run)(void *data))
{
	struct probe_site sites[RIG_SITES_MAX];
	CLEANUP(closep) int fd = rig_path_fd();
	struct floor *floor = NULL;
	size_t n = rig_sites(sites);
	int status;

	CHECK_INT_EQ("floor", floor_open(back_end, &floor), 0);
	CHECK_INT_EQ("floor", floor_attach(floor, fd, sites, n), 0);
	status = child_plain(run);
	floor_close(floor);
	return status;
}

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].name;
		struct rig rig;
		int status;
		pid_t pid;

		rig_open_cookie(&rig, back_end, 0, cases[i].probes == HARM_ENTRY_ONLY ? COOKIE_ENTRY_ONLY : 0);
		if (cases[i].is_session_alone && probe_set_back_end(rig.set) != PROBE_BACK_END_SESSION) {
			rig_close(&rig);
			continue;
		}
		if (cases[i].probes == HARM_FLOOR) {
			enum probe_back_end used = probe_set_back_end(rig.set);

			rig_close(&rig);
			status = run_floor(used, cases[i].run);
		} else {
			status = rig_child(&rig, cases[i].run, NULL, &pid);
			for (k = 0; k < ARRAY_SIZE(cases[i].ops); k++) {
				struct rig_figures f = rig_figures(&rig, pid, cases[i].ops[k].op);

				if (!cases[i].ops[k].op)
					continue;
				CHECK_INT_EQ(name, f.count, cases[i].ops[k].count);
				CHECK_INT_EQ(name, f.abandoned, cases[i].ops[k].abandoned);
				CHECK_INT_EQ(name, f.untimed, cases[i].ops[k].untimed);
			}
			rig_close(&rig);
		}
		if (cases[i].is_harmed)
			CHECK(name, WIFSIGNALED(status));
		else
			CHECK_INT_EQ(name, status, 0);
	}
	return check_result();
}
