// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that leave, interrupt and re-enter their CUDA calls in every way C allows,
 * one case each by name. A case knows what it called (truth.h) and ends with 0 when
 * nothing in it was disturbed; a tracer must neither harm it nor miscount it.
 *
 *   harm CASE [--wait-for-stdin]     harm --list
 */
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda_calls.h"
#include "program.h"
#include "standin/control.h"
#include "truth.h"

#define TIMES 101 /* repetitions, a prime */
#define THREADS 7
#define STACK_BYTES (256u << 10)
#define FAR_BYTES (64u << 20) /* well beyond what is taken for one stack */

static const char *self; /* this program's file */
static const char *case_name;

static void map_or_end(void **ret_memory, size_t n)
{
	*ret_memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (*ret_memory == MAP_FAILED) {
		perror("harm: no memory");
		exit(2);
	}
}

/* Jumps out of calls */

static __thread sigjmp_buf back;

static void jump_back(void)
{
	siglongjmp(back, 1);
}

/* Not inlined and with room of its own: where it is called from decides the stack pointer of the call in it. */
static __attribute__((noinline)) void jump_out(size_t deeper_bytes)
{
	volatile char *room = alloca(deeper_bytes + 1);

	room[0] = 1;
	if (sigsetjmp(back, 0) == 0) {
		expect_sync(1, 0);
		(void)call_around(jump_back);
		truth_harmed("a call that was jumped out of came back");
	}
	if (room[0] != 1)
		truth_harmed("the frame that was jumped to has changed");
}

static void longjmp_same_site(void)
{
	for (int i = 0; i < TIMES; i++)
		jump_out(0);
	call_sync();
}

static void longjmp_same_site_mixed(void)
{
	for (int i = 0; i < TIMES; i++) {
		jump_out(0);
		call_sync();
		call_launch();
	}
}

/* Deeper, shallower and equal stack pointers, with and without a call that returns between. */
static void longjmp_other_sites(void)
{
	static const size_t deeper_bytes[] = { 0, 4096, 64, 4096, 32768, 64, 64, 0 };

	for (int i = 0; i < TIMES; i++) {
		jump_out(deeper_bytes[(size_t)i % ARRAY_SIZE(deeper_bytes)]);
		if (i % 3 == 0)
			call_launch();
	}
	call_sync();
}

/* Signals in calls */

static void raise_in_call(void)
{
	(void)raise(SIGUSR1);
}

static void on_signal_jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void on_signal_call(int number)
{
	(void)number;
	call_launch();
	call_sync();
}

static void handle(void (*handler)(int number), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	(void)sigaction(SIGUSR1, &action, NULL);
}

static __attribute__((noinline)) void signal_out(void)
{
	if (sigsetjmp(back, 1) == 0) {
		expect_sync(1, 0);
		(void)call_around(raise_in_call);
		truth_harmed("a call that a handler jumped out of came back");
	}
}

static void siglongjmp_from_handler(void)
{
	handle(on_signal_jump, 0);
	for (int i = 0; i < TIMES; i++) {
		signal_out();
		call_launch();
	}
}

static void calls_in_handler(void)
{
	handle(on_signal_call, 0);
	for (int i = 0; i < TIMES; i++) {
		expect_sync(1, 1);
		(void)call_around(raise_in_call);
	}
}

static void *calls_in_handler_on(void *stack)
{
	stack_t alternate = { .ss_sp = stack, .ss_size = STACK_BYTES };

	if (sigaltstack(&alternate, NULL) < 0)
		truth_harmed("no alternate stack");
	handle(on_signal_call, SA_ONSTACK);
	for (int i = 0; i < TIMES; i++) {
		expect_sync(1, 1);
		(void)call_around(raise_in_call);
	}
	return NULL;
}

/* A thread's stack and an alternate one at known places of one mapping. */
static void with_alternate_stack(size_t thread_at, size_t alternate_at)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *memory;

	map_or_end(&memory, MAX(thread_at, alternate_at) + STACK_BYTES);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, (char *)memory + thread_at, STACK_BYTES);
	if (pthread_create(&thread, &attributes, calls_in_handler_on, (char *)memory + alternate_at) != 0) {
		truth_harmed("no thread");
		return;
	}
	pthread_join(thread, NULL);
	call_sync();
}

