// SPDX-License-Identifier: Apache-2.0
#include "children/reader/message.h"

#include <string.h>

#include "base/cleanup.h"
#include "events/call_id.h"
#include "events/event.h"
#include "events/op.h"

Ingero__V1__Blame *reader_blame(struct arena *arena, const __u64 blame_ns[BLAME_COUNT], uint16_t measured,
				uint64_t whole_ns)
{
	Ingero__V1__Blame *b = ARENA_NEW(arena, Ingero__V1__Blame);
	uint64_t waited_ns = 0;

	if (!b)
		return NULL;
	ingero__v1__blame__init(b);
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		waited_ns += blame_ns[i];

#define CLASS(number, field)                                                                                           \
	do {                                                                                                           \
		b->has_##field = (measured & MEASURED(number)) != 0;                                                   \
		b->field = blame_ns[number];                                                                           \
	} while (0)
	CLASS(BLAME_RUNNABLE, runnable);
	CLASS(BLAME_QUOTA, quota);
	CLASS(BLAME_DEVICE, device);
	CLASS(BLAME_LOCK, lock);
	CLASS(BLAME_BLOCK_IO, block_io);
	CLASS(BLAME_MEMORY, memory);
	CLASS(BLAME_NETWORK, network);
	CLASS(BLAME_SLEEP, sleep);
	CLASS(BLAME_OTHER, other);
#undef CLASS
	b->has_on_cpu = (measured & MEASURED(BLAME_ON_CPU)) != 0;
	b->on_cpu = whole_ns > waited_ns ? whole_ns - waited_ns : 0;
	return b;
}

static int event_reasons(struct arena *arena, uint8_t reason, Ingero__V1__Event *e)
{
	static const char *const names[] = { "slow", "error", "sync", "alloc", "sample", "all" };

	e->reasons = ARENA_NEW_N(arena, char *, ARRAY_SIZE(names));
	if (!e->reasons)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (reason & 1u << i)
			e->reasons[e->n_reasons++] = (char *)(uintptr_t)names[i];
	return 0;
}

static int event_args(struct arena *arena, const struct stored_event *stored, Ingero__V1__Event *e)
{
	const struct op *op = stored->op < OP_ID_MAX ? op_get(stored->op) : NULL;

	e->args = ARENA_NEW_N(arena, uint64_t, 2);
	if (!e->args)
		return -ENOMEM;
	/* Of an operation that this version does not know, what is not zero was kept for a reason. */
	for (size_t i = 0; i < 2 && (op ? op->meaning[i] != OP_MEANING_NONE : stored->call.args[i] != 0); i++)
		e->args[e->n_args++] = stored->call.args[i];
	return 0;
}

Ingero__V1__Event *reader_event(struct arena *arena, struct store_reader *reader, const struct read_event *event)
{
	const struct stored_event *stored = event->event;
	const struct call_record *c = &stored->call;
	const struct read_op *op = store_reader_op(reader, stored->op);
	Ingero__V1__Event *e = ARENA_NEW(arena, Ingero__V1__Event);
	const struct call_id parts = { .boot = event->boot, .tid = c->tid, .start_ns = c->start_ns };
	char *id = arena_alloc(arena, CALL_ID_BYTES);

	if (!e || !id)
		return NULL;
	ingero__v1__event__init(e);
	e->timestamp_unix_ns = event->start_unix_ns;
	e->pid = event->process->pid;
	e->tid = c->tid;
	e->process_name = (char *)(uintptr_t)event->process->comm;
	e->source = (char *)(uintptr_t)(op ? op->source : "");
	e->op = (char *)(uintptr_t)(op ? op->name : "");
	e->duration_ns = c->duration_ns;
	e->duration_raw_ns = c->raw_ns;
	e->ret_code = c->ret;
	e->uid = event->process->uid;
	e->depth = c->depth;
	call_id_format(&parts, id);
	e->id = id;
	e->blame_ns = reader_blame(arena, c->blame_ns, stored->measured, c->raw_ns);
	if (!e->blame_ns || event_args(arena, stored, e) < 0 || event_reasons(arena, c->reason, e) < 0)
		return NULL;
	return e;
}

Ingero__V1__Operation *reader_operation(struct arena *arena, const struct read_figures *figures)
{
	const struct op_figures *f = &figures->figures;
	Ingero__V1__Operation *o = ARENA_NEW(arena, Ingero__V1__Operation);

	if (!o)
		return NULL;
	ingero__v1__operation__init(o);
	o->pid = figures->process->pid;
	o->start_time_unix_ns = figures->process->start_unix_ns;
	o->process_name = (char *)(uintptr_t)figures->process->comm;
	o->uid = figures->process->uid;
	o->exec_generation = figures->process->exec_gen;
	if (figures->op) {
		o->source = (char *)(uintptr_t)figures->op->source;
		o->op = (char *)(uintptr_t)figures->op->name;
	}
	o->count = op_figures_count(f);
	o->errors = f->errors;
	o->total_ns = f->total_ns;
	o->total_raw_ns = f->raw_ns;
	o->max_ns = f->max_ns;
	o->p50_ns = histogram_quantile(&f->durations, 0.50, f->max_ns);
	o->p95_ns = histogram_quantile(&f->durations, 0.95, f->max_ns);
	o->p99_ns = histogram_quantile(&f->durations, 0.99, f->max_ns);
	o->bytes = f->bytes;
	o->abandoned = f->abandoned;
	o->untimed = f->untimed;
	o->blame_ns = reader_blame(arena, f->blame_ns, figures->measured, f->raw_ns);
	return o->blame_ns ? o : NULL;
}

bool reader_lost_add(Ingero__V1__Lost *lost, const char *reason, uint64_t n)
{
	const ProtobufCMessageDescriptor *d = &ingero__v1__lost__descriptor;
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(d, reason);

	if (!field || field->type != PROTOBUF_C_TYPE_UINT64)
		return false;
	*(uint64_t *)((char *)lost + field->offset) += n;
	return true;
}

Ingero__V1__Gap *reader_gap_copy(struct arena *arena, const Ingero__V1__Gap *gap)
{
	Ingero__V1__Gap *copy = ARENA_NEW(arena, Ingero__V1__Gap);

	if (!copy)
		return NULL;
	*copy = *gap;
	copy->reason = arena_copy_text(arena, gap->reason);
	return copy->reason ? copy : NULL;
}
