// SPDX-License-Identifier: Apache-2.0
#include "rpc/coverage.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "capture.h"
#include "events/event_message.h"
#include "events/op.h"
#include "probes/lease.h"
#include "probes/probe_set.h"
#include "probes/target.h"
#include "probes/target_process.h"
#include "procs/process_list.h"
#include "procs/process_table.h"
#include "procs/procfs.h"
#include "rpc/access.h"
#include "rpc/call.h"
#include "rpc/context.h"

#define PIDS_MAX 64   /* of one file */
#define SHOWN_MAX 256 /* of one answer: usually 1 KiB each */
#define OWNERS_MAX 64 /* of processes that are left out */
#define FIELD_BYTES 8 /* number and length of a message in a list */

/* Reasons. A process that a trace covers may not be checked yet: a new trace checks processes first. */
static const char not_traced[] = "no trace of this daemon covers it now", not_looked_at[] = "not checked yet";

static bool sees(const struct call_identity *identity, const struct target_process *process)
{
	return access_may_see(identity, process->owner.uid, process->owner.is_guarded);
}

/* ---- files ---- */

static int library_operations(struct arena *arena, const struct target_library *from, Ingero__V1__Library *l)
{
	l->operations = ARENA_NEW_N(arena, char *, op_count() + from->ops.n);
	l->missing = ARENA_NEW_N(arena, char *, op_count());
	l->not_traced = ARENA_NEW_N(arena, char *, op_count());
	if (!l->operations || !l->missing || !l->not_traced)
		return -ENOMEM;

	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);

		if (op->layer != from->layer)
			continue;
		if (target_library_op(from, op->id))
			l->operations[l->n_operations++] = (char *)op->name;
		else if (target_library_leaves_out(from, op->id))
			l->not_traced[l->n_not_traced++] = (char *)op->name;
		else
			l->missing[l->n_missing++] = (char *)op->name;
	}
	for (size_t i = 0; i < from->ops.n; i++)
		if (from->ops.items[i].id >= OP_GIVEN)
			l->operations[l->n_operations++] = (char *)op_get(from->ops.items[i].id)->name;
	return 0;
}

/* Path of the file in a process; NULL: the process does not map it. */
static const char *mapped_path(const struct target_process *process, const struct target_library *library)
{
	for (size_t i = 0; i < process->mapped.n; i++)
		if (target_mapped_library(&process->mapped.items[i]) == library)
			return process->mapped.items[i].path;
	return NULL;
}

/*
 * Path of the file for the caller: the path in the process first seen with it, if that process is the caller's,
 * otherwise in a process of the caller's that maps it now. NULL: only processes of other users map it, so its path is
 * not shown.
 */
static const char *library_path(const struct call_identity *identity, const struct target_processes *processes,
				const struct target_library *library)
{
	const char *path = NULL;

	if (access_may_see(identity, library->owner.uid, library->owner.is_guarded))
		return library->path;
	for (size_t i = 0; i < processes->all.n && !path; i++)
		if (sees(identity, processes->all.items[i]))
			path = mapped_path(processes->all.items[i], library);
	return path;
}

/* The caller's processes that map the file. */
static int library_processes(struct arena *arena, const struct call_identity *identity,
			     const struct target_processes *processes, const struct target_library *from,
			     Ingero__V1__Library *l)
{
	l->pids = ARENA_NEW_N(arena, uint32_t, PIDS_MAX);
	if (!l->pids)
		return -ENOMEM;
	for (size_t i = 0; i < processes->all.n; i++) {
		const struct target_process *process = processes->all.items[i];

		if (!sees(identity, process) || !mapped_path(process, from))
			continue;
		if (l->n_pids < PIDS_MAX)
			l->pids[l->n_pids++] = process->tgid;
		l->processes++;
	}
	return 0;
}

static Ingero__V1__Library *library_fill(const struct rpc_context *context, struct arena *arena,
					 const struct call_identity *identity, const struct target_processes *processes,
					 const struct target_library *from, const char *path)
{
	Ingero__V1__Library *l = ARENA_NEW(arena, Ingero__V1__Library);

	if (!l)
		return NULL;
	ingero__v1__library__init(l);
	if (library_operations(arena, from, l) < 0 || library_processes(arena, identity, processes, from, l) < 0)
		return NULL;
	l->path = arena_copy_text(arena, path);
	l->soname = arena_copy_name(arena, from->soname);
	l->layer = (char *)op_layer_to_source(from->layer);
	l->build_id = arena_copy_text(arena, from->build_id);
	if (from->probes)
		l->back_end = (char *)probe_back_end_to_string(probe_set_back_end(context->capture->probes));
	l->symbols = from->n_symbols;
	l->stepped = from->n_stepped;
	l->left_out = from->n_left_out;
	l->reason = arena_copy_text(arena, from->reason);
	l->attach_ns = from->attach_ns;
	l->late_ns = from->late_ns;
	return l->path && l->soname && l->build_id && l->reason ? l : NULL;
}

