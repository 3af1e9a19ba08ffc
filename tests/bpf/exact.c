// SPDX-License-Identifier: Apache-2.0
/*
 * Ways to enter and leave a traced call that are not call and return: the program must
 * come through as if nobody looked, each call be counted once, and those that never
 * return be counted as such.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"

#define TIMES 7
#define STACK_BYTES 65536

static sigjmp_buf jump_to;
static int depth_left;
static ucontext_t main_context, fibre_context, fibre_context_2;
static char fibre_stacks[2][STACK_BYTES] __attribute__((aligned(64)));
static char signal_stack[STACK_BYTES];

static int func_jump(void *data)
{
	(void)data;
	siglongjmp(jump_to, 1);
}

static int func_empty(void *data)
{
	(void)data;
	return subject_empty();
}

/* Out of one call, from the same place each time: the next entry is at the same height. */
static int run_longjmp(void *data)
{
	volatile int i;

	(void)data;
	for (i = 0; i < TIMES; i++)
		if (sigsetjmp(jump_to, 0) == 0)
			subject_call(func_jump, NULL);
	return subject_empty();
}

static __attribute__((noinline)) int deeper(int levels)
{
	volatile char room[256];

	room[0] = (char)levels;
	if (levels > 0)
		return deeper(levels - 1) + room[0] - levels;
	return subject_runtime(func_jump, NULL);
}

/* Out of two nested calls at once, entered further down the stack than the calls that follow. */
static int run_longjmp_nested(void *data)
{
	volatile int i;

	(void)data;
	for (i = 0; i < TIMES; i++) {
		if (sigsetjmp(jump_to, 1) == 0)
			deeper(i);
		if (subject_empty() != 0)
			return 1;
	}
	return 0;
}

/* A jump that stays inside an outer call: only the inner one is lost. */
static int func_jump_inside(void *data)
{
	(void)data;
	if (sigsetjmp(jump_to, 0) == 0)
		subject_driver(func_jump, NULL);
	return subject_empty();
}

static int run_longjmp_inside(void *data)
{
	(void)data;
	return subject_call(func_jump_inside, NULL);
}

static int func_deep_jump(void *data)
{
	return --depth_left > 0 ? subject_call(func_deep_jump, data) : func_jump(data);
}

/* Out of as many calls as are followed, from further down. */
static int run_longjmp_all(void *data)
{
	volatile int i;

	(void)data;
	for (i = 0; i < TIMES; i++) {
		depth_left = CALL_DEPTH_MAX;
		if (sigsetjmp(jump_to, 0) == 0)
			subject_call(func_deep_jump, NULL);
		if (subject_empty() != 0)
			return 1;
	}
	return 0;
}

static void on_signal(int signal_number)
{
	(void)signal_number;
	subject_empty();
}

static void on_signal_jump(int signal_number)
{
	(void)signal_number;
	siglongjmp(jump_to, 1);
}

static int func_raise(void *data)
{
	(void)data;
	return raise(SIGUSR1);
}

static int handle(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };

	if ((flags & SA_ONSTACK) && sigaltstack(&stack, NULL) < 0)
		return -1;
	return sigaction(SIGUSR1, &action, NULL);
}

static int run_signal(void *data)
{
	(void)data;
	if (handle(on_signal, 0) < 0)
		return 1;
	for (int i = 0; i < TIMES; i++)
		if (subject_call(func_raise, NULL) != 0)
			return 2;
	return 0;
}

static int run_signal_stack(void *data)
{
	(void)data;
	if (handle(on_signal, SA_ONSTACK) < 0)
		return 1;
	for (int i = 0; i < TIMES; i++)
		if (subject_call(func_raise, NULL) != 0)
			return 2;
	return subject_empty();
}

