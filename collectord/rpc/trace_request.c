// SPDX-License-Identifier: Apache-2.0
/* The request of a Trace call: access checks, its lease, and the processes that run already. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "events/source.h"
#include "probes/lease.h"
#include "probes/target.h"
#include "procs/owner.h"
#include "procs/process_list.h"
#include "procs/procfs.h"
#include "rpc/access.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/coverage.h"
#include "rpc/server.h"
#include "rpc/trace_state.h"

#define PID_OF_NONE INT32_MAX /* above all process ids */
/* All are checked while other clients wait: a few milliseconds. */
#define PIDS_MAX 256
/* Default sampling besides slow calls: a record of one call in this many. */
#define SAMPLE_EVERY_DEFAULT 64

enum seen { SEEN_NONE, SEEN_OTHER, SEEN_OWN };

static enum seen process_see(int proc_fd, const struct call_identity *identity, uint32_t pid)
{
	CLEANUP(closep) int process_fd = procfs_open_process(proc_fd, pid);
	struct procfs_status status;
	struct owner owner;

	if (process_fd < 0 || procfs_status_read(process_fd, &status) < 0 || status.has_ended)
		return SEEN_NONE;
	owner = owner_of(process_fd, &status);
	return access_may_see(identity, owner.uid, owner.is_guarded) ? SEEN_OWN : SEEN_OTHER;
}

/*
 * Checking an existing process takes longer than finding none, and this timing would reveal which pids exist. So every
 * refusal does both: it also checks a process that exists, or a pid that does not.
 */
static bool is_process_of_caller(int proc_fd, const struct call_identity *identity, uint32_t pid)
{
	enum seen seen = process_see(proc_fd, identity, pid);

	if (seen != SEEN_OWN)
		(void)process_see(proc_fd, identity, seen == SEEN_NONE ? (uint32_t)getpid() : PID_OF_NONE);
	return seen == SEEN_OWN;
}

/* Return: whether the request is allowed; otherwise the call was refused. */
bool trace_request_check(struct call *call, const Ingero__V1__TraceRequest *request)
{
	const struct call_identity *identity = call_identity(call);
	const struct rpc_context *context = call_context(call);
	CLEANUP(closep) int proc_fd = procfs_open();

	if (strcmp(request->record, "") != 0 && strcmp(request->record, "slow") != 0 &&
	    strcmp(request->record, "all") != 0 && strcmp(request->record, "none") != 0) {
		call_fail(call, CALL_ERROR_INVALID, "record: '%s' is invalid; use slow, all or none", request->record);
		return false;
	}
	if (request->ringbuf_bytes && request->ringbuf_bytes != context->ring_bytes) {
		call_fail(call, CALL_ERROR_UNAVAILABLE,
			  "the service's ring has %" PRIu64
			  " KiB as long as it runs; leave out '--ringbuf-size', or change probes.ring-size in "
			  "/etc/ingero/ingero.yaml and restart the service",
			  context->ring_bytes >> 10);
		return false;
	}
	if (request->all && !identity->can_read_all) {
		call_fail(call, CALL_ERROR_NOT_ALLOWED,
			  "only root and members of ingero-read may trace everybody's processes");
		return false;
	}
	for (size_t i = 0; i < request->n_uids; i++)
		if (!access_may_see(identity, request->uids[i], false)) {
			call_fail(
				call, CALL_ERROR_NOT_ALLOWED,
				"only root and members of ingero-read may trace another user's processes; use sudo, or "
				"leave out '--user'");
			return false;
		}
	if (request->n_pids > PIDS_MAX) {
		call_fail(call, CALL_ERROR_INVALID, "pids: more than %d processes; name their user instead", PIDS_MAX);
		return false;
	}
	for (size_t i = 0; i < request->n_pids; i++) {
		if (is_process_of_caller(proc_fd, identity, request->pids[i]))
			continue;
		if (identity->can_read_all)
			call_fail(call, CALL_ERROR_NOT_FOUND, "there is no process %u", request->pids[i]);
		else
			call_fail(call, CALL_ERROR_NOT_FOUND,
				  "no process %u of yours; 'sudo ingero trace --pid %u' takes another user's",
				  request->pids[i], request->pids[i]);
		return false;
	}
	return true;
}

