// SPDX-License-Identifier: Apache-2.0
/* The request of an Io call: access checks, what it wants of the kernel half, processes that run already. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "io/io_calls.h"
#include "procs/process_list.h"
#include "procs/procfs.h"
#include "rpc/access.h"
#include "rpc/context.h"
#include "rpc/io_state.h"
#include "rpc/trace_state.h"

static bool calls_check(struct call *call, const Ingero__V1__IoRequest *request)
{
	for (size_t i = 0; i < request->n_calls; i++) {
		const char *typed = request->calls[i], *near = io_call_nearest(typed);

		if (io_call_find(typed))
			continue;
		call_fail(call, CALL_ERROR_INVALID, "call: '%s' is no system call that is traced%s%s%s", typed,
			  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		return false;
	}
	return true;
}

bool io_request_check(struct call *call, const Ingero__V1__IoRequest *request)
{
	Ingero__V1__TraceRequest same = INGERO__V1__TRACE_REQUEST__INIT;
	struct io_pattern pattern;

	if (strlen(request->comm) >= RECORD_COMM_BYTES) {
		call_fail(call, CALL_ERROR_INVALID, "comm: names of processes have at most %d bytes",
			  RECORD_COMM_BYTES - 1);
		return false;
	}
	if (io_pattern_parse(&pattern, request->path) < 0) {
		call_fail(call, CALL_ERROR_INVALID, "path: the pattern has more than %d characters beside '*'",
			  IO_PATTERN_MOST);
		return false;
	}
	if (!calls_check(call, request))
		return false;
	/* Whose processes may be traced is the same question. */
	same.pids = request->pids;
	same.n_pids = request->n_pids;
	same.uids = request->uids;
	same.n_uids = request->n_uids;
	same.all = request->all;
	return trace_request_check(call, &same);
}

struct io_wish io_request_wish(const struct call *call, const Ingero__V1__IoRequest *request, uint32_t *own_uid)
{
	const struct call_identity *identity = call_identity(call);
	bool default_scope = !request->all && !request->n_pids && !request->n_uids;
	struct io_wish wish = {
		.lease = { .uid = identity->uid, .min_ns = request->min_duration_ns },
		.pids = request->pids,
		.n_pids = request->n_pids,
		.uids = default_scope ? own_uid : request->uids,
		.n_uids = default_scope ? 1 : request->n_uids,
	};

	*own_uid = identity->uid;
	wish.lease.client = identity->is_elsewhere ? 0 : identity->peer_pid;
	wish.lease.program = request->program && request->n_pids == 1 ? request->pids[0] : 0;
	wish.lease.flags = (request->all ? IO_LEASE_ALL : 0u) | (identity->can_read_all ? IO_LEASE_READ : 0u) |
			   (request->events ? IO_LEASE_EVENTS : 0u);
	memcpy(wish.lease.comm, request->comm, strlen(request->comm));
	for (size_t i = 0; i < request->n_calls; i++) {
		uint32_t id = io_call_find(request->calls[i]);

		wish.lease.calls[id / 64] |= 1ull << (id & 63);
	}
	if (!request->n_calls)
		memset(wish.lease.calls, 0xff, sizeof(wish.lease.calls));
	return wish;
}

static bool is_pid_listed(const uint32_t *pids, size_t n, uint32_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

typedef ARRAY(uint32_t) pid_list;

/* Adds children of those found so far, until there are none. */
static int descendants_find(const process_list *list, pid_list *pids)
{
	size_t before;

	do {
		before = pids->n;
		for (size_t i = 0; i < list->n; i++) {
			const struct listed_process *p = &list->items[i];

			if (is_pid_listed(pids->items, pids->n, p->pid) ||
			    !is_pid_listed(pids->items, pids->n, p->ppid))
				continue;
			if (ARRAY_PUSH(pids, p->pid) < 0)
				return -ENOMEM;
		}
	} while (pids->n > before);
	return 0;
}

int io_request_follow(struct io_lease_state *lease, const Ingero__V1__IoRequest *request)
{
	CLEANUP(closep) int proc_fd = procfs_open();
	process_list list = { .items = NULL };
	pid_list pids = { .items = NULL };
	int r;

	if (!request->n_pids)
		return 0;
	r = proc_fd < 0 ? proc_fd : process_list_read(proc_fd, &list);
	for (size_t i = 0; r == 0 && i < request->n_pids; i++)
		r = ARRAY_PUSH(&pids, request->pids[i]);
	if (r == 0)
		r = descendants_find(&list, &pids);
	for (size_t i = request->n_pids; r == 0 && i < pids.n; i++)
		r = io_hub_follow(lease, pids.items[i]);
	ARRAY_DONE(&list);
	ARRAY_DONE(&pids);
	return r;
}