static void alternate_stack_below(void)
{
	with_alternate_stack(STACK_BYTES, 0);
}

static void alternate_stack_above(void)
{
	with_alternate_stack(0, STACK_BYTES);
}

static void alternate_stack_far_below(void)
{
	with_alternate_stack(FAR_BYTES, 0);
}

static void alternate_stack_far_above(void)
{
	with_alternate_stack(0, FAR_BYTES);
}

/* Recursion */

static unsigned int left;

static void recurse(void)
{
	if (left == 0)
		return;
	left--;
	expect_sync(1, 1);
	(void)call_around(recurse);
}

static void recursion(unsigned int depth)
{
	for (int i = 0; i < THREADS; i++) {
		left = depth;
		recurse();
		call_launch();
	}
}

static void recursion_3(void)
{
	recursion(3);
}

static void recursion_100(void)
{
	recursion(100);
}

/* Processes made in calls */

static pid_t child;

static void fork_in_call(void)
{
	child = fork();
}

static void wait_for(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		truth_harmed("no child");
	else if (status != 0)
		truth_harmed("the child was");
}

static void fork_inside(void)
{
	call_sync();
	for (int i = 0; i < THREADS; i++) {
		expect_sync(1, 1);
		(void)call_around(fork_in_call);
		if (child == 0) {
			truth_new_process();
			truth_inherited("cudaStreamSynchronize");
			truth_inherited("cuStreamSynchronize");
			call_launch();
			call_sync();
			_exit(truth_print(case_name, 0));
		}
		wait_for(child);
		call_launch();
	}
}

/* The parent waits in vfork(2) until the child is gone or another program. */
static void vfork_in_call(void)
{
	child = vfork();
	if (child == 0)
		_exit(0);
}

static void vfork_exit_inside(void)
{
	for (int i = 0; i < THREADS; i++) {
		expect_sync(1, 1);
		(void)call_around(vfork_in_call);
		wait_for(child);
		call_launch();
	}
}

static void become_second_image(void)
{
	execl(self, self, "--second-image", case_name, (char *)NULL);
	_exit(127);
}

static void vfork_exec_in_call(void)
{
	child = vfork();
	if (child == 0)
		become_second_image();
}

static void vfork_exec_inside(void)
{
	for (int i = 0; i < THREADS; i++) {
		expect_sync(1, 1);
		(void)call_around(vfork_exec_in_call);
		wait_for(child);
		call_launch();
	}
}

static volatile int vfork_call_result;

