// SPDX-License-Identifier: Apache-2.0
/* Which records of life are shown: those of processes that call, that were named, and of their descendants. */
#include "events/host.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/ops.h"
#include "tests/support/check.h"

enum { CALLER = 100, NAMED = 200, SHELL = 300, CHILD = 400, GRANDCHILD = 401 };

static const struct {
	const char *name;
	enum record_type type;
	uint32_t tgid, child;
	uint16_t slot;
	uint8_t flags;
	uint8_t op; /* that is shown; 0: nothing */
} steps[] = {
	{ "a shell of the same user", RECORD_FORK, SHELL, CHILD, 0, 0, 0 },
	{ "its child is nobody's either", RECORD_EXEC, CHILD, 0, 0, 0, 0 },
	{ "and ends unseen", RECORD_EXIT, CHILD, 0, 0, 0, 0 },
	{ "one that calls", RECORD_FORK, CALLER, CHILD, 7, 0, OP_EVENT_process_fork },
	{ "its child", RECORD_EXEC, CHILD, 0, 0, 0, OP_EVENT_process_exec },
	{ "that has one", RECORD_FORK, CHILD, GRANDCHILD, 0, 0, OP_EVENT_process_fork },
	{ "the child ends first", RECORD_EXIT, CHILD, 0, 0, 0, OP_EVENT_process_exit },
	{ "its number is given to a stranger", RECORD_EXEC, CHILD, 0, 0, 0, 0 },
	{ "the grandchild is still there", RECORD_EXEC, GRANDCHILD, 0, 0, 0, OP_EVENT_process_exec },
	{ "and ends", RECORD_EXIT, GRANDCHILD, 0, 0, 0, OP_EVENT_process_exit },
	{ "one that called becomes another program", RECORD_EXEC, CALLER, 0, 7, 0, OP_EVENT_process_exec },
	{ "which is followed", RECORD_FORK, CALLER, CHILD, 0, 0, OP_EVENT_process_fork },
	{ "to its end", RECORD_EXIT, CALLER, 0, 0, 0, OP_EVENT_process_exit },
	{ "one that a lease names", RECORD_EXEC, NAMED, 0, 0, LIFE_NAMED, OP_EVENT_process_exec },
	{ "a kill is always shown", RECORD_OOM, SHELL, 0, 0, 0, OP_EVENT_oom_kill },
	{ "a library is the daemon's business", RECORD_LIBRARY, NAMED, 0, 7, LIFE_NAMED, 0 },
};

static void check_members(struct host *host, const struct process_table *table)
{
	struct life_record life = { .type = RECORD_OOM,
				    .time_ns = 5,
				    .start_boot_ns = 3,
				    .tgid = NAMED,
				    .tid = NAMED + 1,
				    .uid = 1000,
				    .exec_gen = 2,
				    .oom.rss_bytes = 4096,
				    .oom.scope = OOM_SCOPE_GROUP,
				    .flags = LIFE_GUARDED,
				    .comm = "train" };
	struct host_event got;

	CHECK("kill", host_life(host, &life, 77, &got));
	CHECK_INT_EQ("kill: held", host_values(&life).args[0], 4096);
	CHECK_INT_EQ("kill: victim", host_values(&life).args[1], NAMED);
	CHECK_INT_EQ("kill: scope", host_values(&life).ret, OOM_SCOPE_GROUP);
	CHECK_INT_EQ("kill", got.process->identity.uid, 1000);
	CHECK_STR_EQ("kill", process_name(got.process), "train");
	CHECK_INT_EQ("kill", got.process->identity.start_boot_ns, 3);
	CHECK_INT_EQ("kill", got.process->identity.start_unix_ns, 77);
	CHECK_INT_EQ("kill", got.process->identity.exec_gen, 2);
	CHECK_INT_EQ("kill", got.process->identity.flags, PROCESS_GUARDED);
	(void)process_unref(got.process);
	life.type = RECORD_EXIT;
	life.flags = LIFE_NAMED;
	life.exit.code = 2 << 8;
	CHECK("exit", host_life(host, &life, 77, &got));
	CHECK_INT_EQ("exit: status", host_values(&life).ret, 512);
	CHECK_INT_EQ("exit", got.process->identity.flags, 0);
	(void)process_unref(got.process);
	CHECK_INT_EQ("nobody holds it", process_table_count(table), 0);
	life.type = RECORD_FORK;
	life.fork.child = CHILD;
	CHECK("fork", host_life(host, &life, 77, &got));
	CHECK_INT_EQ("fork: child", host_values(&life).args[1], CHILD);
	CHECK_INT_EQ("fork", host_values(&life).ret, 0);
	(void)process_unref(got.process);
}

