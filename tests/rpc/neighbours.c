// SPDX-License-Identifier: Apache-2.0
/*
 * Who kept a user's calls waiting is named to him exactly if he could read the name in /proc: where that is mounted
 * without hidepid, to everybody; with it, to root and members of ingero-read.
 *
 * Alice's program and bob's share a CPU that neither leaves unused, and alice traces hers.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ingero/v1/ingero.pb-c.h"
#include "questions.h"
#include "tests/support/check.h"
#include "tests/support/tenants.h"

/* Both want the whole CPU, so that each waits inside his calls while the other runs. */
#define BUSY "INGERO_STANDIN_INSIDE=cudaMalloc=100ms:spin"

static const struct {
	const char *name;
	enum tenants_proc proc;
	enum tenant_id caller;
	bool is_named;
} cases[] = {
	{ "without hidepid, alice", TENANTS_PROC_SHOWS, TENANT_ALICE, true },
	{ "without hidepid, a reader", TENANTS_PROC_SHOWS, TENANT_READER, true },
	{ "with hidepid, alice", TENANTS_PROC_HIDES, TENANT_ALICE, false },
	{ "with hidepid, a reader", TENANTS_PROC_HIDES, TENANT_READER, true },
};

static struct tenants tenants;

/* Return: whether bob's program is among them */
static bool check_behind(const char *name, bool is_named, Ingero__V1__Behind *const *rows, size_t n)
{
	const struct tenant *bob = &tenants.of[TENANT_BOB];
	bool is_there = false;

	for (size_t i = 0; i < n; i++) {
		if (rows[i]->uid != bob->uid)
			continue;
		is_there = true;
		CHECK_INT_EQ(name, rows[i]->pid, is_named ? (uint32_t)bob->pid : 0);
		CHECK_STR_EQ(name, rows[i]->comm, is_named ? bob->comm : "");
	}
	return is_there;
}

static bool operations_check(const char *name, bool is_named, const struct frame *frame)
{
	Ingero__V1__Summary *reply = ingero__v1__summary__unpack(NULL, frame->body_bytes, frame->body);
	bool is_there = reply && check_behind(name, is_named, reply->behind, reply->n_behind);

	CHECK(name, reply != NULL);
	ingero__v1__summary__free_unpacked(reply, NULL);
	return is_there;
}

static bool explain_check(const char *name, bool is_named, const struct frame *frame)
{
	Ingero__V1__ExplainReply *reply = ingero__v1__explain_reply__unpack(NULL, frame->body_bytes, frame->body);
	bool is_there = reply && check_behind(name, is_named, reply->behind, reply->n_behind);

	CHECK(name, reply != NULL);
	ingero__v1__explain_reply__free_unpacked(reply, NULL);
	return is_there;
}

static const struct {
	const char *method;
	bool (*check)(const char *name, bool is_named, const struct frame *frame);
} methods[] = { { OPERATIONS, operations_check }, { EXPLAIN, explain_check } };

/* About alice's program. Return: whether the answer had bob's. */
static bool ask(size_t i, size_t k)
{
	Ingero__V1__OperationsRequest operations = INGERO__V1__OPERATIONS_REQUEST__INIT;
	Ingero__V1__ExplainRequest explain = INGERO__V1__EXPLAIN_REQUEST__INIT;
	bool is_explain = strcmp(methods[k].method, EXPLAIN) == 0;
	uint32_t pid = (uint32_t)tenants.of[TENANT_ALICE].pid;
	struct wire_answer answer;
	bool is_there = false;
	struct frame frame;
	struct wire wire;
	char name[128];
	size_t at = 0;

	(void)snprintf(name, sizeof(name), "%s, %s", cases[i].name, methods[k].method);
	operations.pids = explain.pids = &pid;
	operations.n_pids = explain.n_pids = 1;
	tenants_greet(&tenants, cases[i].caller, &wire);
	wire_ask(&wire, methods[k].method, is_explain ? &explain.base : &operations.base, &answer);
	CHECK_INT_EQ(name, answer.code, CALL_OK);
	while (wire_next_reply(&answer, &at, &frame))
		is_there |= methods[k].check(name, cases[i].is_named, &frame);
	if (!cases[i].is_named)
		CHECK(name, !tenants_find_secret(&tenants.of[TENANT_BOB], answer.replies.data, answer.replies.n));
	wire_answer_done(&answer);
	wire_close(&wire);
	return is_there;
}

static void programs_start(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		abort();
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one); /* which programs inherit */
	tenants.of[TENANT_ALICE].variable = tenants.of[TENANT_BOB].variable = BUSY;
	tenants_start_program(&tenants, TENANT_BOB);
	tenants_start_program(&tenants, TENANT_ALICE);
	(void)sched_setaffinity(0, sizeof(all), &all);
}

static int test_proc(enum tenants_proc proc)
{
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	char db[96];
	const char *const arguments[] = { "--db", db, NULL };
	struct wire lease;
	uint8_t bytes[64];
	uint32_t pid;

	tenants_open(&tenants, proc);
	(void)snprintf(db, sizeof(db), "%s/ingero.db", tenants.directory);
	tenants_start_daemon(&tenants, arguments);
	programs_start();
	pid = (uint32_t)tenants.of[TENANT_ALICE].pid;
	request.pids = &pid;
	request.n_pids = 1;
	tenants_greet(&tenants, TENANT_ALICE, &lease);
	(void)wire_request(&lease, TRACE, bytes, ingero__v1__trace_request__pack(&request, bytes));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t k = 0; cases[i].proc == proc && k < ARRAY_SIZE(methods); k++)
			while (!ask(i, k))
				(void)poll(NULL, 0, 50); /* until she has waited, and it is kept */
	CHECK("the daemon lives", tenants_daemon_lives(&tenants));
	wire_close(&lease);
	tenants_close(&tenants);
	return check_result();
}

/* Each in a process of its own: it changes what /proc is. */
int main(void)
{
	static const struct {
		const char *name;
		enum tenants_proc proc;
	} procs[] = { { "without hidepid", TENANTS_PROC_SHOWS }, { "with hidepid", TENANTS_PROC_HIDES } };
	int status[ARRAY_SIZE(procs)];
	bool is_skipped = false;

	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(procs); i++) {
		pid_t pid = fork();

		if (pid == 0)
			exit(test_proc(procs[i].proc));
		status[i] = -1;
		(void)waitpid(pid, &status[i], 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(procs); i++) {
		is_skipped |= WIFEXITED(status[i]) && WEXITSTATUS(status[i]) == 77; /* the reason was said */
		if (!WIFEXITED(status[i]) || WEXITSTATUS(status[i]) != 77)
			CHECK_INT_EQ(procs[i].name, status[i], 0);
	}
	return is_skipped && !check_state.n_failed ? 77 : check_result();
}
