// SPDX-License-Identifier: Apache-2.0
#include "figures/account_message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "events/event_message.h"
#include "events/sites.h"
#include "events/stack.h"
#include "figures/wait_chain.h"
#include "figures/wait_sites.h"

/* A part of an account, or the share of it with one known cause. */
struct slice {
	uint64_t ns;
	uint8_t kind;			    /* enum resource_kind */
	char name[ACCOUNT_WAIT_NAME_BYTES]; /* name of the resource */
	char device[ACCOUNT_DEVICE_BYTES];
	bool has_waker;
	uint32_t pid;
	uint32_t tid;
	uint32_t uid;
	char comm[RECORD_COMM_BYTES];
	const struct account_wait *wait; /* first wait of this sum; NULL: waker unknown */
};

typedef ARRAY(struct slice) slice_list;

/* Scale a part of a sum so that the sum becomes at most whole_ns. */
static uint64_t scaled_ns(uint64_t part_ns, uint64_t whole_ns, uint64_t sum_ns)
{
	return sum_ns <= whole_ns ? part_ns : (uint64_t)((unsigned __int128)part_ns * whole_ns / sum_ns);
}

/* Add to the slice of the same resource and waker, as the reader may see them. Return: 0 or -ENOMEM */
static int slice_add(slice_list *slices, const struct slice *slice)
{
	for (size_t i = 0; i < slices->n; i++) {
		struct slice *s = &slices->items[i];

		if (s->kind == slice->kind && s->has_waker == slice->has_waker && s->pid == slice->pid &&
		    s->tid == slice->tid && s->uid == slice->uid && strcmp(s->name, slice->name) == 0 &&
		    strcmp(s->device, slice->device) == 0 && strcmp(s->comm, slice->comm) == 0) {
			s->ns += slice->ns;
			return 0;
		}
	}
	return ARRAY_PUSH(slices, *slice);
}

static void waker_set(const struct account_process *process, uint32_t pid, uint32_t tid, uint32_t uid, bool is_guarded,
		      const char comm[RECORD_COMM_BYTES], struct slice *slice)
{
	slice->has_waker = true;
	slice->uid = uid;
	if (!process->may_name(uid, is_guarded, process->data))
		return;
	slice->pid = pid;
	slice->tid = tid;
	(void)snprintf(slice->comm, sizeof(slice->comm), "%.*s", RECORD_COMM_BYTES - 1, comm);
	(void)utf8_scrub(slice->comm);
}

static bool account_has_op(const struct account *account, uint32_t op)
{
	for (size_t i = 0; i < account->parts.n; i++)
		if (account->parts.items[i].where == ACCOUNT_IN && account->parts.items[i].op == op)
			return true;
	return false;
}

static bool has_thread(const struct account_process *process, uint32_t tid)
{
	for (size_t i = 0; i < process->n_accounts; i++)
		if (process->accounts[i].tid == tid)
			return true;
	return false;
}

/* A wait belongs to the part of its thread and operation; without one, to the part that sums several. */
static bool wait_is_of(const struct account_process *process, const struct account *account,
		       const struct account_part *part, const struct account_wait *wait)
{
	if (wait->is_meanwhile || wait->class != part->class || (wait->op == 0) != (part->where == ACCOUNT_BETWEEN))
		return false;
	if (wait->tid != account->tid && (account->tid || has_thread(process, wait->tid)))
		return false;
	return wait->op == part->op || (part->op == 0 && !account_has_op(account, wait->op));
}

/*
 * The wait whose waker also ended a wait that was told before it ended; itself where that is not known, or is no
 * matter. One that was told before its end has no count.
 */
static const struct account_wait *wait_with_waker(const struct account_process *process,
						  const struct account_wait *wait)
{
	const struct account_wait *one = NULL;

	if (wait->waker_tgid || wait->count || !wait->resource)
		return wait;
	for (size_t i = 0; i < process->n_waits; i++) {
		const struct account_wait *w = &process->waits[i];

		if (!w->waker_tgid || w->resource != wait->resource || w->device != wait->device ||
		    w->kind != wait->kind || w->class != wait->class || w->tid != wait->tid || w->op != wait->op ||
		    w->is_meanwhile)
			continue;
		if (one && (w->waker_tgid != one->waker_tgid || w->waker_tid != one->waker_tid))
			return wait;
		one = w;
	}
	return one ? one : wait;
}