/* The signal stack above the calls: a mapping there is what the first thread's stack is for a thread's own. */
static void *thread_signal_above(void *data)
{
	char stack_memory[STACK_BYTES];
	stack_t stack = { .ss_sp = stack_memory, .ss_size = sizeof(stack_memory) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&stack, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		return data;
	for (int i = 0; i < TIMES; i++)
		if (subject_call(func_raise, NULL) != 0)
			return data;
	stack.ss_flags = SS_DISABLE;
	(void)sigaltstack(&stack, NULL);
	return NULL;
}

static int run_signal_above(void *data)
{
	pthread_t thread;
	void *failed = NULL;

	if (pthread_create(&thread, NULL, thread_signal_above, signal_stack) != 0)
		return 1;
	(void)data;
	(void)pthread_join(thread, &failed);
	return failed ? 2 : 0;
}

/* Left by siglongjmp out of the handler, and with it the call that was interrupted. */
static int run_signal_jump(void *data)
{
	volatile int i;

	(void)data;
	if (handle(on_signal_jump, SA_ONSTACK) < 0)
		return 1;
	for (i = 0; i < TIMES; i++)
		if (sigsetjmp(jump_to, 1) == 0)
			subject_call(func_raise, NULL);
	return subject_empty();
}

static void on_signal_nested_jump(int signal_number)
{
	(void)signal_number;
	subject_driver(func_jump, NULL);
}

/* Out of a call made by a handler on its own stack, no other call being open. */
static int run_signal_stack_jump(void *data)
{
	volatile int i;

	(void)data;
	if (handle(on_signal_nested_jump, SA_ONSTACK) < 0)
		return 1;
	for (i = 0; i < TIMES; i++) {
		if (sigsetjmp(jump_to, 1) == 0)
			(void)raise(SIGUSR1);
		if (subject_runtime(NULL, NULL) != 0)
			return 2;
	}
	return 0;
}

static int func_recurse(void *data)
{
	return --depth_left > 0 ? subject_call(func_recurse, data) : 0;
}

static int run_recursion_5(void *data)
{
	(void)data;
	depth_left = 5;
	return subject_call(func_recurse, NULL);
}

static int run_recursion_100(void *data)
{
	(void)data;
	depth_left = 100;
	if (subject_call(func_recurse, NULL) != 0)
		return 1;
	return subject_empty();
}

static int run_tail(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_tail(func_empty, NULL) != 0)
			return 1;
	return 0;
}

static int run_tail_variant(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_tail_variant(func_empty, NULL) != 0)
			return 1;
	return 0;
}

static int run_variant(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_variant(func_empty, NULL) != 0)
			return 1;
	return 0;
}

/* The child goes on where the parent was: both return from the call. */
static int func_fork(void *data)
{
	pid_t pid = fork();
	int status;

	(void)data;
	if (pid == 0)
		return subject_empty();
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int run_fork(void *data)
{
	pid_t self = getpid();
	int r;

	(void)data;
	r = subject_call(func_fork, NULL);
	if (r == 0)
		r = subject_empty();
	if (getpid() != self)
		_exit(r);
	return r;
}

static int func_vfork(void *data)
{
	pid_t pid = vfork();
	int status;

	(void)data;
	if (pid == 0) {
		subject_empty();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int run_vfork(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_call(func_vfork, NULL) != 0)
			return 1;
	return subject_empty();
}

static int func_exec(void *data)
{
	(void)data;
	execl("/bin/true", "true", (char *)NULL);
	return 1;
}

static int run_exec(void *data)
{
	(void)data;
	return subject_call(func_exec, NULL);
}

static int func_exit(void *data)
{
	(void)data;
	_exit(0);
}

static int run_exit(void *data)
{
	(void)data;
	return subject_runtime(func_exit, NULL);
}

static int func_kill(void *data)
{
	(void)data;
	return raise(SIGKILL);
}

static int run_kill(void *data)
{
	(void)data;
	return subject_call(func_kill, NULL);
}

static int func_thread_exit(void *data)
{
	pthread_exit(data);
}

static int func_cancel(void *data)
{
	(void)data;
	(void)pthread_cancel(pthread_self());
	pthread_testcancel();
	return 1;
}

static void *thread_leave(void *data)
{
	subject_call(*(subject_func *)data, NULL);
	return NULL;
}

static int leave_in_thread(subject_func func)
{
	for (int i = 0; i < TIMES; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_leave, &func) != 0)
			return 1;
		(void)pthread_join(thread, NULL);
	}
	return subject_empty();
}

static int run_thread_exit(void *data)
{
	(void)data;
	return leave_in_thread(func_thread_exit);
}

static int run_cancel(void *data)
{
	(void)data;
	return leave_in_thread(func_cancel);
}

/* A fibre makes calls of its own while a call of the main stack is open, and comes back. */
static void fibre_calls(void)
{
	for (int i = 0; i < TIMES; i++)
		subject_runtime(NULL, NULL);
}

static int func_switch(void *data)
{
	(void)data;
	return swapcontext(&main_context, &fibre_context);
}

static int fibre_make(ucontext_t *context, char *stack, void (*func)(void), ucontext_t *link)
{
	if (getcontext(context) < 0)
		return -1;
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = link;
	makecontext(context, func, 0);
	return 0;
}

static int run_fibre(void *data)
{
	(void)data;
	if (fibre_make(&fibre_context, fibre_stacks[0], fibre_calls, &main_context) < 0)
		return 1;
	if (subject_call(func_switch, NULL) != 0)
		return 2;
	return subject_empty();
}

