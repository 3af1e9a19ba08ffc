// SPDX-License-Identifier: Apache-2.0
#include "questions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proto/frame.h"
#include "tests/support/check.h"

const ProtobufCServiceDescriptor *const question_services[QUESTION_SERVICES] = {
	&ingero__v1__query__descriptor,
	&ingero__v1__trace__descriptor,
};

/* ---- requests ---- */

static void pids_set(uint32_t **pids, size_t *n, const struct subject *subject)
{
	*pids = (uint32_t *)(uintptr_t)&subject->pid;
	*n = 1;
}

static void hello_fill(union question_request *q, const struct subject *subject)
{
	q->hello.protocol_major = FRAME_PROTOCOL_MAJOR;
	q->hello.has_on_behalf_of = true;
	q->hello.on_behalf_of_uid = subject->uid;
}

static void hello_groups_fill(union question_request *q, const struct subject *subject)
{
	static uint32_t gids[] = { 0, 54390, 54391 };

	hello_fill(q, subject);
	q->hello.on_behalf_of_gids = gids;
	q->hello.n_on_behalf_of_gids = 3;
}

static void look_fill(union question_request *q, const struct subject *subject)
{
	(void)subject;
	q->status.look = true;
}

static void operations_fill(union question_request *q, const struct subject *subject)
{
	pids_set(&q->operations.pids, &q->operations.n_pids, subject);
}

static void pieces_fill(union question_request *q, const struct subject *subject)
{
	operations_fill(q, subject);
	q->operations.in_pieces = true;
}

static void explain_fill(union question_request *q, const struct subject *subject)
{
	pids_set(&q->explain.pids, &q->explain.n_pids, subject);
	q->explain.per_process = true;
}

static void explain_last_fill(union question_request *q, const struct subject *subject)
{
	explain_fill(q, subject);
	q->explain.last_calls = 3;
	q->explain.findings_max = 2;
	q->explain.operations_max = 2;
	q->explain.without_kept = true;
	q->explain.without_accounts = true;
}

static void explain_op_fill(union question_request *q, const struct subject *subject)
{
	explain_fill(q, subject);
	q->explain.op_part = "Launch";
}

static void explain_all_fill(union question_request *q, const struct subject *subject)
{
	(void)subject;
	q->explain.per_process = true;
}

static void explain_id_fill(union question_request *q, const struct subject *subject)
{
	q->explain.id = (char *)(uintptr_t)subject->call_id;
}

static void blame_fill(union question_request *q, const struct subject *subject)
{
	pids_set(&q->blame.pids, &q->blame.n_pids, subject);
}

static void blame_op_fill(union question_request *q, const struct subject *subject)
{
	blame_fill(q, subject);
	q->blame.op = (char *)(uintptr_t) "cudaMalloc";
	q->blame.accounts_max = 2;
}

static void events_fill(union question_request *q, const struct subject *subject)
{
	pids_set(&q->events.pids, &q->events.n_pids, subject);
	q->events.limit = 50;
}

static void events_op_fill(union question_request *q, const struct subject *subject)
{
	events_fill(q, subject);
	q->events.op = (char *)(uintptr_t) "cudaMalloc";
	q->events.min_duration_ns = 1;
}

static void events_all_fill(union question_request *q, const struct subject *subject)
{
	(void)subject;
	q->events.limit = 1000;
}

static void events_stacks_fill(union question_request *q, const struct subject *subject)
{
	events_fill(q, subject);
	q->events.stacks = true;
}

static void compare_all_fill(union question_request *q, const struct subject *subject)
{
	(void)subject;
	q->compare.per = (char *)(uintptr_t) "call";
}

static void compare_fill(union question_request *q, const struct subject *subject)
{
	static Ingero__V1__CompareSide sides[2];

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		ingero__v1__compare_side__init(&sides[i]);
		pids_set(&sides[i].pids, &sides[i].n_pids, subject);
	}
	q->compare.a = &sides[0];
	q->compare.b = &sides[1];
}

static void stacks_fill(union question_request *q, const struct subject *subject)
{
	pids_set(&q->stacks.pids, &q->stacks.n_pids, subject);
}