static int slices_of_waits(const struct account_process *process, const struct account *account,
			   const struct account_part *part, slice_list *slices)
{
	uint64_t sum_ns = 0;
	int r = 0;

	for (size_t i = 0; i < process->n_waits; i++)
		if (wait_is_of(process, account, part, &process->waits[i]))
			sum_ns += process->waits[i].ns;
	for (size_t i = 0; sum_ns && i < process->n_waits && r == 0; i++) {
		const struct account_wait *wait = &process->waits[i], *ended = wait_with_waker(process, wait);
		struct slice slice = { .ns = scaled_ns(wait->ns, part->ns, sum_ns), .kind = wait->kind, .wait = ended };

		if (!wait_is_of(process, account, part, wait) || (!wait->kind && !wait->waker_tgid))
			continue;
		account_wait_name(wait, slice.name);
		memcpy(slice.device, wait->device_name, sizeof(slice.device));
		if (ended->waker_tgid || ended->waker_comm[0])
			waker_set(process, ended->waker_tgid, ended->waker_tid, ended->waker_uid,
				  ended->is_waker_guarded, ended->waker_comm, &slice);
		r = slice_add(slices, &slice);
	}
	return r;
}

static int slices_of_behind(const struct account_process *process, const struct account_part *part, slice_list *slices)
{
	bool is_between = part->where == ACCOUNT_BETWEEN;
	uint64_t ready_ns = 0, behind_ns = 0;
	int r = 0;

	for (size_t i = 0; i < process->n_accounts; i++)
		for (size_t k = 0; k < process->accounts[i].parts.n; k++) {
			const struct account_part *p = &process->accounts[i].parts.items[k];

			if (p->where == part->where && p->class == BLAME_RUNNABLE)
				ready_ns += p->ns;
		}
	for (size_t i = 0; i < process->n_behind; i++)
		if (process->behind[i].is_between == is_between)
			behind_ns += process->behind[i].ns;
	for (size_t i = 0; i < process->n_behind && r == 0; i++) {
		const struct behind_figures *b = &process->behind[i];
		struct slice slice = { .ns = scaled_ns(b->ns, part->ns, MAX(ready_ns, behind_ns)) };

		if (b->is_between != is_between || !b->ns)
			continue;
		waker_set(process, b->tgid, /* tid= */ 0, b->uid, b->is_guarded, b->comm, &slice);
		r = slice_add(slices, &slice);
	}
	return r;
}

static int slice_compare(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : 0;
}

static void slices_sort(slice_list *slices)
{
	if (slices->n)
		qsort(slices->items, slices->n, sizeof(*slices->items), slice_compare);
}

/* Which detail the smaller slices keep when there are too many. */
enum slice_detail { SLICE_KIND, SLICE_COMM };

/* Merge all slices but the largest ACCOUNT_SLICES_MOST / 2 into sums. Return: 0 or -ENOMEM */
static int slices_fold(slice_list *slices, enum slice_detail detail)
{
	size_t n = slices->n;
	int r = 0;

	slices->n = ACCOUNT_SLICES_MOST / 2;
	for (size_t i = slices->n; i < n && r == 0; i++) {
		struct slice sum = { .ns = slices->items[i].ns, .kind = slices->items[i].kind };

		if (detail == SLICE_COMM) {
			sum.has_waker = slices->items[i].has_waker;
			sum.uid = slices->items[i].uid;
			memcpy(sum.comm, slices->items[i].comm, sizeof(sum.comm));
		}
		r = slice_add(slices, &sum);
	}
	slices_sort(slices);
	return r;
}

static Ingero__V1__Waker *waker_message(const struct slice *slice, struct arena *arena)
{
	Ingero__V1__Waker *by = ARENA_NEW(arena, Ingero__V1__Waker);

	if (!by)
		return NULL;
	ingero__v1__waker__init(by);
	by->pid = slice->pid;
	by->tid = slice->tid;
	by->uid = slice->uid;
	by->comm = arena_copy_text(arena, slice->comm);
	return by->comm ? by : NULL;
}

Ingero__V1__Resource *account_resource_message(uint8_t kind, const char *name, const char *device, struct arena *arena)
{
	Ingero__V1__Resource *resource = ARENA_NEW(arena, Ingero__V1__Resource);

	if (!resource)
		return NULL;
	ingero__v1__resource__init(resource);
	resource->kind = (char *)(uintptr_t)account_resource_name(kind);
	resource->name = arena_copy_text(arena, name);
	if (!resource->name)
		return NULL;
	if (device[0]) {
		resource->device_told_case = INGERO__V1__RESOURCE__DEVICE_TOLD_DEVICE;
		resource->device = arena_copy_text(arena, device);
		if (!resource->device)
			return NULL;
	}
	return resource;
}

