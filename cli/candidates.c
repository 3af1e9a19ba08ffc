// SPDX-License-Identifier: Apache-2.0
#include "cli/candidates.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libingero/check/item.h"
#include "cli/op_names.h"
#include "ingero/ingero.h"
#include "libingero/answers/trace/rows.h"

#define DEADLINE_MS 2000 /* a user waits for the completion */
/* systemd's state of active units. A connection could start the service, which completion must not do. */
#define UNIT_SOCKET "/run/systemd/units/invocation:ingero-collectord.socket"
#define UNIT_SERVICE "/run/systemd/units/invocation:ingero-collectord.service"

/* ---- processes ---- */

static void comm_append(struct buf *out, const char *comm)
{
	for (const char *p = comm; *p; p++)
		(void)buf_append(out, (unsigned char)*p < ' ' ? "?" : p, 1);
	(void)buf_append_text(out, "\n");
}

static bool would_start(void)
{
	struct stat st;

	/* Dangling links whose target text is the data. */
	return lstat(UNIT_SOCKET, &st) == 0 && lstat(UNIT_SERVICE, &st) != 0;
}

static int service_pids_append(struct buf *out)
{
	struct ingero_options options = { .program = "ingero-cli " INGERO_VERSION };
	Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
	const Ingero__V1__StatusReply *status;
	ProtobufCMessage *reply = NULL;
	struct ingero *ingero = NULL;
	char error[512];
	int r = would_start() ? -ENOENT : ingero_open(&options, error, sizeof(error), &ingero);

	if (r < 0)
		return r;
	request.look = true;
	r = ingero_call(ingero, "ingero.v1.Query.Status", &request.base, DEADLINE_MS, &reply);
	if (r == 0) {
		status = (const Ingero__V1__StatusReply *)reply;
		for (size_t i = 0; i < status->n_cuda_processes; i++) {
			(void)buf_printf(out, "%u\t", status->cuda_processes[i]->pid);
			comm_append(out, trace_process_name(status->cuda_processes[i]->process_name,
							    status->cuda_processes[i]->program)
						 .text);
		}
		protobuf_c_message_free_unpacked(reply, NULL);
	}
	ingero_close(ingero);
	return r;
}

static void own_append(const char *pid, const char *comm, const char *libraries, void *data)
{
	struct buf *out = data;

	(void)libraries;
	(void)buf_printf(out, "%s\t", pid);
	comm_append(out, comm);
}

static void pids_append(struct buf *out)
{
	CLEANUP(closep) int root = -1;
	struct check_world world = { .root = -1 };
	size_t n_closed;

	if (service_pids_append(out) == 0)
		return;
	world.root = root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		(void)check_cuda_look(&world, own_append, out, &n_closed);
}

/* ---- all ---- */

const char *const candidate_lists[] = { "ops", "pids", NULL };

void candidates_append(const char *list, struct buf *out)
{
	static void (*const append[])(struct buf *) = { op_names_append, pids_append };

	_Static_assert(ARRAY_SIZE(append) + 1 == ARRAY_SIZE(candidate_lists), "one for each list");
	for (size_t i = 0; i < ARRAY_SIZE(append); i++)
		if (strcmp(candidate_lists[i], list) == 0)
			append[i](out);
}
