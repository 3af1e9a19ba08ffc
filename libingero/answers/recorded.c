// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/recorded.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "libingero/answers/host.h"
#include "libingero/answers/time.h"
#include "libingero/answers/trace/rows.h"

#define NAMES_MOST 8u /* processes or operations in a sentence */

static bool is_recorded_call(const Ingero__V1__Operation *op)
{
	return op->count && !host_is_source(op->source);
}

static bool is_of_process(const Ingero__V1__Operation *a, const Ingero__V1__Operation *b)
{
	const char *node = a->node_told_case ? a->node : "", *other = b->node_told_case ? b->node : "";

	return a->pid == b->pid && strcmp(node, other) == 0;
}

typedef ARRAY(const Ingero__V1__Operation *) operation_list;

/* One operation of each process, or of each name, in order. Return: 0 or -ENOMEM */
static int operations_distinct(const Ingero__V1__ExplainReply *whole, bool by_name, operation_list *ret)
{
	int r = 0;

	for (size_t i = 0; i < whole->n_operations && r == 0; i++) {
		const Ingero__V1__Operation *op = whole->operations[i];
		bool is_known = !is_recorded_call(op);

		for (size_t k = 0; k < ret->n && !is_known; k++)
			is_known = by_name ? strcmp(ret->items[k]->op, op->op) == 0 : is_of_process(ret->items[k], op);
		if (!is_known)
			r = ARRAY_PUSH(ret, op);
	}
	return r;
}

static void recorded_names_append(const Ingero__V1__ExplainReply *whole, bool by_name, struct buf *out)
{
	operation_list list = { .items = NULL };

	if (operations_distinct(whole, by_name, &list) < 0)
		out->failed = true;
	for (size_t i = 0; i < MIN(list.n, NAMES_MOST); i++) {
		const Ingero__V1__Operation *op = list.items[i];

		(void)buf_append_text(out, i ? ", " : "");
		if (by_name)
			(void)buf_append_text(out, op->op);
		else
			(void)buf_printf(out, "%s (pid %u%s%s)", trace_process_name(op->process_name, op->program).text,
					 op->pid, op->node_told_case ? " on " : "", op->node_told_case ? op->node : "");
	}
	if (list.n > NAMES_MOST)
		(void)buf_printf(out, " and %zu more", list.n - NAMES_MOST);
	ARRAY_DONE(&list);
}

void recorded_processes_append(const Ingero__V1__ExplainReply *whole, struct buf *out)
{
	recorded_names_append(whole, /* by_name= */ false, out);
}

uint32_t recorded_process_first(const Ingero__V1__ExplainReply *whole)
{
	for (size_t i = 0; i < whole->n_operations; i++)
		if (is_recorded_call(whole->operations[i]))
			return whole->operations[i]->pid;
	return 0;
}

bool recorded_has_process(const struct recorded_question *q, const Ingero__V1__ExplainReply *whole)
{
	for (size_t i = 0; i < whole->n_operations; i++)
		for (size_t k = 0; k < q->n_pids && is_recorded_call(whole->operations[i]); k++)
			if (whole->operations[i]->pid == q->pids[k])
				return true;
	return q->n_pids == 0;
}

static bool has_operation(const Ingero__V1__ExplainReply *whole, const struct recorded_question *q)
{
	for (size_t i = 0; i < whole->n_operations; i++) {
		const Ingero__V1__Operation *op = whole->operations[i];

		if (is_recorded_call(op) && (!q->op || strcasecmp(op->op, q->op) == 0) &&
		    (!q->part || strcasestr(op->op, q->part)))
			return true;
	}
	return !q->op && !q->part;
}

/* A time of the host, or an event of it, that has a row beside the calls. */
static bool is_of_host(const Ingero__V1__ExplainReply *whole, const char *name)
{
	for (size_t i = 0; name && i < whole->n_operations; i++)
		if (host_is_source(whole->operations[i]->source) && strcasecmp(whole->operations[i]->op, name) == 0)
			return true;
	return false;
}

