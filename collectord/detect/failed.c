// SPDX-License-Identifier: Apache-2.0
#include "detect/failed.h"

#include "base/cleanup.h"
#include "bpf/record.h"
#include "events/event.h"
#include "events/op.h"

/* The first call of a tick in which it failed. */
static void failed_call_begin(struct failed_call *f, const struct call_record *call, uint64_t bytes)
{
	f->call =
		(struct finding_call){ .start_ns = call->start_ns, .duration_ns = call->duration_ns, .tid = call->tid };
	f->bytes = bytes;
	if (!f->ever.start_ns)
		f->ever = f->call;
}

void failed_calls_note(struct failed_calls *failed, const struct event *event)
{
	const struct call_record *call = event->call;
	bool is_failed = (call->reason & RECORD_REASON_ERROR) != 0;
	uint64_t bytes = event_bytes_asked(event);
	struct failed_call *f = NULL;

	for (size_t i = 0; i < failed->n; i++) {
		struct failed_call *here = &failed->items[i];

		if (here->op != event->op)
			continue;
		here->is_retried |= !is_failed && here->count && bytes >= here->bytes;
		if (here->code == call->ret)
			f = here;
	}
	if (!is_failed)
		return;
	if (!f && failed->n < ARRAY_SIZE(failed->items)) {
		f = &failed->items[failed->n++];
		*f = (struct failed_call){ .op = event->op, .code = call->ret };
	}
	if (!f)
		return;
	if (!f->count)
		failed_call_begin(f, call, bytes);
	f->count++;
	f->is_retried = false;
}

static const struct failed_call *failed_call_earliest(const struct failed_calls *failed, failed_func is_one,
						      bool is_of_tick)
{
	const struct failed_call *first = NULL;
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < failed->n; i++) {
		const struct failed_call *f = &failed->items[i];
		uint64_t start_ns = is_of_tick ? f->call.start_ns : f->ever.start_ns;

		if ((is_of_tick && !f->count) || !is_one(f->op, f->code) || start_ns >= first_ns)
			continue;
		first = f;
		first_ns = start_ns;
	}
	return first;
}

const struct failed_call *failed_calls_first(const struct failed_calls *failed, failed_func is_one)
{
	return failed_call_earliest(failed, is_one, /* is_of_tick= */ true);
}

const struct failed_call *failed_calls_ever(const struct failed_calls *failed, failed_func is_one)
{
	return failed_call_earliest(failed, is_one, /* is_of_tick= */ false);
}

void failed_calls_pass(struct failed_calls *failed)
{
	for (size_t i = 0; i < failed->n; i++) {
		failed->items[i].count = 0;
		failed->items[i].is_retried = false;
	}
}