/* Only the kernel half captures by lease; other sources show their processes to every caller that may see them. */
int trace_lease_take(struct trace *t, const Ingero__V1__TraceRequest *request, uint32_t own_uid)
{
	struct source *source = t->context->capture->source;
	bool default_scope = !request->all && !request->n_pids && !request->n_uids;
	struct lease_wish wish = {
		.pids = request->pids,
		.n_pids = request->n_pids,
		.uids = default_scope ? &own_uid : request->uids,
		.n_uids = default_scope ? 1 : request->n_uids,
		.all = request->all,
		.without_stacks = strcmp(request->stacks, "none") == 0,
	};
	/* Also if none are streamed: records are stored, and findings show some of them. */
	bool records = strcmp(request->record, "none") != 0, every = strcmp(request->record, "all") == 0;
	uint32_t sample_every = request->sample_every ? request->sample_every : SAMPLE_EVERY_DEFAULT;

	wish.each = process_wish_of(records, every, sample_every);
	if (request->hold && request->guardian) {
		wish.each.flags |= WISH_HOLD;
		wish.each.hold_uid = own_uid;
		wish.each.guardian = request->guardian;
		t->guardian = request->guardian;
		t->context->guard(t->context, t->guardian, own_uid, true);
	}

	if (t->context->capture->leases)
		return lease_add(t->context->capture->leases, &wish, &t->lease);
	source->ops->record(source, records, every, sample_every);
	return 0;
}

/* Adds descendants that exist before the lease; the kernel half follows later ones. */
static int descendants_follow(struct trace *t, const process_list *list)
{
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < list->n; i++) {
			const struct listed_process *p = &list->items[i];
			int r;

			if (lease_covers(t->lease, p->pid, UINT32_MAX, 0) ||
			    !lease_covers(t->lease, p->ppid, UINT32_MAX, 0))
				continue;
			r = lease_follow(t->context->capture->leases, t->lease, p->pid);
			if (r < 0)
				return r;
			found = true;
		}
	}
	return 0;
}

static void scan_done(uint32_t tgid, void *data)
{
	struct trace *t = data;

	(void)tgid;
	assert(t->n_looking > 0);
	t->n_looking--;
	trace_looking_done(t);
	trace_release(t);
}

static void scan(struct trace *t, uint32_t tgid)
{
	t->n_looking++;
	t->n_references++;
	(void)target_set_scan(t->context->capture->targets, tgid, 0, scan_done,
			      t); /* scan_done is called in any case */
}

/* Scans the dynamic loader, which then reports programs that start later. */
static void scan_loader(struct trace *t)
{
	t->n_looking++;
	t->n_references++;
	(void)target_set_scan_loader(t->context->capture->targets, scan_done, t);
}

void trace_left_out_look(struct trace *t)
{
	const struct call_identity *identity = call_identity(t->call);

	if (t->context->capture->targets && identity->can_show_all)
		(void)coverage_look(t->context, identity); /* without it they are only not reported */
}

int trace_processes_look(struct trace *t)
{
	CLEANUP(closep) int proc_fd = procfs_open();
	process_list list = { .items = NULL };
	int r;

	if (!t->lease)
		return 0; /* a source that knows its processes */
	r = proc_fd < 0 ? proc_fd : process_list_read(proc_fd, &list);
	if (r == 0)
		r = descendants_follow(t, &list);
	if (r == 0)
		scan_loader(t);
	for (size_t i = 0; r == 0 && i < list.n; i++)
		if (lease_covers(t->lease, list.items[i].pid, list.items[i].uid, 0))
			scan(t, list.items[i].pid);
	ARRAY_DONE(&list);
	return r;
}
