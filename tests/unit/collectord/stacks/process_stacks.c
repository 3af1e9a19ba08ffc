// SPDX-License-Identifier: Apache-2.0
/*
 * Which stacks of a process are known, when it executes programs and ends; its records may come in another order than
 * it did so. No mappings are read here.
 */
#include "stacks/process_stacks.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "bpf/record.h"
#include "clock.h"
#include "events/stack.h"
#include "probes/probe_stacks.h"
#include "stacks/process_maps.h"
#include "tests/support/check.h"

/* --- no mappings --- */

int process_maps_read(struct stack_files *files, int proc_fd, uint32_t tgid, uint32_t uid,
		      struct process_maps **ret_maps)
{
	(void)files, (void)proc_fd, (void)tgid, (void)uid, (void)ret_maps;
	return -ESRCH;
}

int process_maps_take(struct stack_files *files, int proc_fd, const struct mappings_record *record,
		      struct process_maps **ret_maps)
{
	(void)files, (void)proc_fd, (void)record, (void)ret_maps;
	return -ENOMEM;
}

void process_maps_want(const struct process_maps *maps)
{
	(void)maps;
}

struct process_maps *process_maps_ref(struct process_maps *maps)
{
	return maps;
}

void process_maps_unref(struct process_maps *maps)
{
	CHECK("no mappings", !maps);
}

void process_maps_to_kernel(const struct process_maps *maps, struct stack_maps *ret)
{
	(void)maps, (void)ret;
}

int probe_stacks_maps_put(struct probe_set *set, uint32_t tgid, const struct stack_maps *maps)
{
	(void)set, (void)tgid, (void)maps;
	return 0;
}

static size_t n_forgotten;

void probe_stacks_forget(struct probe_set *set, uint32_t tgid, uint32_t exec_gen, uint64_t id)
{
	(void)set, (void)tgid, (void)exec_gen;
	CHECK("an id", id);
	n_forgotten++;
}

/* --- the table --- */

#define EXEC_GENS 3
#define LATER_NS (4 * NSEC_PER_SEC)

enum step {
	STEP_NONE,
	STEP_STACK_0, /* a stack of the program with this number */
	STEP_STACK_1,
	STEP_STACK_2,
	STEP_EXEC_1, /* the record of the exec that began it */
	STEP_EXEC_2,
	STEP_EXIT,
	STEP_LATER,
};

static const struct {
	const char *name;
	bool runs; /* the process */
	enum step steps[6];
	bool is_known[EXEC_GENS]; /* its stack */
} cases[] = {
	{ "running", true, { STEP_STACK_0, STEP_LATER }, { true } },
	{ "exec", true, { STEP_STACK_0, STEP_EXEC_1, STEP_STACK_1, STEP_LATER }, { false, true } },
	{ "records of a program that was just replaced",
	  true,
	  { STEP_STACK_0, STEP_EXEC_1, STEP_STACK_1 },
	  { true, true } },
	{ "a stack before the exec's record",
	  true,
	  { STEP_STACK_0, STEP_STACK_1, STEP_EXEC_1, STEP_LATER },
	  { false, true } },
	{ "two execs",
	  true,
	  { STEP_STACK_1, STEP_STACK_2, STEP_EXEC_1, STEP_EXEC_2, STEP_LATER },
	  { false, false, true } },
	{ "exit", true, { STEP_STACK_0, STEP_EXIT, STEP_LATER }, { false } },
	{ "records after the exit", true, { STEP_STACK_0, STEP_EXIT }, { true } },
	{ "an exit without a record", false, { STEP_STACK_0, STEP_LATER, STEP_LATER }, { false } },
	{ "a stack behind the exit's record", false, { STEP_EXIT, STEP_STACK_0, STEP_LATER, STEP_LATER }, { false } },
};

/* Return: the id of a process that is gone, which the system gives to no other so soon */
static uint32_t gone_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK_INT_EQ("a process", waitpid(pid, NULL, 0), pid);
	return (uint32_t)pid;
}

