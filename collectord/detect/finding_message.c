// SPDX-License-Identifier: Apache-2.0
#include "detect/finding_message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/culprit.h"
#include "base/utf8.h"
#include "detect/advice.h"
#include "detect/cause.h"
#include "detect/detector.h"
#include "detect/finding.h"
#include "events/call_id.h"
#include "events/event_message.h"
#include "events/op.h"
#include "figures/account_message.h"

#define FINDING_ID_TEXT_BYTES 17 /* 16 hexadecimal digits */

static const char *const unit_names[] = {
	[FINDING_UNIT_NS] = "ns",
	[FINDING_UNIT_BYTES] = "bytes",
	[FINDING_UNIT_COUNT] = "count",
	[FINDING_UNIT_RATIO] = "ratio",
};

/* A name may have RECORD_COMM_BYTES without a NUL. */
static char *copy_comm(struct arena *arena, const char comm[RECORD_COMM_BYTES])
{
	char text[RECORD_COMM_BYTES + 1] = "";

	memcpy(text, comm, RECORD_COMM_BYTES);
	(void)utf8_scrub(text);
	return arena_copy_text(arena, text);
}

/* Absent where it is not so: most are not. */
#define GUARDED_TELL(message, guarded, MESSAGE)                                                                        \
	do {                                                                                                           \
		(message)->is_guarded = (guarded);                                                                     \
		(message)->guarded_told_case =                                                                         \
			(guarded) ? MESSAGE##__GUARDED_TOLD_IS_GUARDED : MESSAGE##__GUARDED_TOLD__NOT_SET;             \
	} while (0)

/* Whoever may not know the process is not told that it is guarded either. */
#define GUARDED_HIDE(message, MESSAGE) GUARDED_TELL(message, false, MESSAGE)

/* Absent where it is one process. Whoever may not know the name is not told how many have it. */
#define SAME_NAME_TELL(message, n, MESSAGE)                                                                            \
	do {                                                                                                           \
		(message)->same_name = (n);                                                                            \
		(message)->same_name_told_case =                                                                       \
			(n) ? MESSAGE##__SAME_NAME_TOLD_SAME_NAME : MESSAGE##__SAME_NAME_TOLD__NOT_SET;                \
	} while (0)
#define IS_GUARDED(message) ((message)->guarded_told_case && (message)->is_guarded)

static bool others_fill(const struct finding_cause *from, struct arena *arena, Ingero__V1__Cause *c)
{
	c->others = ARENA_NEW_N(arena, Ingero__V1__Culprit *, FINDING_OTHERS_MAX);
	if (!c->others)
		return false;
	for (size_t i = 0; i < FINDING_OTHERS_MAX && from->others[i].pid; i++) {
		Ingero__V1__Culprit *other = c->others[i] = ARENA_NEW(arena, Ingero__V1__Culprit);

		if (!other)
			return false;
		ingero__v1__culprit__init(other);
		other->pid = from->others[i].pid;
		other->comm = copy_comm(arena, from->others[i].comm);
		other->uid = from->others[i].uid;
		GUARDED_TELL(other, from->others[i].is_guarded, INGERO__V1__CULPRIT);
		SAME_NAME_TELL(other, from->others[i].same_name, INGERO__V1__CULPRIT);
		other->share = from->others[i].share;
		if (!other->comm)
			return false;
		c->n_others++;
	}
	return true;
}

static Ingero__V1__Hop *hop_fill(const struct finding_hop *from, struct arena *arena)
{
	Ingero__V1__Hop *hop = ARENA_NEW(arena, Ingero__V1__Hop);

	if (!hop)
		return NULL;
	ingero__v1__hop__init(hop);
	hop->by = ARENA_NEW(arena, Ingero__V1__Waker);
	if (!hop->by)
		return NULL;
	ingero__v1__waker__init(hop->by);
	hop->by->pid = from->pid;
	hop->by->tid = from->tid;
	hop->by->uid = from->uid;
	GUARDED_TELL(hop->by, from->is_guarded, INGERO__V1__WAKER);
	hop->by->comm = copy_comm(arena, from->comm);
	hop->ns = from->ns;
	if (from->is_known)
		hop->class_ = (char *)(uintptr_t)account_class_name(from->class);
	if (!hop->by->comm || !from->is_known || !from->kind)
		return hop->by->comm ? hop : NULL;
	hop->resource = account_resource_message(from->kind, from->name, "", arena);
	return hop->resource ? hop : NULL;
}

static bool chain_fill(const struct finding_chain *from, struct arena *arena, Ingero__V1__Cause *c)
{
	c->chain = ARENA_NEW_N(arena, Ingero__V1__Hop *, WAIT_HOPS_MOST);
	if (!c->chain)
		return false;
	c->chain_ns = from->ns;
	for (size_t i = 0; i < from->n; i++) {
		c->chain[i] = hop_fill(&from->hop[i], arena);
		if (!c->chain[i])
			return false;
		c->n_chain++;
	}
	return true;
}