static void stacks_op_fill(union question_request *q, const struct subject *subject)
{
	stacks_fill(q, subject);
	q->stacks.op = (char *)(uintptr_t) "cudaMalloc";
	q->stacks.limit = 2;
}

static char sql_text[512]; /* of the question that is being asked */

static void sql_fill(union question_request *q, const struct subject *subject)
{
	(void)snprintf(sql_text, sizeof(sql_text),
		       "SELECT p.name, e.*, o.* FROM process_names p LEFT JOIN events e ON e.pid = p.pid"
		       " LEFT JOIN operations o ON o.pid = p.pid WHERE p.pid = %u LIMIT 20",
		       subject->pid);
	q->sql.sql = sql_text;
	q->sql.rows_max = 20;
	q->sql.time_limit_ns = 20000000000;
}

static void export_fill(union question_request *q, const struct subject *subject)
{
	q->export.format = (char *)(uintptr_t) "db";
	pids_set(&q->export.pids, &q->export.n_pids, subject);
}

static void export_all_fill(union question_request *q, const struct subject *subject)
{
	(void)subject;
	q->export.format = (char *)(uintptr_t) "db";
}

static void trace_common(union question_request *q)
{
	q->trace.events = true;
	q->trace.record = (char *)(uintptr_t) "all";
	q->trace.sample_every = 1;
	q->trace.figures_period_ns = 50000000;
	q->trace.recent_ns = 100000000;
	q->trace.duration_ns = 200000000;
}

static void trace_fill(union question_request *q, const struct subject *subject)
{
	trace_common(q);
	pids_set(&q->trace.pids, &q->trace.n_pids, subject);
}

static void trace_hold_fill(union question_request *q, const struct subject *subject)
{
	trace_fill(q, subject);
	q->trace.hold = true;
	q->trace.guardian = (uint32_t)getpid();
}

static void trace_uid_fill(union question_request *q, const struct subject *subject)
{
	trace_common(q);
	q->trace.uids = (uint32_t *)(uintptr_t)&subject->uid;
	q->trace.n_uids = 1;
}

static void trace_own_fill(union question_request *q, const struct subject *subject)
{
	(void)subject;
	trace_common(q);
	q->trace.each_second = true;
}

static void trace_everybody_fill(union question_request *q, const struct subject *subject)
{
	(void)subject;
	trace_common(q);
	q->trace.all = true;
}

static void trace_ring_fill(union question_request *q, const struct subject *subject)
{
	trace_fill(q, subject);
	q->trace.ringbuf_bytes = 4096;
}