/* @ns: time of the hop, scaled to the reported time of the wait. Return: NULL without memory */
static Ingero__V1__Hop *hop_message(const struct account_process *process, const struct wait_hop *hop, uint64_t ns,
				    struct arena *arena)
{
	const struct account_wait *ended = hop->ended;
	Ingero__V1__Hop *message = ARENA_NEW(arena, Ingero__V1__Hop);
	struct slice who = { .ns = ns };
	char name[ACCOUNT_WAIT_NAME_BYTES] = "";

	if (!message)
		return NULL;
	ingero__v1__hop__init(message);
	waker_set(process, ended->waker_tgid, ended->waker_tid, ended->waker_uid, ended->is_waker_guarded,
		  ended->waker_comm, &who);
	message->by = waker_message(&who, arena);
	message->ns = ns;
	if (!message->by)
		return NULL;
	if (!hop->did)
		return message;
	message->class_ = (char *)(uintptr_t)account_class_name(hop->did->class);
	if (hop->is_one)
		account_wait_name(hop->did, name);
	if (hop->did->kind) {
		message->resource = account_resource_message(hop->did->kind, name, hop->did->device_name, arena);
		if (!message->resource)
			return NULL;
	}
	return message;
}

/* Chain of the slice's first wait. Return: 0 or -ENOMEM */
static int chain_message(const struct account_process *process, const struct slice *slice, struct arena *arena,
			 Ingero__V1__AccountPart *part)
{
	struct wait_hop hops[WAIT_HOPS_MOST];
	size_t n = slice->wait ? wait_chain(process->waits, process->n_waits, slice->wait, hops) : 0;

	if (!n || !hops[0].did || !slice->pid)
		return 0;
	part->chain = ARENA_NEW_N(arena, Ingero__V1__Hop *, n);
	if (!part->chain)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t ns = (uint64_t)((double)hops[i].ns * ((double)slice->ns / (double)slice->wait->ns));

		part->chain[i] = hop_message(process, &hops[i], ns, arena);
		if (!part->chain[i])
			return -ENOMEM;
		part->n_chain++;
	}
	return 0;
}

/* Where a thread mostly waited between its calls for what a slice is of, since its first call. Return: 0 or -ENOMEM */
static int part_from_message(const struct account_process *process, const struct account *account,
			     const struct account_part *part, const struct slice *slice, struct arena *arena,
			     Ingero__V1__AccountPart *message)
{
	struct account_wait rest = { .tid = account->tid, .class = part->class };
	const struct account_wait *wait = slice->wait ? slice->wait : &rest;
	const struct sites *sites;

	if (!process->wait_sites || part->where != ACCOUNT_BETWEEN || (!slice->wait && slice->kind))
		return 0;
	sites = wait_sites_find(process->wait_sites, wait, /* is_tick= */ false);
	return sites ? site_to_message(sites_most(sites), arena, &message->from) : 0;
}

static Ingero__V1__AccountPart *part_message(const struct account_process *process, const struct account *account,
					     const struct account_part *part, const struct slice *slice,
					     struct arena *arena)
{
	Ingero__V1__AccountPart *message = ARENA_NEW(arena, Ingero__V1__AccountPart);
	const char *op = part->where == ACCOUNT_IN && part->op ? process->op_name(part->op, process->data) : NULL;

	if (!message)
		return NULL;
	ingero__v1__account_part__init(message);
	message->where = (char *)(uintptr_t)account_where_name(part->where);
	message->class_ = (char *)(uintptr_t)account_class_name(part->class);
	message->ns = slice->ns;
	if (part_from_message(process, account, part, slice, arena, message) < 0)
		return NULL;
	if (op) {
		message->op_told_case = INGERO__V1__ACCOUNT_PART__OP_TOLD_OP;
		message->op = (char *)(uintptr_t)op;
	}
	if (slice->kind) {
		message->resource = account_resource_message(slice->kind, slice->name, slice->device, arena);
		if (!message->resource)
			return NULL;
	}
	if (slice->has_waker) {
		message->by = waker_message(slice, arena);
		if (!message->by || chain_message(process, slice, arena, message) < 0)
			return NULL;
	}
	return message;
}

/* ---- the wait that goes on ---- */

/* Return: NULL when the thread is in none, or that is not known */
static const struct account_wait *wait_open_of(const struct account_process *process, const struct account *account)
{
	for (size_t i = 0; i < process->n_all_waits && account->tid; i++)
		if (process->all_waits[i].is_open && process->all_waits[i].tid == account->tid)
			return &process->all_waits[i];
	return NULL;
}