/* What the longest wait was for, if that is known. */
static bool resource_fill(const struct account_wait *longest, struct arena *arena, Ingero__V1__Cause *c)
{
	char name[ACCOUNT_WAIT_NAME_BYTES];

	if (!longest->ns || !longest->kind)
		return true;
	account_wait_name(longest, name);
	c->resource = account_resource_message(longest->kind, name, longest->device_name, arena);
	return c->resource != NULL;
}

const char *finding_class_field(enum blame_class class)
{
	static const char *const fields[BLAME_COUNT] = {
#define BLAME(id, field, label, phrase, remedy) [BLAME_##id] = #field,
#include "bpf/blame.def"
#undef BLAME
	};

	return class == BLAME_ON_CPU ? "" : fields[class];
}

/* The class that a wait for data takes depends on what its thread waits for. */
static enum blame_class takes_of(const struct cause *c, const Ingero__V1__Resource *resource)
{
	static const enum blame_class classes[RESOURCE_COUNT] = {
		[RESOURCE_PIPE] = BLAME_OTHER,
		[RESOURCE_CHILD] = BLAME_OTHER,
		[RESOURCE_FUTEX] = BLAME_LOCK,
	};

	for (int kind = 0; kind < RESOURCE_COUNT && c->takes == BLAME_ON_CPU && resource; kind++)
		if (classes[kind] && strcmp(account_resource_name((enum resource_kind)kind), resource->kind) == 0)
			return classes[kind];
	return c->takes;
}

void finding_message_words(Ingero__V1__Cause *cause, uint32_t victim_pid)
{
	const struct detector *d = detector_find(cause->kind);
	const struct cause *c = d ? NULL : cause_find(cause->kind);
	/* A process that waits for its own threads is named as the cause; one that triggered its own kill is not. */
	bool has_processes = cause->processes && (cause->pid != victim_pid || c || (d && d->has_culprits));
	bool are_small = cause->processes > 1 && cause->share > 0 && cause->share < CULPRIT_LEAST_RATIO;
	const char *many = c && cause->processes > 1 ? c->many : d && are_small ? d->words.many : NULL;
	const char *behind = many ? many : d ? d->words.behind : c ? c->behind : NULL;
	const char *own = d ? d->words.own : c ? c->own : NULL;
	const char *words = has_processes && behind ? behind : own;

	cause->words = (char *)(uintptr_t)(words ? words : "");
	cause->takes = (char *)(uintptr_t)(d   ? finding_class_field(d->takes)
					   : c ? finding_class_field(takes_of(c, cause->resource))
					       : "");
}

static Ingero__V1__Cause *cause_message(const struct finding_cause *from, uint32_t victim_pid, struct arena *arena)
{
	Ingero__V1__Cause *c = ARENA_NEW(arena, Ingero__V1__Cause);

	if (!c)
		return NULL;
	ingero__v1__cause__init(c);
	c->kind = arena_copy_text(arena, from->kind);
	c->pid = from->pid;
	c->tid = from->tid;
	c->comm = copy_comm(arena, from->comm);
	c->uid = from->uid;
	GUARDED_TELL(c, from->is_guarded, INGERO__V1__CAUSE);
	SAME_NAME_TELL(c, from->same_name, INGERO__V1__CAUSE);
	c->share = from->share;
	c->processes = MAX(from->processes, from->pid != 0);
	if (!c->kind || !c->comm || !others_fill(from, arena, c) || !chain_fill(&from->chain, arena, c) ||
	    !resource_fill(&from->longest, arena, c))
		return NULL;
	finding_message_words(c, victim_pid);
	return c;
}

static bool evidence_fill(const struct finding *f, struct arena *arena, Ingero__V1__Finding *m)
{
	m->evidence = ARENA_NEW_N(arena, Ingero__V1__Evidence *, FINDING_EVIDENCE_MAX);
	if (!m->evidence)
		return false;
	for (size_t i = 0; i < f->n_evidence; i++) {
		Ingero__V1__Evidence *e = m->evidence[i] = ARENA_NEW(arena, Ingero__V1__Evidence);

		if (!e)
			return false;
		ingero__v1__evidence__init(e);
		e->name = arena_copy_text(arena, f->evidence[i].name);
		e->value = f->evidence[i].value;
		e->unit = (char *)unit_names[f->evidence[i].unit];
		if (!e->name)
			return false;
		m->n_evidence++;
	}
	return true;
}

