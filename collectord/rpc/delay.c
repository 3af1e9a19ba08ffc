// SPDX-License-Identifier: Apache-2.0
#include "rpc/delay.h"

#include <errno.h>

#include "base/cleanup.h"
#include "capture.h"
#include "detect/delay.h"
#include "detect/finding_message.h"
#include "events/op.h"
#include "events/source.h"
#include "rpc/answer.h"
#include "rpc/context.h"
#include "rpc/scope.h"
#include "rpc/since.h"

struct delay {
	const struct process_figures *process; /* NULL: none yet */
	const struct op_used *used;
	enum blame_class takes;
	uint64_t lost_ns, raw_ns;
};

static void op_consider(const struct op_used *used, const struct since_process *then, uint16_t measured,
			uint64_t window_ns, struct delay *found)
{
	const struct op_figures *before = since_op(then, used->id), *now = &used->figures;
	const struct op *op = op_get(used->id);
	__u64 blame_ns[BLAME_COUNT];
	struct delay_times times = { .op = op, .blame_ns = blame_ns, .measured = measured };
	enum blame_class class;
	uint64_t lost_ns;

	if (!op_is_call(op))
		return;
	times.raw_ns = now->raw_ns - (before ? before->raw_ns : 0);
	for (int i = 0; i < BLAME_COUNT; i++)
		blame_ns[i] = now->blame_ns[i] - (before ? before->blame_ns[i] : 0);
	lost_ns = delay_judge(&times, window_ns, &class);
	/* Of a call and a call inside it, the outer one is reported: it has more time. */
	if (lost_ns > found->lost_ns || (lost_ns && lost_ns == found->lost_ns && times.raw_ns > found->raw_ns)) {
		found->used = used;
		found->takes = class;
		found->lost_ns = lost_ns;
		found->raw_ns = times.raw_ns;
	}
}

static Ingero__V1__Delay *delay_message(const struct rpc_context *context, const struct delay *found,
					Ingero__V1__Operation *op, const Ingero__V1__Summary *summary,
					struct arena *arena)
{
	Ingero__V1__Delay *message = ARENA_NEW(arena, Ingero__V1__Delay);

	if (!message)
		return NULL;
	ingero__v1__delay__init(message);
	message->operation = op;
	message->takes = (char *)(uintptr_t)finding_class_field(found->takes);
	message->lost_ns = found->lost_ns;
	message->advice =
		arena_copy_text(arena, delay_advice(summary, op, found->takes, context->capture->facts.parent).text);
	return message->advice ? message : NULL;
}

int delay_find(const struct rpc_context *context, const struct scope *scope, const struct since *since,
	       struct arena *arena, const Ingero__V1__Summary *summary, Ingero__V1__Delay **ret_delay)
{
	uint16_t measured = source_measured(context->capture->source);
	struct delay found = { .process = NULL };
	const struct process_figures *p;
	const struct since_process *then;
	Ingero__V1__Operation *op;
	struct op_figures figures;
	bool owned;
	int r;

	for (size_t i = 0; (p = since_next(context->capture->figures, scope, since, &i, &then));) {
		const struct op_used *before = found.used;

		for (size_t k = 0; k < p->ops.used.n; k++)
			op_consider(p->ops.used.items[k], then, measured, summary->window_ns, &found);
		if (found.used != before)
			found.process = p;
	}
	if (!found.process)
		return 0;
	r = since_op_figures(found.used, since_find(since, found.process->id), &figures, &owned);
	if (r < 0)
		return r;
	figures_set_error(&figures, found.process->process, found.used->id, since ? since->since_ns : 0);
	r = answer_operation(context, arena, found.process, found.used->id, &figures, &op);
	if (owned)
		op_figures_done(&figures);
	if (r < 0)
		return r;
	*ret_delay = delay_message(context, &found, op, summary, arena);
	return *ret_delay ? 0 : -ENOMEM;
}
