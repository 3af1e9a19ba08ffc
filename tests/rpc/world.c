// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proto/frame.h"
#include "tests/support/check.h"

struct tenants tenants;
struct subject subjects[TENANT_COUNT + 1];

static pid_t gone_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
	return pid;
}

/* The id of a kept call of each; and whether there is one of everybody. */
static bool calls_find(void)
{
	Ingero__V1__EventsRequest request = INGERO__V1__EVENTS_REQUEST__INIT;
	struct wire_answer answer;
	struct frame frame;
	struct wire wire;
	size_t at = 0, n = 0;

	uint32_t pids[TENANT_COUNT];

	for (size_t k = 0; k < TENANT_COUNT; k++)
		pids[k] = subjects[k].pid;
	request.pids = pids;
	request.n_pids = TENANT_COUNT;
	request.op = (char *)(uintptr_t) "cudaMalloc";
	tenants_greet(&tenants, TENANT_ROOT, &wire);
	wire_ask(&wire, EVENTS, &request.base, &answer);
	wire_close(&wire);
	while (wire_next_reply(&answer, &at, &frame)) {
		Ingero__V1__EventsReply *reply = ingero__v1__events_reply__unpack(NULL, frame.body_bytes, frame.body);

		for (size_t i = 0; reply && i < reply->n_events; i++)
			for (size_t k = 0; k < TENANT_COUNT; k++)
				if (reply->events[i]->pid == subjects[k].pid && reply->events[i]->id[0])
					(void)snprintf(subjects[k].call_id, sizeof(subjects[k].call_id), "%s",
						       reply->events[i]->id);
		ingero__v1__events_reply__free_unpacked(reply, NULL);
	}
	wire_answer_done(&answer);
	for (size_t k = 0; k < TENANT_COUNT; k++)
		n += subjects[k].call_id[0] != '\0';
	return n == TENANT_COUNT;
}

static struct wire leases[TENANT_COUNT]; /* programs are captured as long as these are open */

/* Each user traces his program: what else runs on this machine is not the test's. */
static void lease_take(enum tenant_id id)
{
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	uint8_t bytes[64];

	request.pids = &subjects[id].pid;
	request.n_pids = 1;
	request.record = (char *)(uintptr_t) "all";
	tenants_greet(&tenants, id, &leases[id]);
	(void)wire_request(&leases[id], TRACE, bytes, ingero__v1__trace_request__pack(&request, bytes));
}

void world_start(void)
{
	char db[96];
	const char *const arguments[] = { "--db", db, NULL };

	tenants_open(&tenants, TENANTS_PROC_HIDES);
	(void)snprintf(db, sizeof(db), "%s/ingero.db", tenants.directory);
	tenants_start_daemon(&tenants, arguments);
	for (enum tenant_id id = 0; id < TENANT_COUNT; id++) {
		tenants_start_program(&tenants, id);
		subjects[id] =
			(struct subject){ .owner = id, .pid = (uint32_t)tenants.of[id].pid, .uid = tenants.of[id].uid };
		lease_take(id);
	}
	subjects[TENANT_COUNT] = (struct subject){
		.owner = TENANT_COUNT, .pid = (uint32_t)gone_pid(), .uid = 54399, .call_id = "1.1.1"
	};
	while (!calls_find())
		(void)poll(NULL, 0, 50); /* until the next calls */
}

void world_stop(void)
{
	for (size_t i = 0; i < TENANT_COUNT; i++)
		wire_close(&leases[i]);
	tenants_close(&tenants);
}