/* Out of order: the call on the main stack returns while the fibre's is open, which ends later. */
static int func_back(void *data)
{
	(void)data;
	return swapcontext(&fibre_context, &main_context);
}

static void fibre_back(void)
{
	subject_driver(func_back, NULL);
}

static int run_fibre_order(void *data)
{
	(void)data;
	if (fibre_make(&fibre_context, fibre_stacks[0], fibre_back, &main_context) < 0)
		return 1;
	if (subject_call(func_switch, NULL) != 0)
		return 2;
	if (subject_empty() != 0)
		return 3;
	return swapcontext(&main_context, &fibre_context) < 0 ? 4 : subject_empty();
}

/* Two fibres side by side, as in makecontext(3), each inside a call while the other makes its own. */
static int func_to_second(void *data)
{
	(void)data;
	return swapcontext(&fibre_context, &fibre_context_2);
}

static int func_to_first(void *data)
{
	(void)data;
	return swapcontext(&fibre_context_2, &fibre_context);
}

static void fibre_first(void)
{
	for (int i = 0; i < TIMES; i++)
		subject_call(func_to_second, NULL);
}

static void fibre_second(void)
{
	for (;;)
		subject_driver(func_to_first, NULL);
}

static int run_fibre_pair(bool is_first_above)
{
	if (fibre_make(&fibre_context, fibre_stacks[is_first_above], fibre_first, &main_context) < 0 ||
	    fibre_make(&fibre_context_2, fibre_stacks[!is_first_above], fibre_second, NULL) < 0)
		return 1;
	if (swapcontext(&main_context, &fibre_context) < 0)
		return 2;
	return 0;
}

static int run_fibre_pair_above(void *data)
{
	(void)data;
	return run_fibre_pair(true);
}

static int run_fibre_pair_below(void *data)
{
	(void)data;
	return run_fibre_pair(false);
}

/* What a child's calls must come to, and how it must end. */
struct expected_op {
	unsigned int op;
	unsigned int count, abandoned;
};

