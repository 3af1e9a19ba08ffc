// SPDX-License-Identifier: Apache-2.0
#include "detect/failed.h"

#include "base/cleanup.h"
#include "bpf/record.h"
#include "events/event.h"
#include "events/op.h"

static uint64_t bytes_asked(const struct event *event)
{
	for (size_t i = 0; i < op_n_args(event->op); i++)
		if (event->op->meaning[i] == OP_MEANING_BYTES)
			return event->call->args[i];
	return 0;
}

void failed_calls_note(struct failed_calls *failed, const struct event *event)
{
	const struct call_record *call = event->call;
	bool is_failed = (call->reason & RECORD_REASON_ERROR) != 0;
	uint64_t bytes = bytes_asked(event);
	struct failed_call *f;

	for (size_t i = 0; i < failed->n; i++) {
		f = &failed->items[i];
		if (f->op != event->op)
			continue;
		f->is_retried |= !is_failed && bytes >= f->bytes;
		if (!is_failed || f->code != call->ret)
			continue;
		f->count++;
		f->is_retried = false;
		return;
	}
	if (!is_failed || failed->n == ARRAY_SIZE(failed->items))
		return;
	failed->items[failed->n++] = (struct failed_call){
		.op = event->op,
		.call = { .start_ns = call->start_ns, .duration_ns = call->duration_ns, .tid = call->tid },
		.count = 1,
		.bytes = bytes,
		.code = call->ret,
	};
}

const struct failed_call *failed_calls_first(const struct failed_calls *failed, failed_func is_one)
{
	const struct failed_call *first = NULL;

	for (size_t i = 0; i < failed->n; i++) {
		const struct failed_call *f = &failed->items[i];

		if (is_one(f->op, f->code) && (!first || f->call.start_ns < first->call.start_ns))
			first = f;
	}
	return first;
}