const struct question questions[] = {
	{ .method = HELLO, .name = "on behalf of", .fill = hello_fill, .shows = SHOWS_NOTHING, .need = NEED_ROOT },
	{ .method = HELLO,
	  .name = "with groups",
	  .fill = hello_groups_fill,
	  .shows = SHOWS_NOTHING,
	  .need = NEED_ROOT },
	{ .method = STATUS, .name = "plain", .shows = SHOWS_SCOPE },
	{ .method = STATUS, .name = "look", .fill = look_fill, .shows = SHOWS_SCOPE },
	{ .method = OPERATIONS, .name = "of all", .shows = SHOWS_SCOPE },
	{ .method = OPERATIONS, .name = "of one", .fill = operations_fill, .shows = SHOWS_SUBJECT },
	{ .method = OPERATIONS, .name = "in pieces", .fill = pieces_fill, .shows = SHOWS_SUBJECT },
	{ .method = EXPLAIN, .name = "of all", .fill = explain_all_fill, .shows = SHOWS_SCOPE },
	{ .method = EXPLAIN, .name = "of one", .fill = explain_fill, .shows = SHOWS_SUBJECT },
	{ .method = EXPLAIN, .name = "last calls", .fill = explain_last_fill, .shows = SHOWS_SUBJECT },
	{ .method = EXPLAIN,
	  .name = "operations by a part of their names",
	  .fill = explain_op_fill,
	  .shows = SHOWS_SUBJECT },
	{ .method = EXPLAIN, .name = "one call", .fill = explain_id_fill, .shows = SHOWS_SUBJECT, .is_refused = true },
	{ .method = BLAME, .name = "of all", .shows = SHOWS_SCOPE },
	{ .method = BLAME, .name = "of one", .fill = blame_fill, .shows = SHOWS_SUBJECT },
	{ .method = BLAME, .name = "of an operation", .fill = blame_op_fill, .shows = SHOWS_SUBJECT },
	{ .method = COMPARE, .name = "of all", .fill = compare_all_fill, .shows = SHOWS_SCOPE },
	{ .method = COMPARE, .name = "of one", .fill = compare_fill, .shows = SHOWS_SUBJECT, .is_refused = true },
	{ .method = EVENTS, .name = "of all", .fill = events_all_fill, .shows = SHOWS_SCOPE },
	{ .method = EVENTS, .name = "of one", .fill = events_fill, .shows = SHOWS_SUBJECT },
	{ .method = EVENTS, .name = "of an operation", .fill = events_op_fill, .shows = SHOWS_SUBJECT },
	{ .method = EVENTS, .name = "with stacks", .fill = events_stacks_fill, .shows = SHOWS_SUBJECT },
	{ .method = STACKS, .name = "of all", .shows = SHOWS_SCOPE },
	{ .method = STACKS, .name = "of one", .fill = stacks_fill, .shows = SHOWS_SUBJECT },
	{ .method = STACKS, .name = "of an operation", .fill = stacks_op_fill, .shows = SHOWS_SUBJECT },
	{ .method = SQL, .name = "of one", .fill = sql_fill, .shows = SHOWS_SUBJECT },
	{ .method = EXPORT, .name = "of all", .fill = export_all_fill, .shows = SHOWS_SCOPE },
	{ .method = EXPORT, .name = "of one", .fill = export_fill, .shows = SHOWS_SUBJECT },
	{ .method = TRACE, .name = "by pid", .fill = trace_fill, .shows = SHOWS_SUBJECT, .is_refused = true },
	{ .method = TRACE, .name = "held", .fill = trace_hold_fill, .shows = SHOWS_SUBJECT, .is_refused = true },
	{ .method = TRACE, .name = "by uid", .fill = trace_uid_fill, .shows = SHOWS_SUBJECT, .is_of_owner = true },
	{ .method = TRACE, .name = "own", .fill = trace_own_fill, .shows = SHOWS_NOTHING, .is_own = true },
	{ .method = TRACE,
	  .name = "everybody",
	  .fill = trace_everybody_fill,
	  .shows = SHOWS_SCOPE,
	  .need = NEED_READ_ALL },
	{ .method = TRACE, .name = "another ring", .fill = trace_ring_fill, .shows = SHOWS_NOTHING, .need = NEED_RING },
};

const size_t n_questions = ARRAY_SIZE(questions);

const ProtobufCMethodDescriptor *question_method(const char *name)
{
	char full[128];

	for (size_t i = 0; i < QUESTION_SERVICES; i++)
		for (unsigned int k = 0; k < question_services[i]->n_methods; k++) {
			(void)snprintf(full, sizeof(full), "%s.%s", question_services[i]->name,
				       question_services[i]->methods[k].name);
			if (strcmp(full, name) == 0)
				return &question_services[i]->methods[k];
		}
	return NULL;
}

const struct question *question_find(const char *method, const char *name)
{
	for (size_t i = 0; i < n_questions; i++)
		if (strcmp(questions[i].method, method) == 0 && strcmp(questions[i].name, name) == 0)
			return &questions[i];
	fprintf(stderr, "there is no question '%s' of %s\n", name, method);
	exit(1);
}

void question_pack(const struct question *q, const struct subject *subject, struct buf *out)
{
	union question_request request;
	uint8_t *p;

	memset(&request, 0, sizeof(request));
	protobuf_c_message_init(question_method(q->method)->input, &request);
	if (q->fill)
		q->fill(&request, subject);
	p = buf_reserve(out, protobuf_c_message_get_packed_size(&request.base) + 1);
	if (!p)
		abort();
	out->n += protobuf_c_message_pack(&request.base, p);
}

/* ---- complete ---- */

/* Fields of requests that the questions above set, or that do not name processes. One more has to be thought of.
 */