static void stack_note(struct process_stacks *p, uint32_t tgid, uint32_t exec_gen)
{
	struct stack_record record = { .tgid = tgid, .exec_gen = exec_gen, .id = 1 };
	struct process_maps *maps = NULL;

	CHECK("a new stack", process_stacks_note(p, &record, &maps) && !maps);
}

/* The second record of an id. */
static void again_check(void)
{
	static const struct {
		const char *name;
		bool is_ready, is_complete, is_new;
	} firsts[] = {
		{ "a complete stack", true, true, false },
		{ "one without a name", true, false, true },
		{ "one that is not named yet", false, false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		struct stack_record record = { .tgid = (uint32_t)getpid(), .id = 1 };
		struct process_maps *maps = NULL;
		struct process_stacks *p;
		struct stack *first, *again, *found;

		CHECK_INT_EQ(firsts[i].name, process_stacks_new(NULL, NULL, &p), 0);
		first = stack_ref(process_stacks_note(p, &record, &maps));
		if (firsts[i].is_ready)
			CHECK_INT_EQ(firsts[i].name, stack_name(first, NULL, 0, firsts[i].is_complete, ""), 0);
		again = process_stacks_note(p, &record, &maps);
		CHECK_INT_EQ(firsts[i].name, again != NULL, firsts[i].is_new);
		found = process_stacks_find(p, &record.header, record.id);
		CHECK(firsts[i].name, found == (again ? again : first) && (!again || again != first));
		(void)stack_unref(found);
		(void)stack_unref(first);
		process_stacks_free(p);
	}
}

#define COPIES 100

/* That of a call is asked for once, that of a wait again and again, or never: the last ones are kept. */
static void copies_check(void)
{
	static const struct {
		const char *name;
		uint64_t bits;
		bool is_again;	/* found a second time */
		size_t n_first; /* of so many the first ones are gone */
	} kinds[] = {
		{ "copies of calls", STACK_ID_ONCE, false, 0 },
		{ "copies of waits", STACK_ID_ONCE | STACK_ID_WAIT, true, COPIES - 64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct stack_record record = { .tgid = (uint32_t)getpid() };
		struct process_stacks *p;

		CHECK_INT_EQ(kinds[i].name, process_stacks_new(NULL, NULL, &p), 0);
		for (uint64_t n = 0; n < COPIES; n++) {
			struct process_maps *maps = NULL;

			record.id = kinds[i].bits | n;
			CHECK(kinds[i].name, process_stacks_note(p, &record, &maps) != NULL);
		}
		for (uint64_t n = 0; n < COPIES; n++) {
			struct stack *first = process_stacks_find(p, &record.header, kinds[i].bits | n);
			struct stack *again = process_stacks_find(p, &record.header, kinds[i].bits | n);

			CHECK_INT_EQ(kinds[i].name, first != NULL, n >= kinds[i].n_first);
			CHECK_INT_EQ(kinds[i].name, again != NULL, kinds[i].is_again && n >= kinds[i].n_first);
			(void)stack_unref(first);
			(void)stack_unref(again);
		}
		process_stacks_free(p);
	}
}

static void step_take(struct process_stacks *p, uint32_t tgid, enum step step, uint64_t *now_ns)
{
	switch (step) {
	case STEP_NONE:
		return;
	case STEP_STACK_0:
	case STEP_STACK_1:
	case STEP_STACK_2:
		stack_note(p, tgid, (uint32_t)(step - STEP_STACK_0));
		return;
	case STEP_EXEC_1:
	case STEP_EXEC_2:
		process_stacks_gone(p, tgid, (uint32_t)(step - STEP_EXEC_1));
		return;
	case STEP_EXIT:
		process_stacks_gone(p, tgid, UINT32_MAX);
		return;
	case STEP_LATER:
		*now_ns += LATER_NS;
		process_stacks_second(p, *now_ns);
		return;
	}
}

/* One user's stacks, until there are too many, or their names are too long; another one's stay. */
static void share_check(void)
{
	static char name[1u << 20];
	static const struct {
		const char *what;
		size_t n_bytes, n; /* of the name of each; so many have room */
	} users[] = {
		{ "many", 0, STACKS_OF_USER_MAX },
		{ "large", sizeof(name) - 1, STACKS_OF_USER_BYTES_MAX / sizeof(name) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		struct stack_record record = { .tgid = (uint32_t)getpid(), .uid = 1000 };
		struct stack_record other = { .tgid = (uint32_t)getppid(), .uid = 1001, .id = 1 };
		struct call_record call = { .tgid = record.tgid, .uid = 1000 };
		struct call_record of_other = { .tgid = other.tgid, .uid = 1001 };
		const struct stack_frame frame = { .symbol = name, .qualname = "", .file = "", .module = "" };
		struct process_maps *maps = NULL;
		struct process_stacks *p;
		struct stack *stack;

		memset(name, 0, sizeof(name));
		memset(name, 'a', users[i].n_bytes);
		n_forgotten = 0;
		CHECK_INT_EQ(users[i].what, process_stacks_new(NULL, NULL, &p), 0);
		CHECK("another user's", process_stacks_note(p, &other, &maps));
		for (record.id = 1; record.id <= users[i].n + 1; record.id++) {
			CHECK_INT_EQ(users[i].what, n_forgotten, 0);
			stack = process_stacks_note(p, &record, &maps);
			CHECK_INT_EQ(users[i].what, stack_name(stack, &frame, 1, true, ""), 0);
			process_stacks_ready(p, &record, stack);
		}
		CHECK_INT_EQ(users[i].what, n_forgotten, users[i].n);
		stack = process_stacks_find(p, &call.header, 1);
		CHECK("forgotten", !stack);
		stack = process_stacks_find(p, &call.header, users[i].n + 1);
		CHECK("the last one", stack);
		(void)stack_unref(stack);
		stack = process_stacks_find(p, &of_other.header, 1);
		CHECK("another user's", stack);
		(void)stack_unref(stack);
		call.uid = other.uid; /* the number was given again */
		CHECK("of another user's earlier process", !process_stacks_find(p, &call.header, users[i].n + 1));
		process_stacks_free(p);
	}
}

#define LATER 40 /* more than have room */

/* Stacks that are all read before the first one is named. */
static void later_check(void)
{
	static char name[1u << 20];
	const struct stack_frame frame = { .symbol = name, .qualname = "", .file = "", .module = "" };
	struct stack_record record = { .tgid = (uint32_t)getpid(), .uid = 1000 };
	struct process_maps *maps = NULL;
	struct stack *stacks[LATER];
	struct process_stacks *p;

	memset(name, 'a', sizeof(name) - 1);
	n_forgotten = 0;
	CHECK_INT_EQ("later", process_stacks_new(NULL, NULL, &p), 0);
	for (size_t i = 0; i < LATER; i++) {
		record.id = i + 1;
		stacks[i] = stack_ref(process_stacks_note(p, &record, &maps));
	}
	for (size_t i = 0; i < LATER; i++) {
		record.id = i + 1;
		CHECK_INT_EQ("later", stack_name(stacks[i], &frame, 1, true, ""), 0);
		process_stacks_ready(p, &record, stacks[i]);
		(void)stack_unref(stacks[i]);
	}
	CHECK_INT_EQ("named later: forgotten", n_forgotten, LATER);
	process_stacks_free(p);
}

int main(void)
{
	again_check();
	share_check();
	later_check();
	copies_check();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process_stacks *p;
		uint32_t tgid = cases[i].runs ? (uint32_t)getpid() : gone_process();
		uint64_t now_ns = clock_now_ns();

		CHECK_INT_EQ(cases[i].name, process_stacks_new(NULL, NULL, &p), 0);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].steps); k++)
			step_take(p, tgid, cases[i].steps[k], &now_ns);
		for (uint32_t gen = 0; gen < EXEC_GENS; gen++) {
			const struct record_header of = { .tgid = tgid, .exec_gen = gen };
			struct stack *stack = process_stacks_find(p, &of, 1);

			CHECK_INT_EQ(cases[i].name, stack != NULL, cases[i].is_known[gen]);
			(void)stack_unref(stack);
		}
		process_stacks_free(p);
	}
	return check_result();
}
