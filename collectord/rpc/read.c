// SPDX-License-Identifier: Apache-2.0
#include "rpc/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "children/process.h"
#include "children/spare.h"
#include "archive/reader.h"
#include "children/stream.h"
#include "clock.h"
#include "rpc/askers.h"
#include "rpc/call.h"
#include "rpc/context.h"

#define GRACE_NS (2 * NSEC_PER_SEC) /* after its limit, until the process is killed */

struct read {
	TAILQ_ENTRY(read) link; /* in the hub, in order of arrival */
	struct read_hub *hub;
	const struct rpc_context *context;
	struct call *call;
	struct stream *stream; /* NULL while it waits */
	uint32_t uid;
	uint64_t limit_ns;
	struct buf question; /* while it waits */
	struct buf more;     /* packed fields that the daemon adds to a single reply */
	struct buf pending;  /* a reply that had no room */
	bool has_pending;
	bool is_only_reply;
	bool is_nice;
};

struct read_hub {
	TAILQ_HEAD(, read) reads;
	unsigned int user_running; /* maximum per user */
	bool is_looked_for;	   /* a waiting question may be able to run */
	struct askers askers;
	struct spare *spare; /* process for the next question, where they come often */
	uv_timer_t timer;    /* checks the running questions */
};

static unsigned int user_running(void)
{
	long n = MIN(sysconf(_SC_NPROCESSORS_ONLN) - 1, READ_USER_RUNNING);

	return (unsigned int)MAX(n, READ_USER_RUNNING_MIN);
}

int read_hub_new(uv_loop_t *loop, uint64_t cpu_ns, struct read_hub **ret_hub)
{
	CLEANUP(freep) struct read_hub *hub = calloc(1, sizeof(*hub));
	int r = hub ? spare_new(loop, READER_ROLE, READ_SPARE_MS, &hub->spare) : -ENOMEM;

	if (r < 0)
		return r;
	(void)uv_timer_init(loop, &hub->timer); /* cannot fail */
	hub->timer.data = hub;
	hub->askers.budget.size_ns = cpu_ns;
	hub->askers.budget.together = subordinate_read();
	TAILQ_INIT(&hub->reads);
	hub->user_running = user_running();
	*ret_hub = TAKE_PTR(hub);
	return 0;
}

void read_hub_stop(struct read_hub *hub)
{
	if (!hub)
		return;
	spare_close(TAKE_PTR(hub->spare));
	uv_close((uv_handle_t *)&hub->timer, NULL);
}

void read_hub_free(struct read_hub *hub)
{
	if (hub)
		cpu_budget_done(&hub->askers.budget);
	free(hub);
}

static void read_free(struct read *read)
{
	buf_done(&read->question);
	buf_done(&read->more);
	buf_done(&read->pending);
	free(read);
}

static void read_remove(struct read *read)
{
	read->hub->is_looked_for = true;
	TAILQ_REMOVE(&read->hub->reads, read, link);
	stream_close(read->stream);
	read_free(read);
}

/* Frees a question that was answered; the caller ends its call, or has ended it. */
static void read_over(struct read *read)
{
	struct read_hub *hub = read->hub;

	read_remove(read);
	(void)read_hub_start(hub);
}

static void read_fail(struct read *read, enum call_error code, const char *text)
{
	struct call *call = read->call;

	read_over(read);
	call_fail(call, code, "%s", text);
}

/* ---- replies of the reader process ---- */

/* Return: 0, -ENOBUFS (no room, try later), or 1: the question is over and freed */
static int read_reply(struct read *read, const void *bytes, size_t n)
{
	bool is_only_reply = read->is_only_reply;
	int r = call_reply_packed(read->call, bytes, n);

	if (r == -ENOBUFS)
		return r;
	if (r)
		read_fail(read, CALL_ERROR_INTERNAL, "the answer could not be sent: out of memory");
	else if (is_only_reply) /* a single reply ends the call */
		read_over(read);
	return r || is_only_reply;
}