/* Of the thread's earlier waits for the same pipe or socket those with the most time. Return: NULL: there were none */
static const struct account_wait *wait_ended_before(const struct account_process *process,
						    const struct account_wait *open)
{
	const struct account_wait *most = NULL;

	if (!resource_is_pipe(open->kind) && !resource_is_socket(open->kind))
		return NULL;
	for (size_t i = 0; i < process->n_all_waits; i++) {
		const struct account_wait *w = &process->all_waits[i];

		if (w->kind == open->kind && w->resource == open->resource && w->device == open->device &&
		    w->tid == open->tid && w->waker_tgid && !w->is_meanwhile && (!most || w->ns > most->ns))
			most = w;
	}
	return most;
}

/* Return: 0 or -ENOMEM */
static int waiting_message(const struct account_process *process, const struct account *account, struct arena *arena,
			   Ingero__V1__Account *message)
{
	const struct account_wait *open = wait_open_of(process, account), *ended;
	struct slice slice = { .ns = 0 };
	const struct stack *stack;
	struct account_part part;

	if (!open)
		return 0;
	part = (struct account_part){ .ns = open->max_ns,
				      .op = open->op,
				      .where = open->op ? ACCOUNT_IN : ACCOUNT_BETWEEN,
				      .class = open->class };
	slice.ns = open->max_ns;
	slice.kind = open->kind;
	account_wait_name(open, slice.name);
	memcpy(slice.device, open->device_name, sizeof(slice.device));
	ended = wait_ended_before(process, open);
	if (ended)
		waker_set(process, ended->waker_tgid, ended->waker_tid, ended->waker_uid, ended->is_waker_guarded,
			  ended->waker_comm, &slice);
	message->waiting = part_message(process, account, &part, &slice, arena);
	if (!message->waiting)
		return -ENOMEM;
	stack = process->wait_sites ? wait_sites_open(process->wait_sites, open) : NULL;
	return stack ? site_to_message(stack_site(stack), arena, &message->waiting->from) : 0;
}

/* ---- the message ---- */

/* Return: 0 or -ENOMEM */
static int part_split(const struct account_process *process, const struct account *account,
		      const struct account_part *part, struct arena *arena, Ingero__V1__Account *message)
{
	struct slice rest = { .ns = part->ns };
	slice_list slices = { .items = NULL };
	int r = part->where == ACCOUNT_NOT_KNOWN ? 0
		: part->class == BLAME_RUNNABLE	 ? slices_of_behind(process, part, &slices)
						 : slices_of_waits(process, account, part, &slices);

	slices_sort(&slices);
	for (enum slice_detail detail = SLICE_COMM;
	     (int)detail >= SLICE_KIND && slices.n > ACCOUNT_SLICES_MOST && r == 0; detail--)
		r = slices_fold(&slices, detail);
	for (size_t i = 0; i <= slices.n && i <= ACCOUNT_SLICES_MOST && r == 0; i++) {
		bool is_rest = i == slices.n || i == ACCOUNT_SLICES_MOST;
		const struct slice *slice = is_rest ? &rest : &slices.items[i];
		Ingero__V1__AccountPart *p;

		if (!slice->ns)
			continue;
		p = part_message(process, account, part, slice, arena);
		if (!p)
			r = -ENOMEM;
		else
			message->parts[message->n_parts++] = p;
		if (!is_rest)
			rest.ns -= slice->ns;
	}
	ARRAY_DONE(&slices);
	return r;
}

static int part_message_compare(const void *a, const void *b)
{
	const Ingero__V1__AccountPart *x = *(Ingero__V1__AccountPart *const *)a,
				      *y = *(Ingero__V1__AccountPart *const *)b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : strcmp(x->class_, y->class_);
}

Ingero__V1__Account *account_to_message(const struct account_process *process, const struct account *account,
					struct arena *arena)
{
	Ingero__V1__Account *message = ARENA_NEW(arena, Ingero__V1__Account);

	if (!message)
		return NULL;
	ingero__v1__account__init(message);
	message->pid = process->pid;
	message->tid = account->tid;
	message->process_name = (char *)(uintptr_t)process->name;
	message->uid = process->uid;
	message->wall_ns = account->wall_ns;
	message->is_driving = account->is_driving;
	message->parts = ARENA_NEW_N(arena, Ingero__V1__AccountPart *,
				     (account->parts.n ? account->parts.n : 1) * (ACCOUNT_SLICES_MOST + 1));
	if (!message->parts || program_to_message(process->program, arena, &message->program) < 0)
		return NULL;
	for (size_t i = 0; i < account->parts.n; i++)
		if (part_split(process, account, &account->parts.items[i], arena, message) < 0)
			return NULL;
	if (message->n_parts)
		qsort(message->parts, message->n_parts, sizeof(*message->parts), part_message_compare);
	return waiting_message(process, account, arena, message) < 0 ? NULL : message;
}