static bool examples_message(const struct finding *f, uint32_t boot, finding_clock_func clock, void *data,
			     struct arena *arena, Ingero__V1__Finding *m)
{
	m->examples = ARENA_NEW_N(arena, Ingero__V1__ExampleCall *, FINDING_CALLS_MAX);
	if (!m->examples)
		return false;
	for (size_t i = 0; i < f->n_calls; i++) {
		const struct finding_call *call = &f->call[i];
		Ingero__V1__ExampleCall *e = m->examples[i] = ARENA_NEW(arena, Ingero__V1__ExampleCall);
		char id[CALL_ID_BYTES] = "";

		if (!e)
			return false;
		ingero__v1__example_call__init(e);
		if (boot)
			call_id_format(&(struct call_id){ .boot = boot, .start_ns = call->start_ns, .tid = call->tid },
				       id);
		e->id = arena_copy_text(arena, id);
		e->timestamp_unix_ns = clock(call->start_ns, data);
		e->duration_ns = call->duration_ns;
		e->tid = call->tid;
		if (!e->id)
			return false;
		m->n_examples++;
	}
	return true;
}

static bool advice_fill(const struct finding *f, struct arena *arena, Ingero__V1__Finding *m)
{
	m->advice = ARENA_NEW_N(arena, char *, FINDING_ADVICE_MAX);
	if (!m->advice)
		return false;
	for (size_t i = 0; i < f->n_advice; i++) {
		m->advice[i] = arena_copy_text(arena, f->advice[i]);
		if (!m->advice[i])
			return false;
		m->n_advice++;
	}
	return true;
}

/* Absent where neither file nor function is known. */
static bool site_fill(const struct finding_site *from, struct arena *arena, Ingero__V1__Finding *m)
{
	if (!from->file[0] && !from->func[0])
		return true;
	m->from = ARENA_NEW(arena, Ingero__V1__Site);
	if (!m->from)
		return false;
	ingero__v1__site__init(m->from);
	m->from->file = arena_copy_name(arena, from->file);
	m->from->func = arena_copy_name(arena, from->func);
	m->from->line = from->line;
	return m->from->file && m->from->func;
}

static void name_hide(Ingero__V1__Finding *message, uint32_t *pid, char *comm)
{
	if (comm[0] && strstr(message->title, comm))
		message->title[0] = '\0';
	if (comm[0])
		comm[0] = '\0';
	*pid = 0;
	message->n_advice = 0;
}

void finding_message_hide(Ingero__V1__Finding *message, finding_may_name_func may_name, void *data)
{
	Ingero__V1__Cause *cause = message->cause;

	if (!cause)
		return;
	if (cause->pid && !may_name(cause->uid, IS_GUARDED(cause), data)) {
		name_hide(message, &cause->pid, cause->comm);
		cause->tid = 0;
		GUARDED_HIDE(cause, INGERO__V1__CAUSE);
		SAME_NAME_TELL(cause, 0, INGERO__V1__CAUSE);
	}
	for (size_t i = 0; i < cause->n_others; i++) {
		Ingero__V1__Culprit *other = cause->others[i];

		if (!other->pid || may_name(other->uid, IS_GUARDED(other), data))
			continue;
		name_hide(message, &other->pid, other->comm);
		GUARDED_HIDE(other, INGERO__V1__CULPRIT);
		SAME_NAME_TELL(other, 0, INGERO__V1__CULPRIT);
	}
	for (size_t i = 0; i < cause->n_chain; i++) {
		Ingero__V1__Waker *by = cause->chain[i]->by;

		if (!by->pid || may_name(by->uid, IS_GUARDED(by), data))
			continue;
		name_hide(message, &by->pid, by->comm);
		by->tid = 0; /* the activity of another user's thread is not recorded */
		GUARDED_HIDE(by, INGERO__V1__WAKER);
	}
}

static void culprit_append(struct culprit_of culprit, uint32_t uid, const Ingero__V1__Finding *message, struct buf *out)
{
	culprit.victim_pid = message->pid;
	culprit.victim_name = message->process_name;
	culprit.is_same_user = uid == message->uid;
	(void)buf_printf(out, " %s", culprit_name(&culprit).text);
}

/* The cause of a finding, and the others that are to blame. */
static struct culprit_one message_culprit(const void *finding, size_t i)
{
	const Ingero__V1__Finding *m = finding;
	const Ingero__V1__Culprit *other = i ? m->cause->others[i - 1] : NULL;

	return (struct culprit_one){ .is_hidden = !(other ? other->pid : m->cause->pid),
				     .group = (other ? other->uid : m->cause->uid) == m->uid };
}

/* Of the user of the process, or of other users. */
static struct culprit_group message_hidden(const Ingero__V1__Finding *m, bool is_same_user)
{
	return culprit_group_of(message_culprit, m, m->cause->n_others + 1, is_same_user);
}