static bool is_outside(const struct recorded_question *q, const Ingero__V1__Window *window)
{
	return window && window->to_unix_ns &&
	       ((q->from_unix_ns && q->from_unix_ns > window->to_unix_ns) ||
		(q->to_unix_ns && q->to_unix_ns < window->from_unix_ns));
}

enum recorded_lack recorded_lack(const struct recorded_question *q, const Ingero__V1__ExplainReply *whole)
{
	bool has_calls = whole && whole->window && whole->window->calls;

	if (!whole)
		return RECORDED_LACKS_UNKNOWN;
	if (!whole->n_sessions && !has_calls)
		return RECORDED_LACKS_ALL;
	if (is_outside(q, whole->window))
		return RECORDED_LACKS_TIME;
	if (!has_calls)
		return RECORDED_LACKS_CALLS;
	if (!has_operation(whole, q))
		return RECORDED_LACKS_OPERATION;
	return recorded_has_process(q, whole) ? RECORDED_LACKS_HERE : RECORDED_LACKS_PROCESS;
}

static void asked_append(const struct recorded_question *q, struct buf *out)
{
	(void)buf_append_text(out, clock_span_text(q->from_unix_ns, q->to_unix_ns, q->now_unix_ns).text);
}

static void kept_append(const struct recorded_question *q, const Ingero__V1__ExplainReply *whole, struct buf *out)
{
	(void)buf_append_text(
		out, clock_span_text(whole->window->from_unix_ns, whole->window->to_unix_ns, q->now_unix_ns).text);
}

static void asked_pids_append(const struct recorded_question *q, struct buf *out)
{
	(void)buf_append_text(out, q->n_pids > 1 ? "none of the processes " : "process ");
	for (size_t i = 0; i < q->n_pids; i++)
		(void)buf_printf(out, "%s%u", i ? ", " : "", q->pids[i]);
	(void)buf_append_text(out, q->n_pids > 1 ? " made a call" : " made no call");
}

static void operation_append(const struct recorded_question *q, const Ingero__V1__ExplainReply *whole, struct buf *out)
{
	if (is_of_host(whole, q->op))
		(void)buf_printf(out,
				 "%s is no call: its time is among the parts between calls, which have no name "
				 "of an operation",
				 q->op);
	else if (q->op)
		(void)buf_printf(out, "nobody called %s", q->op);
	else
		(void)buf_printf(out, "nobody called an operation with '%s' in its name", q->part);
	(void)buf_append_text(out, "; recorded are calls of ");
	recorded_names_append(whole, /* by_name= */ true, out);
}

void recorded_lack_append(const struct recorded_question *q, const Ingero__V1__ExplainReply *whole, struct buf *out)
{
	switch (recorded_lack(q, whole)) {
	case RECORDED_LACKS_UNKNOWN:
		break;
	case RECORDED_LACKS_ALL:
		(void)buf_append_text(out, "there is no recording of your processes yet");
		break;
	case RECORDED_LACKS_TIME:
		(void)buf_append_text(out, "nothing was recorded from ");
		asked_append(q, out);
		(void)buf_append_text(out, "; the recording goes from ");
		kept_append(q, whole, out);
		break;
	case RECORDED_LACKS_CALLS:
		(void)buf_append_text(out, "no CUDA calls: no process made one in the recording, from ");
		kept_append(q, whole, out);
		break;
	case RECORDED_LACKS_OPERATION:
		operation_append(q, whole, out);
		break;
	case RECORDED_LACKS_PROCESS:
		asked_pids_append(q, out);
		(void)buf_append_text(out, " in the recording; processes that did: ");
		recorded_processes_append(whole, out);
		break;
	case RECORDED_LACKS_HERE:
		(void)buf_append_text(out, "nothing of what was asked for is recorded from ");
		asked_append(q, out);
		(void)buf_append_text(out, "; the recording goes from ");
		kept_append(q, whole, out);
		break;
	}
}