Ingero__V1__Library *coverage_library(const struct rpc_context *context, struct arena *arena,
				      const struct call_identity *identity, const struct target_library *library)
{
	const struct target_processes *processes = target_set_processes(context->capture->targets);
	const char *path = library_path(identity, processes, library);

	return path ? library_fill(context, arena, identity, processes, library, path) : NULL;
}

/* Return: number of first items of a list that fit in `most_bytes` */
static size_t fitting(ProtobufCMessage *const *items, size_t n, size_t most_bytes)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		bytes += protobuf_c_message_get_packed_size(items[i]) + FIELD_BYTES;
		if (bytes > most_bytes)
			return i;
	}
	return n;
}

int coverage_libraries(const struct rpc_context *context, struct arena *arena, const struct call_identity *identity,
		       size_t most_bytes, struct coverage_libraries *ret)
{
	size_t n = context->capture->targets ? target_set_count(context->capture->targets) : 0, n_mapped = 0;
	const struct target_processes *processes = n ? target_set_processes(context->capture->targets) : NULL;

	*ret = (struct coverage_libraries){ .items = ARENA_NEW_N(arena, Ingero__V1__Library *, n ? n : 1) };
	if (!ret->items)
		return -ENOMEM;
	if (n)
		target_set_refresh(context->capture->targets);
	for (size_t i = 0; i < n; i++) {
		const struct target_library *library = target_set_get(context->capture->targets, i);
		const char *path = library_path(identity, processes, library);
		Ingero__V1__Library *l;

		if (!path)
			continue;
		l = library_fill(context, arena, identity, processes, library, path);
		if (!l)
			return -ENOMEM;
		ret->items[ret->n++] = l;
		if (l->processes) { /* moved to the front */
			ret->items[ret->n - 1] = ret->items[n_mapped];
			ret->items[n_mapped++] = l;
		}
	}
	n = ret->n;
	ret->n = fitting((ProtobufCMessage *const *)ret->items, n, most_bytes);
	ret->more = (uint32_t)(n - ret->n);
	return 0;
}

/* ---- processes ---- */

static Ingero__V1__MappedLibrary *mapped_fill(struct arena *arena, const struct target_mapped *mapped, bool is_traced)
{
	const struct target_library *library = target_mapped_library(mapped);
	Ingero__V1__MappedLibrary *l = ARENA_NEW(arena, Ingero__V1__MappedLibrary);

	if (!l)
		return NULL;
	ingero__v1__mapped_library__init(l);
	l->path = arena_copy_text(arena, mapped->path);
	l->is_deleted = mapped->is_deleted;
	l->soname = arena_copy_name(arena, library ? library->soname : "");
	l->reason = arena_copy_text(arena, library ? library->reason : is_traced ? not_looked_at : not_traced);
	if (library && library->layer != OP_LAYER_NONE)
		l->layer = (char *)op_layer_to_source(library->layer);
	l->is_attached = library && library->probes;
	return l->path && l->soname && l->reason ? l : NULL;
}

/* Returns "NAME REASON; NAME REASON" for the files that are not attached. */
static char *reason_join(struct arena *arena, const Ingero__V1__CudaProcess *p)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	for (size_t i = 0; i < p->n_libraries; i++) {
		const Ingero__V1__MappedLibrary *l = p->libraries[i];
		const char *slash = strrchr(l->path, '/');

		if (!*l->reason)
			continue;
		(void)buf_printf(&text, "%s%s %s", text.n ? "; " : "", slash ? slash + 1 : l->path, l->reason);
	}
	return arena_copy_text(arena, text.n ? buf_text(&text) : "");
}

/* Entry of a process in the table; NULL: not in the table yet. */
static const struct process *entry_of(const struct process_table *table, const struct target_process *process)
{
	const struct process *p = table ? process_table_newest(table, process->tgid) : NULL;

	while (p && p->identity.start_boot_ns / procfs_tick_ns() != process->start_ticks)
		p = process_older(p);
	return p;
}