static int on_reader_reply(const void *bytes, size_t n, void *data)
{
	struct read *read = data;
	int r;

	if (read->more.n) {
		if (buf_append(&read->pending, bytes, n) < 0 ||
		    buf_append(&read->pending, read->more.data, read->more.n) < 0) {
			read_fail(read, CALL_ERROR_INTERNAL, "out of memory");
			return 1;
		}
		bytes = read->pending.data;
		n = read->pending.n;
	}
	r = read_reply(read, bytes, n);
	if (r == -ENOBUFS) {
		read->has_pending = true;
		if (bytes != read->pending.data && buf_append(&read->pending, bytes, n) < 0)
			read_fail(read, CALL_ERROR_INTERNAL, "out of memory");
		return 1;
	}
	return r || !call_can_reply(read->call);
}

static void on_reader_end(int r, uint8_t code, const char *why, void *data)
{
	struct read *read = data;
	struct call *call = read->call;
	char text[128];

	switch (-r) {
	case 0:
		read_over(read);
		call_end(call);
		return;
	case EREMOTEIO:
		read_fail(read, code > CALL_OK && code <= CALL_ERROR_RATE ? (enum call_error)code : CALL_ERROR_INTERNAL,
			  why);
		return;
	case ETIMEDOUT:
		(void)snprintf(text, sizeof(text), "stopped: the question exceeded its limit of %.3g s",
			       (double)read->limit_ns / 1e9);
		read_fail(read, CALL_ERROR_DEADLINE, text);
		return;
	default:
		read_fail(read, CALL_ERROR_INTERNAL,
			  "the process that read the database ended unexpectedly (too little memory or time); ask for "
			  "less");
	}
}

static const struct stream_events stream_events = { .reply = on_reader_reply, .end = on_reader_end };

static void on_drain(struct call *call, void *data)
{
	struct read *read = data;

	(void)call;
	if (read->has_pending) {
		if (read_reply(read, read->pending.data, read->pending.n))
			return; /* still no room, or it has failed */
		read->has_pending = false;
		read->pending.n = 0;
	}
	if (read->stream)
		stream_resume(read->stream);
}

/* The client may be about to cancel the next question, too: that one starts only at the end of this turn. */
static void on_close(struct call *call, void *data)
{
	(void)call;
	read_remove(data);
}

/* ---- cost ---- */

void read_hub_gone(struct read_hub *hub, uint32_t pid, uint64_t cpu_ns)
{
	askers_gone(&hub->askers, pid, cpu_ns, clock_now_ns());
}

bool read_hub_asker(const struct read_hub *hub, uint32_t pid, const char *comm, uint32_t *ret_uid)
{
	return askers_find(&hub->askers, pid, strcmp(comm, READER_TITLE) == 0, clock_now_ns(), ret_uid);
}