/* The child calls in its parent's memory: its entry and return are its own, whatever that memory says. */
static void vfork_call_in_call(void)
{
	static const dim3 one = { 1, 1, 1 };

	child = vfork();
	if (child == 0) {
		vfork_call_result =
			cuLaunchKernel((CUfunction)vfork_call_in_call, one.x, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		_exit(vfork_call_result);
	}
}

static void vfork_call_inside(void)
{
	ingero_standin_check_pid(1);
	for (int i = 0; i < THREADS; i++) {
		expect_sync(1, 1);
		(void)call_around(vfork_call_in_call);
		wait_for(child);
		printf("{\"case\":\"%s\",\"pid\":%d,\"generation\":0,\"unharmed\":true,\"functions\":[{\"function\":"
		       "\"cuLaunchKernel\",\"entered\":1,\"returned\":1,\"abandoned\":0,\"inherited\":0}],"
		       "\"operations\":[]}\n",
		       case_name, child);
		call_launch();
	}
}

/* Another program in the place of this one: what was open is abandoned, what follows is the next generation. */
static void print_and_become(void)
{
	if (truth_print(case_name, 0))
		_exit(1);
	become_second_image();
}

static void exec_inside(void)
{
	call_launch();
	expect_sync(1, 0);
	(void)call_around(print_and_become);
}

static void *exec_in_thread(void *unused)
{
	(void)unused;
	exec_inside();
	return NULL;
}

static void exec_inside_thread(void)
{
	pthread_t thread;

	call_launch();
	if (pthread_create(&thread, NULL, exec_in_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

/* Threads and processes that end in calls */

static sem_t is_inside;

static void wait_to_be_cancelled(void)
{
	sem_post(&is_inside);
	for (;;)
		pause();
}

static void exit_thread(void)
{
	pthread_exit(NULL);
}

static void exit_thread_raw(void)
{
	(void)syscall(SYS_exit, 0);
}

static void *end_in_call(void *inside)
{
	void (*how)(void);

	*(void **)&how = inside;
	call_launch();
	expect_sync(1, 0);
	(void)call_around(how);
	truth_harmed("a thread went on after its end");
	return NULL;
}

static void end_threads(void (*how)(void), bool is_cancelled)
{
	void *inside;

	*(void (**)(void)) & inside = how;
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_in_call, inside) != 0) {
			truth_harmed("no thread");
			return;
		}
		if (is_cancelled) {
			while (sem_wait(&is_inside) < 0)
				;
			(void)pthread_cancel(thread);
		}
		pthread_join(thread, NULL);
		call_launch();
	}
	call_sync();
}

static void cancel_inside(void)
{
	end_threads(wait_to_be_cancelled, true);
}

static void pthread_exit_inside(void)
{
	end_threads(exit_thread, false);
}

static void thread_exit_inside(void)
{
	end_threads(exit_thread_raw, false);
}

static void print_and_exit(void)
{
	_exit(truth_print(case_name, 0));
}

static void exit_inside(void)
{
	call_launch();
	expect_sync(1, 0);
	(void)call_around(print_and_exit);
}

static void print_and_die(void)
{
	if (truth_print(case_name, 0))
		_exit(1);
	(void)kill(getpid(), SIGKILL);
}

/* In a child, so that this program can end well; the child's line comes first. */
static void killed_inside(void)
{
	int status = 0;

	for (int i = 0; i < THREADS; i++) {
		child = fork();
		if (child == 0) {
			truth_new_process();
			call_launch();
			expect_sync(1, 0);
			(void)call_around(print_and_die);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status) ||
		    WTERMSIG(status) != SIGKILL)
			truth_harmed("the child did not end by SIGKILL");
	}
	call_sync();
}

/* Fibres: two stacks whose calls do not return in the order of their entries */

static ucontext_t main_context, fibre_context[2];
static unsigned int switch_to; /* the fibre whose turn it is next */

/* Leaves the call for the other fibre and comes back when that one leaves its own. */
static void switch_in_call(void)
{
	unsigned int from = 1 - switch_to, to = switch_to;

	switch_to = from;
	swapcontext(&fibre_context[from], &fibre_context[to]);
}

/* Enters, switches within, and returns after the other has entered: entries A B, returns A B. */
static void fibre(int number)
{
	for (int i = 0; i < TIMES; i++) {
		switch_to = 1 - (unsigned int)number;
		expect_sync(1, 1);
		if (call_around(switch_in_call) != 0)
			truth_harmed("a call on a fibre did not return 0");
		call_launch();
	}
	/* the other one is inside its call still: let it end */
	switch_to = 1 - (unsigned int)number;
}

static void run_fibres(bool is_first_below)
{
	void *memory;

	map_or_end(&memory, 2u * STACK_BYTES);
	for (unsigned int i = 0; i < 2; i++) {
		getcontext(&fibre_context[i]);
		fibre_context[i].uc_stack.ss_sp = (char *)memory + ((i == 0) == is_first_below ? 0 : STACK_BYTES);
		fibre_context[i].uc_stack.ss_size = STACK_BYTES;
		fibre_context[i].uc_link = i == 0 ? &fibre_context[1] : &main_context;
		makecontext(&fibre_context[i], (void (*)(void))fibre, 1, (int)i);
	}
	swapcontext(&main_context, &fibre_context[0]);
	call_sync();
}

static void swapcontext_upwards(void)
{
	run_fibres(true);
}

static void swapcontext_downwards(void)
{
	run_fibres(false);
}

/* The inner one is entered and left while the outer waits: returns in order, stacks foreign. */
static void call_on_fibre(void)
{
	call_launch();
	call_sync();
}

static void visit_fibre(void)
{
	swapcontext(&main_context, &fibre_context[0]);
}