static Ingero__V1__CudaProcess *process_fill(const struct rpc_context *context, struct arena *arena,
					     const struct target_process *process)
{
	bool is_traced = lease_set_covers(context->capture->leases, process->tgid, owner_uid(&process->owner));
	const struct process *entry = entry_of(context->capture->processes, process);
	Ingero__V1__CudaProcess *p = ARENA_NEW(arena, Ingero__V1__CudaProcess);
	size_t n_attached = 0;

	if (!p)
		return NULL;
	ingero__v1__cuda_process__init(p);
	p->pid = process->tgid;
	p->uid = process->owner.uid;
	p->is_traced = is_traced;
	p->process_name = arena_copy_name(arena, entry ? process_name(entry) : process->comm);
	p->libraries = ARENA_NEW_N(arena, Ingero__V1__MappedLibrary *, process->mapped.n + 1);
	if (!p->process_name || !p->libraries ||
	    (entry && program_to_message(&entry->identity.program, arena, &p->program) < 0))
		return NULL;
	for (size_t i = 0; i < process->mapped.n; i++) {
		Ingero__V1__MappedLibrary *l = p->libraries[i] =
			mapped_fill(arena, &process->mapped.items[i], is_traced);

		if (!l)
			return NULL;
		p->n_libraries++;
		n_attached += l->is_attached && !*l->reason;
	}
	if (!is_traced) {
		p->coverage = (char *)"none";
		p->reason = (char *)not_traced;
		return p;
	}
	p->coverage = (char *)(n_attached == p->n_libraries ? "full" : n_attached ? "partial" : "none");
	p->reason = reason_join(arena, p);
	return p->reason ? p : NULL;
}

static bool coverage_is_full(const Ingero__V1__CudaProcess *p)
{
	return !*p->reason;
}

int coverage_processes(const struct rpc_context *context, struct arena *arena, const struct call_identity *identity,
		       const struct lease *lease, struct coverage_processes *ret)
{
	const struct target_processes *processes =
		context->capture->targets ? target_set_processes(context->capture->targets) : NULL;
	size_t n = processes ? processes->all.n : 0, n_first = 0;

	*ret = (struct coverage_processes){ .items = ARENA_NEW_N(arena, Ingero__V1__CudaProcess *, SHOWN_MAX) };
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct target_process *process = processes->all.items[i];
		Ingero__V1__CudaProcess *p;

		if (!sees(identity, process) ||
		    (lease && !lease_covers(lease, process->tgid, owner_uid(&process->owner), 0)))
			continue;
		p = process_fill(context, arena, process);
		if (!p)
			return -ENOMEM;
		ret->more += ret->n == SHOWN_MAX;
		if (!coverage_is_full(p) &&
		    n_first < SHOWN_MAX) { /* moved to the front; the last covered process makes room */
			if (ret->n < SHOWN_MAX)
				ret->n++;
			ret->items[ret->n - 1] = ret->items[n_first];
			ret->items[n_first++] = p;
		} else if (ret->n < SHOWN_MAX) {
			ret->items[ret->n++] = p;
		}
	}
	n = ret->n;
	ret->n = fitting((ProtobufCMessage *const *)ret->items, n, COVERAGE_BYTES);
	ret->more += (uint32_t)(n - ret->n);
	return 0;
}

/* Return: 0 or -ENOMEM */
static int not_shown_add(struct arena *arena, struct coverage_not_shown *not_shown, uint32_t uid)
{
	Ingero__V1__NotShown *n;

	for (size_t i = 0; i < not_shown->n; i++) {
		if (not_shown->items[i]->uid == uid) {
			not_shown->items[i]->processes++;
			return 0;
		}
	}
	if (not_shown->n == OWNERS_MAX)
		return 0;
	n = not_shown->items[not_shown->n] = ARENA_NEW(arena, Ingero__V1__NotShown);
	if (!n)
		return -ENOMEM;
	ingero__v1__not_shown__init(n);
	n->uid = uid;
	n->processes = 1;
	not_shown->n++;
	return 0;
}

int coverage_not_shown(const struct rpc_context *context, struct arena *arena, const struct call_identity *identity,
		       const struct lease *lease, struct coverage_not_shown *ret)
{
	const struct target_processes *processes =
		context->capture->targets ? target_set_processes(context->capture->targets) : NULL;
	int r = 0;

	*ret = (struct coverage_not_shown){ .items = ARENA_NEW_N(arena, Ingero__V1__NotShown *, OWNERS_MAX) };
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && processes && identity->can_show_all && i < processes->all.n; i++) {
		const struct target_process *process = processes->all.items[i];
		bool is_shown = sees(identity, process) &&
				(!lease || lease_covers(lease, process->tgid, owner_uid(&process->owner), 0));

		if (!is_shown)
			r = not_shown_add(arena, ret, process->owner.uid);
	}
	return r;
}

int coverage_look(const struct rpc_context *context, const struct call_identity *identity)
{
	CLEANUP(closep) int proc_fd = procfs_open();
	process_list list = { .items = NULL };
	int r = proc_fd < 0 ? proc_fd : process_list_read(proc_fd, &list);

	for (size_t i = 0; r == 0 && i < list.n; i++)
		if (identity->can_show_all || access_may_see(identity, list.items[i].uid, false))
			(void)target_set_look(context->capture->targets, list.items[i].pid); /* gone, or not readable */
	ARRAY_DONE(&list);
	target_set_refresh(context->capture->targets);
	return r;
}