static void read_fail_cost(struct read *read)
{
	const struct cpu_budget *budget = &read->hub->askers.budget;
	uint64_t wait_ns = cpu_budget_wait_ns(budget, read->uid, clock_now_ns());
	char who[64], text[256];

	if (subordinate_has(&budget->together, read->uid))
		(void)snprintf(who, sizeof(who), "uids %u to %u have used up their", budget->together.first,
			       budget->together.first + budget->together.n - 1);
	else
		(void)snprintf(who, sizeof(who), "uid %u has used up its", read->uid);
	(void)snprintf(text, sizeof(text),
		       "%s%s %.3g s of CPU time for questions to the database, which refills by a quarter of each "
		       "second; ask %s in %" PRIu64 " s",
		       read->stream ? "stopped: " : "", who, (double)budget->size_ns / (double)NSEC_PER_SEC,
		       read->stream ? "for less," : "again",
		       (uint64_t)MAX((wait_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC, 1));
	read_fail(read, CALL_ERROR_QUOTA, text);
}

static void read_look(struct read *read, uint64_t now_ns)
{
	struct askers *askers = &read->hub->askers;
	const struct child_process *process = stream_process(read->stream);
	uint64_t cpu_ns = process ? process_cpu_ns(process) : 0;

	if (!process)
		return;
	askers_charge(askers, process_pid(process), cpu_ns, now_ns);
	if (read->is_nice || read->context->is_private ||
	    (cpu_ns < READ_QUICK_NS && !cpu_budget_is_low(&askers->budget, read->uid, now_ns)))
		return;
	process_be_nice(process, READ_NICE);
	read->is_nice = true;
}

static void on_look(uv_timer_t *timer)
{
	struct read_hub *hub = timer->data;
	struct read *read, *used_up;
	uint64_t now_ns = clock_now_ns();
	bool is_any = false;

	TAILQ_FOREACH(read, &hub->reads, link)
	{
		if (read->stream)
			read_look(read, now_ns);
		is_any |= read->stream != NULL;
	}
	do { /* when one ends, others may begin or end */
		used_up = NULL;
		TAILQ_FOREACH(read, &hub->reads, link)
		{
			if (read->stream && cpu_budget_is_used(&hub->askers.budget, read->uid, now_ns))
				used_up = read;
		}
		if (used_up)
			read_fail_cost(used_up);
	} while (used_up);
	if (!is_any)
		(void)uv_timer_stop(timer);
}

/* ---- order of questions ---- */

static unsigned int count(const struct read_hub *hub, bool is_running, const uint32_t *uid)
{
	const struct read *read;
	unsigned int n = 0;

	TAILQ_FOREACH(read, &hub->reads, link)
	{
		if ((read->stream != NULL) == is_running && (!uid || read->uid == *uid) && (uid || read->uid != 0))
			n++;
	}
	return n;
}

static bool may_run(const struct read_hub *hub, const struct read *read)
{
	return count(hub, true, &read->uid) < hub->user_running &&
	       (read->uid == 0 || count(hub, true, NULL) < READ_TOTAL_RUNNING);
}

static int read_run(struct read *read)
{
	const struct rpc_context *context = read->context;
	const struct process_message questions[] = { { context->store_path, context->store_path_bytes },
						     { read->question.data, read->question.n } };

	uint64_t before_ns = clock_spent_ns();
	int r = stream_open(context->loop, spare_take(read->hub->spare), READER_ROLE, questions, ARRAY_SIZE(questions),
			    READER_REPLY_MAX, read->limit_ns + GRACE_NS, &stream_events, read, &read->stream);

	call_charge(read->call, before_ns); /* this may run while another call is being charged */
	if (r < 0)
		return r;
	spare_wish(read->hub->spare);
	askers_begin(&read->hub->askers, process_pid(stream_process(read->stream)), read->uid);
	read_look(read, clock_now_ns());
	if (!uv_is_active((uv_handle_t *)&read->hub->timer))
		(void)uv_timer_start(&read->hub->timer, on_look, READ_LOOK_MS, READ_LOOK_MS);
	return 0;
}

/* Return: the oldest question that may run, of the user with the fewest running questions; NULL: none may */
static struct read *find_next(const struct read_hub *hub)
{
	struct read *read, *found = NULL;
	unsigned int n_found = hub->user_running;

	TAILQ_FOREACH(read, &hub->reads, link)
	{
		unsigned int n = read->stream ? hub->user_running : count(hub, true, &read->uid);

		if (n < n_found && may_run(hub, read)) {
			found = read;
			n_found = n;
		}
		if (found && n_found == 0)
			break;
	}
	return found;
}

bool read_hub_start(struct read_hub *hub)
{
	struct read *read = hub->is_looked_for ? find_next(hub) : NULL;

	hub->is_looked_for = read != NULL;
	if (!read)
		return false;
	if (cpu_budget_wait_ns(&hub->askers.budget, read->uid, clock_now_ns()))
		read_fail_cost(read);
	else if (read_run(read) < 0)
		read_fail(read, CALL_ERROR_INTERNAL, "cannot start the process that reads the database");
	else
		buf_done(&read->question);
	return hub->is_looked_for;
}

/* ---- asking ---- */

bool read_hub_has_room(const struct read_hub *hub, uint32_t uid)
{
	return count(hub, false, &uid) < READ_USER_WAITING &&
	       (uid == 0 || count(hub, false, NULL) < READ_TOTAL_WAITING);
}

int read_hub_ask(struct read_hub *hub, const struct rpc_context *context, struct read_question *question)
{
	struct read *read = calloc(1, sizeof(*read));

	if (!read)
		return -ENOMEM;
	read->hub = hub;
	read->context = context;
	read->call = question->call;
	read->uid = call_identity(question->call)->uid;
	read->is_only_reply = question->is_only_reply;
	read->limit_ns = question->limit_ns;
	read->question = question->packed;
	read->more = question->more;
	question->packed = question->more = (struct buf)BUF_INIT;
	call_on_close(read->call, on_close, read);
	call_on_drain(read->call, on_drain, read);
	TAILQ_INSERT_TAIL(&hub->reads, read, link);
	hub->is_looked_for = true; /* at the end of this turn */
	return 0;
}