static void hidden_append(const Ingero__V1__Finding *m, bool is_same_user, struct buf *out)
{
	size_t n = message_hidden(m, is_same_user).n;

	(void)buf_printf(out, " %s", culprit_hidden_several(n, is_same_user, NULL).text);
}

void finding_message_cause(const Ingero__V1__Finding *m, struct buf *out)
{
	const Ingero__V1__Cause *cause = m->cause;

	(void)buf_append_text(out, cause && *cause->kind ? cause->kind : m->kind);
	if (!cause || !*cause->words)
		return;
	(void)buf_printf(out, ": %s", cause->words);
	if (!cause->processes)
		return;
	if (cause->pid)
		culprit_append((struct culprit_of){ .pid = cause->pid,
						    .tid = cause->tid,
						    .comm = cause->comm,
						    .same_name = cause->same_name },
			       cause->uid, m, out);
	else
		hidden_append(m, cause->uid == m->uid, out);
	for (size_t i = 0; i < cause->n_others; i++) {
		const Ingero__V1__Culprit *other = cause->others[i];
		bool is_same_user = other->uid == m->uid;

		if (!other->pid && message_hidden(m, is_same_user).first != i + 1)
			continue; /* told with the first */
		(void)buf_append_text(out, ",");
		if (other->pid)
			culprit_append((struct culprit_of){ .pid = other->pid,
							    .comm = other->comm,
							    .same_name = other->same_name },
				       other->uid, m, out);
		else
			hidden_append(m, is_same_user, out);
	}
	if (cause->n_others && cause->processes > 1 + cause->n_others)
		(void)buf_printf(out, " and %zu more", cause->processes - 1 - cause->n_others);
}

Ingero__V1__Finding *finding_to_message(const struct finding *f, uint32_t boot, finding_clock_func clock, void *data,
					struct arena *arena)
{
	Ingero__V1__Finding *m = ARENA_NEW(arena, Ingero__V1__Finding);
	char id[FINDING_ID_TEXT_BYTES];

	if (!m)
		return NULL;
	ingero__v1__finding__init(m);
	(void)snprintf(id, sizeof(id), "%016" PRIx64, f->id);
	m->id = arena_copy_text(arena, id);
	m->kind = arena_copy_text(arena, f->kind);
	m->severity = (char *)finding_severity_to_string(f->severity);
	m->confidence = f->confidence;
	m->pid = f->process.tgid;
	m->process_name = copy_comm(arena, f->process.comm);
	m->uid = f->process.uid;
	if (f->tid) {
		m->tid = f->tid;
		m->tid_told_case = INGERO__V1__FINDING__TID_TOLD_TID;
	}
	if (f->tid && f->tid_lost_ns) {
		m->tid_lost_ns = f->tid_lost_ns;
		m->tid_lost_ns_told_case = INGERO__V1__FINDING__TID_LOST_NS_TOLD_TID_LOST_NS;
	}
	m->start_time_unix_ns = f->process.start_unix_ns;
	m->exec_generation = f->process.exec_gen;
	m->source = (char *)(f->op ? op_layer_to_source(f->op->layer) : "");
	m->op = (char *)(f->op ? f->op->name : "");
	m->start_unix_ns = clock(f->start_ns, data);
	m->end_unix_ns = f->end_ns ? clock(f->end_ns, data) : 0;
	m->present_ns = f->present_ns;
	m->recurrence = f->recurrence;
	m->lost_ns = f->lost_ns;
	m->calls = f->calls;
	m->slow_calls = f->slow_calls;
	m->usual_ns = f->usual_ns;
	m->p99_ns = f->p99_ns;
	m->max_ns = f->max_ns;
	m->cause = cause_message(&f->cause, f->process.tgid, arena);
	m->blame_ns = blame_to_message(f->blame_ns, f->measured, arena);
	m->title = arena_copy_text(arena, f->title);
	if (!m->id || !m->kind || !m->process_name || !m->cause || !m->blame_ns || !m->title)
		return NULL;
	if (program_to_message(&f->process.program, arena, &m->program) < 0)
		return NULL;
	if (!evidence_fill(f, arena, m) || !advice_fill(f, arena, m) || !site_fill(&f->from, arena, m) ||
	    !examples_message(f, boot, clock, data, arena, m))
		return NULL;
	return m;
}

bool finding_message_is_sound(const Ingero__V1__Finding *message)
{
	struct call_id call;

	if (strlen(message->id) != FINDING_ID_TEXT_BYTES - 1 ||
	    strspn(message->id, "0123456789abcdef") != FINDING_ID_TEXT_BYTES - 1)
		return false;
	for (size_t i = 0; i < message->n_examples; i++)
		if (*message->examples[i]->id && call_id_parse(message->examples[i]->id, &call) < 0)
			return false;
	return true;
}