static void swapcontext_nested(void)
{
	void *memory;

	map_or_end(&memory, STACK_BYTES);
	for (int i = 0; i < TIMES; i++) {
		getcontext(&fibre_context[0]);
		fibre_context[0].uc_stack.ss_sp = memory;
		fibre_context[0].uc_stack.ss_size = STACK_BYTES;
		fibre_context[0].uc_link = &main_context;
		makecontext(&fibre_context[0], call_on_fibre, 0);
		expect_sync(1, 1);
		(void)call_around(visit_fibre);
	}
	call_sync();
}

/* Exports that lead to others of the same operation */

static void alias_by_jump(void)
{
	static const dim3 one = { 1, 1, 1 };

	for (int i = 0; i < TIMES; i++) {
		truth_expect("cudaLaunchKernel", 1, 1);
		truth_expect("cuLaunchKernel", 1, 1);
		if (__cudaLaunchKernel((const void *)alias_by_jump, one, one, NULL, 0, NULL) != 0)
			truth_harmed("__cudaLaunchKernel did not return 0");
	}
	truth_operation("cudaLaunchKernel", TIMES);
	truth_operation("cuLaunchKernel", TIMES);
}

static void forward(void *unused)
{
	(void)unused;
	(void)cuStreamSynchronize(NULL);
}

static void forward_by_call(void)
{
	(void)ingero_standin_callback("cuStreamSynchronize_ptsz", forward, NULL);
	for (int i = 0; i < TIMES; i++) {
		truth_expect("cuStreamSynchronize_ptsz", 1, 1);
		truth_expect("cuStreamSynchronize", 1, 1);
		if (cuStreamSynchronize_ptsz(NULL) != 0)
			truth_harmed("cuStreamSynchronize_ptsz did not return 0");
	}
	truth_operation("cuStreamSynchronize", TIMES);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "longjmp", longjmp_same_site },
	{ "longjmp-mixed", longjmp_same_site_mixed },
	{ "longjmp-other-sites", longjmp_other_sites },
	{ "siglongjmp", siglongjmp_from_handler },
	{ "signal", calls_in_handler },
	{ "altstack-below", alternate_stack_below },
	{ "altstack-above", alternate_stack_above },
	{ "altstack-far-below", alternate_stack_far_below },
	{ "altstack-far-above", alternate_stack_far_above },
	{ "recursion-3", recursion_3 },
	{ "recursion-100", recursion_100 },
	{ "fork", fork_inside },
	{ "vfork-exit", vfork_exit_inside },
	{ "vfork-exec", vfork_exec_inside },
	{ "vfork-call", vfork_call_inside },
	{ "exec", exec_inside },
	{ "exec-thread", exec_inside_thread },
	{ "cancel", cancel_inside },
	{ "pthread-exit", pthread_exit_inside },
	{ "thread-exit", thread_exit_inside },
	{ "exit", exit_inside },
	{ "killed", killed_inside },
	{ "swapcontext-up", swapcontext_upwards },
	{ "swapcontext-down", swapcontext_downwards },
	{ "swapcontext-nested", swapcontext_nested },
	{ "alias", alias_by_jump },
	{ "forward", forward_by_call },
};

/* What exec leads to: the same program, calling on. */
static int second_image(void)
{
	call_begin();
	call_launch();
	call_sync();
	return truth_print(case_name, 1);
}

static int usage(FILE *out)
{
	fprintf(out, "harm CASE [--wait-for-stdin]; harm --list\n");
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	static char file[4096];
	ssize_t n = readlink("/proc/self/exe", file, sizeof(file) - 1);

	if (n < 0 || argc < 2)
		return usage(stderr);
	file[n] = '\0';
	self = file;
	if (strcmp(argv[1], "--help") == 0)
		return usage(stdout);
	if (strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
			puts(cases[i].name);
		return 0;
	}
	sem_init(&is_inside, 0, 0);
	watch_calls();
	if (argc == 3 && strcmp(argv[1], "--second-image") == 0) {
		case_name = argv[2];
		return second_image();
	}
	case_name = argv[1];
	if (argc == 3 && strcmp(argv[2], "--wait-for-stdin") == 0) {
		program_ready();
		program_wait_for_line();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(case_name, cases[i].name) == 0) {
			call_begin();
			cases[i].run();
			return truth_print(case_name, 0);
		}
	}
	fprintf(stderr, "harm: no case '%s'; --list names them\n", case_name);
	return 2;
}