static const struct exact_case {
	const char *name;
	int (*run)(void *data);
	struct expected_op ops[4];
	int status;
	unsigned int untimed;	    /* of all of them, session */
	bool kills_without_session; /* the kernel's own return probes do that, see run_floor() */
} cases[] = {
	{ "longjmp", run_longjmp, { { RIG_CALL, TIMES, TIMES }, { RIG_EMPTY, 1, 0 } }, 0, 0, false },
	{ "longjmp out of two, from further down",
	  run_longjmp_nested,
	  { { RIG_RUNTIME, TIMES, TIMES }, { RIG_DRIVER, TIMES, TIMES }, { RIG_EMPTY, TIMES, 0 } },
	  0,
	  0,
	  false },
	{ "longjmp inside a call",
	  run_longjmp_inside,
	  { { RIG_CALL, 1, 0 }, { RIG_DRIVER, 1, 1 }, { RIG_EMPTY, 1, 0 } },
	  0,
	  0,
	  false },
	{ "longjmp out of all that are followed",
	  run_longjmp_all,
	  { { RIG_CALL, TIMES *CALL_DEPTH_MAX, TIMES *CALL_DEPTH_MAX }, { RIG_EMPTY, TIMES, 0 } },
	  0,
	  0,
	  false },
	{ "signal", run_signal, { { RIG_CALL, TIMES, 0 }, { RIG_EMPTY, TIMES, 0 } }, 0, 0, false },
	{ "signal on its own stack",
	  run_signal_stack,
	  { { RIG_CALL, TIMES, 0 }, { RIG_EMPTY, TIMES + 1, 0 } },
	  0,
	  TIMES,
	  false },
	{ "signal on its own stack, above",
	  run_signal_above,
	  { { RIG_CALL, TIMES, 0 }, { RIG_EMPTY, TIMES, 0 } },
	  0,
	  TIMES,
	  true },
	{ "siglongjmp out of a handler",
	  run_signal_jump,
	  { { RIG_CALL, TIMES, TIMES }, { RIG_EMPTY, 1, 0 } },
	  0,
	  0,
	  false },
	{ "siglongjmp out of a call on the signal stack",
	  run_signal_stack_jump,
	  { { RIG_DRIVER, 2 * TIMES, TIMES }, { RIG_RUNTIME, TIMES, 0 } },
	  0,
	  0,
	  false },
	{ "recursion", run_recursion_5, { { RIG_CALL, 5, 0 } }, 0, 0, false },
	{ "recursion, deeper than we and the kernel follow",
	  run_recursion_100,
	  { { RIG_CALL, 100, 0 }, { RIG_EMPTY, 1, 0 } },
	  0,
	  100 - CALL_DEPTH_MAX,
	  false },
	{ "export that jumps to one of another operation",
	  run_tail,
	  { { RIG_TAIL, TIMES, 0 }, { RIG_DRIVER, TIMES, 0 }, { RIG_EMPTY, TIMES, 0 } },
	  0,
	  0,
	  false },
	{ "export that jumps to another of its operation",
	  run_tail_variant,
	  { { RIG_CALL, TIMES, 0 }, { RIG_EMPTY, TIMES, 0 } },
	  0,
	  0,
	  false },
	{ "export that calls another of its operation",
	  run_variant,
	  { { RIG_CALL, TIMES, 0 }, { RIG_EMPTY, TIMES, 0 } },
	  0,
	  0,
	  false },
	{ "fork in a call", run_fork, { { RIG_CALL, 1, 0 }, { RIG_EMPTY, 1, 0 } }, 0, 0, false },
	{ "vfork in a call", run_vfork, { { RIG_CALL, TIMES, 0 }, { RIG_EMPTY, 1, 0 } }, 0, 0, false },
	{ "exec in a call", run_exec, { { RIG_CALL, 1, 1 } }, 0, 0, false },
	{ "_exit in a call", run_exit, { { RIG_RUNTIME, 1, 1 }, { RIG_DRIVER, 1, 1 } }, 0, 0, false },
	{ "kill in a call", run_kill, { { RIG_CALL, 1, 1 } }, SIGKILL, 0, false },
	{ "pthread_exit in a call", run_thread_exit, { { RIG_CALL, TIMES, TIMES }, { RIG_EMPTY, 1, 0 } }, 0, 0, false },
	{ "cancel in a call", run_cancel, { { RIG_CALL, TIMES, TIMES }, { RIG_EMPTY, 1, 0 } }, 0, 0, false },
	{ "fibre in a call",
	  run_fibre,
	  { { RIG_CALL, 1, 0 }, { RIG_RUNTIME, TIMES, 0 }, { RIG_DRIVER, TIMES, 0 }, { RIG_EMPTY, 1, 0 } },
	  0,
	  2 * TIMES,
	  false },
	{ "fibre's call outlives the call around it",
	  run_fibre_order,
	  { { RIG_CALL, 1, 0 }, { RIG_DRIVER, 1, 0 }, { RIG_EMPTY, 2, 0 } },
	  0,
	  1,
	  true },
	{ "two fibres, first above",
	  run_fibre_pair_above,
	  { { RIG_CALL, TIMES, 0 }, { RIG_DRIVER, TIMES, 0 } },
	  0,
	  TIMES,
	  true },
	{ "two fibres, first below",
	  run_fibre_pair_below,
	  { { RIG_CALL, TIMES, 0 }, { RIG_DRIVER, TIMES, 0 } },
	  0,
	  TIMES,
	  true },
};

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);
	const char *only = argc > 2 ? argv[2] : NULL;
	struct rig rig;
	size_t i, k;

	rig_open(&rig, back_end, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct exact_case *c = &cases[i];
		uint64_t untimed = 0, too_deep = rig_loss(&rig, LOSS_DEPTH);
		pid_t pid;
		int status;

		if (only && strcmp(only, c->name) != 0)
			continue;
		if (c->kills_without_session && probe_set_back_end(rig.set) != PROBE_BACK_END_SESSION)
			continue;
		status = rig_child(&rig, c->run, NULL, &pid);
		CHECK_INT_EQ(c->name, status, c->status);
		for (k = 0; k < ARRAY_SIZE(c->ops); k++) {
			struct rig_figures f = rig_figures(&rig, pid, c->ops[k].op);

			if (!c->ops[k].op)
				continue;
			CHECK_INT_EQ(c->name, f.count + f.abandoned, c->ops[k].count);
			CHECK_INT_EQ(c->name, f.abandoned, c->ops[k].abandoned);
			untimed += f.untimed;
		}
		CHECK_INT_EQ(c->name, untimed, c->untimed);
		CHECK_INT_EQ(c->name, rig_loss(&rig, LOSS_DEPTH) - too_deep,
			     c->run == run_recursion_100 ? 100 - CALL_DEPTH_MAX : 0);
		CHECK_INT_EQ(c->name, rig_loss(&rig, LOSS_RETURN_UNPAIRED), 0);
		CHECK_INT_EQ(c->name, probe_set_slots(rig.set)[rig_slot(&rig, pid)].state, PROCESS_SLOT_GONE);
	}
	rig_close(&rig);
	return check_result();
}