/* One that is followed keeps its name to its end, and with another program begins anew. */
static void check_name(struct host *host, const struct process_table *table)
{
	static const struct {
		enum record_type type;
		uint32_t exec_gen;
		const char *comm;
		const char *name;
	} life[] = {
		{ RECORD_EXEC, 1, "python3", "python3" }, { RECORD_FORK, 1, "train", "python3" },
		{ RECORD_EXEC, 2, "sh", "sh" },		  { RECORD_FORK, 2, "shell", "sh" },
		{ RECORD_EXIT, 2, "shell", "sh" },
	};
	struct host_event got;

	for (size_t i = 0; i < ARRAY_SIZE(life); i++) {
		struct life_record record = { .type = (uint8_t)life[i].type,
					      .start_boot_ns = 3,
					      .tgid = NAMED,
					      .exec_gen = life[i].exec_gen,
					      .flags = LIFE_NAMED };

		(void)snprintf(record.comm, sizeof(record.comm), "%s", life[i].comm);
		CHECK(life[i].comm, host_life(host, &record, 77, &got));
		CHECK_STR_EQ(life[i].comm, process_name(got.process), life[i].name);
		(void)process_unref(got.process);
	}
	CHECK_INT_EQ("forgotten with its end", process_table_count(table), 0);
}

/* A process that has ended, without a record of it. */
static uint32_t gone_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

static void check_look(struct host *host)
{
	const struct {
		const char *name;
		uint32_t tgid;
		bool is_kin;
	} children[] = { { "goes on", (uint32_t)getpid(), true },
			 { "has ended", gone_pid(), false },
			 { "has ended, too", gone_pid(), false },
			 { "its parent", (uint32_t)getppid(), true } };
	struct host_event got;

	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		const struct life_record fork = {
			.type = RECORD_FORK, .tgid = CALLER, .slot = 7, .fork.child = children[i].tgid
		};

		CHECK(children[i].name, host_life(host, &fork, 0, &got));
		(void)process_unref(got.process);
	}
	host_look(host);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		const struct life_record exit = { .type = RECORD_EXIT, .tgid = children[i].tgid };
		bool is_shown = host_life(host, &exit, 0, &got);

		CHECK_INT_EQ(children[i].name, is_shown, children[i].is_kin);
		if (is_shown)
			(void)process_unref(got.process);
	}
}

#define KIN_MANY 65536u
#define KIN_ROUNDS 16

/* As many descendants as are followed, each looked for again and again: in a list that would take minutes. */
static void check_many(struct host *host, const struct process_table *table)
{
	struct host_event got;
	size_t n_shown = 0;

	for (uint32_t i = 1; i <= KIN_MANY; i++) {
		const struct life_record fork = {
			.type = RECORD_FORK, .tgid = CALLER, .slot = 7, .fork.child = 1000 + i
		};

		CHECK("many: fork", host_life(host, &fork, 0, &got));
		(void)process_unref(got.process);
	}
	for (uint32_t i = 0; i < KIN_ROUNDS * KIN_MANY; i++) {
		const struct life_record library = { .type = RECORD_LIBRARY, .tgid = 1001 + i % KIN_MANY };

		CHECK("many: a library", !host_life(host, &library, 0, &got));
	}
	for (uint32_t i = 0; i <= KIN_MANY; i++) {
		/* Every second one first: the places of others change meanwhile. */
		uint32_t k = i < KIN_MANY / 2 ? 2 * i : 2 * i - KIN_MANY + 1;
		const struct life_record exit = { .type = RECORD_EXIT, .tgid = 1001 + k, .exec_gen = 1 };

		if (!host_life(host, &exit, 0, &got))
			continue;
		n_shown++;
		(void)process_unref(got.process);
		CHECK("many: ends once", !host_life(host, &exit, 0, &got));
	}
	CHECK_INT_EQ("many: each end is shown", n_shown, KIN_MANY);
	CHECK_INT_EQ("many: and nobody is held", process_table_count(table), 0);
}

int main(void)
{
	struct life_record exec = { .type = RECORD_EXEC, .tgid = CHILD };
	struct host_event got;
	struct process_table *table;
	struct host *host;

	CHECK_INT_EQ("new", process_table_new(&table), 0);
	CHECK_INT_EQ("new", host_new(table, &host), 0);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct life_record life = { .type = (uint8_t)steps[i].type,
					    .tgid = steps[i].tgid,
					    .fork.child = steps[i].child,
					    .slot = steps[i].slot,
					    .flags = steps[i].flags };
		bool is_shown = host_life(host, &life, 0, &got);

		CHECK_INT_EQ(steps[i].name, is_shown ? got.op : 0, steps[i].op);
		if (is_shown)
			(void)process_unref(got.process);
	}
	CHECK("before nobody watched", host_life(host, &exec, 0, &got));
	(void)process_unref(got.process);
	host_clear(host);
	CHECK("who was whose is forgotten", !host_life(host, &exec, 0, &got));
	CHECK_INT_EQ("and nobody is held", process_table_count(table), 0);
	check_members(host, table);
	host_clear(host);
	check_name(host, table);
	check_look(host);
	check_many(host, table);
	host_free(host);
	host_free(NULL);
	process_table_free(table);
	return check_result();
}