static const char *const known_fields[] = {
	HELLO " protocol_major",
	HELLO " protocol_minor",
	HELLO " program",
	HELLO " on_behalf_of_uid",
	HELLO " has_on_behalf_of",
	HELLO " on_behalf_of_gids",
	STATUS " look",
	OPERATIONS " pids",
	OPERATIONS " in_pieces",
	EXPLAIN " span",
	EXPLAIN " pids",
	EXPLAIN " last_calls",
	EXPLAIN " per_process",
	EXPLAIN " id",
	EXPLAIN " findings_max",
	EXPLAIN " operations_max",
	EXPLAIN " without_kept",
	EXPLAIN " without_accounts",
	EXPLAIN " op_part",
	BLAME " span",
	BLAME " pids",
	BLAME " op",
	BLAME " accounts_max",
	COMPARE " a",
	COMPARE " b",
	COMPARE " per",
	EVENTS " span",
	EVENTS " pids",
	EVENTS " op",
	EVENTS " limit",
	EVENTS " min_duration_ns",
	EVENTS " stacks",
	STACKS " span",
	STACKS " pids",
	STACKS " op",
	STACKS " limit",
	SQL " sql",
	SQL " rows_max",
	SQL " time_limit_ns",
	EXPORT " format",
	EXPORT " span",
	EXPORT " pids",
	TRACE " pids",
	TRACE " uids",
	TRACE " all",
	TRACE " hold",
	TRACE " guardian",
	TRACE " events",
	TRACE " record",
	TRACE " sample_every",
	TRACE " figures_period_ns",
	TRACE " duration_ns",
	TRACE " ringbuf_bytes",
	TRACE " each_second",
	TRACE " recent_ns",
	TRACE " stacks",
	/* in messages in them */
	EXPLAIN " span.from_unix_ns",
	EXPLAIN " span.to_unix_ns",
	BLAME " span.from_unix_ns",
	BLAME " span.to_unix_ns",
	COMPARE " a.span",
	COMPARE " a.span.from_unix_ns",
	COMPARE " a.span.to_unix_ns",
	COMPARE " a.pids",
	COMPARE " a.run",
	COMPARE " a.runs_back",
	COMPARE " b.span",
	COMPARE " b.span.from_unix_ns",
	COMPARE " b.span.to_unix_ns",
	COMPARE " b.pids",
	COMPARE " b.run",
	COMPARE " b.runs_back",
	EVENTS " span.from_unix_ns",
	EVENTS " span.to_unix_ns",
	STACKS " span.from_unix_ns",
	STACKS " span.to_unix_ns",
	EXPORT " span.from_unix_ns",
	EXPORT " span.to_unix_ns",
};

static void check_fields(const char *method, const char *prefix, const ProtobufCMessageDescriptor *message)
{
	for (unsigned int i = 0; i < message->n_fields; i++) {
		char text[256];
		bool is_known = false;

		(void)snprintf(text, sizeof(text), "%s %s%s", method, prefix, message->fields[i].name);
		for (size_t k = 0; k < ARRAY_SIZE(known_fields); k++)
			is_known |= strcmp(known_fields[k], text) == 0;
		CHECK(text, is_known);
		if (message->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
			(void)snprintf(text, sizeof(text), "%s%s.", prefix, message->fields[i].name);
			check_fields(method, text, message->fields[i].descriptor);
		}
	}
}

/* The table is of what there is, all of it. */
void question_table_check(void)
{
	char full[128];

	for (size_t i = 0; i < QUESTION_SERVICES; i++)
		for (unsigned int k = 0; k < question_services[i]->n_methods; k++) {
			bool is_asked = false;

			(void)snprintf(full, sizeof(full), "%s.%s", question_services[i]->name,
				       question_services[i]->methods[k].name);
			for (size_t q = 0; q < n_questions; q++)
				is_asked |= strcmp(questions[q].method, full) == 0;
			CHECK(full, is_asked);
			check_fields(full, "", question_services[i]->methods[k].input);
		}
	for (size_t q = 0; q < n_questions; q++)
		CHECK(questions[q].method, question_method(questions[q].method) != NULL);
}
