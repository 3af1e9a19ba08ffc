// SPDX-License-Identifier: Apache-2.0
/*
 * Answers of explain for tests, made by hand: everything one reply points at.
 */
#pragma once

#include <string.h>

#include "../figures.h"
#include "detect/finding_message.h"

#define AT(seconds) ((1769864400ull + (seconds)) * NSEC_PER_SEC) /* 2026-01-31 14:00:00 in Berlin and on */
#define REPLY_MAX 12
#define EVIDENCE_MAX 8

struct reply {
	Ingero__V1__ExplainReply reply;
	Ingero__V1__Window window;
	Ingero__V1__Lost lost;
	Ingero__V1__Session session, *session_list[2];
	Ingero__V1__SystemSample peak;
	Ingero__V1__Finding finding[REPLY_MAX], *finding_list[REPLY_MAX];
	Ingero__V1__Cause cause[REPLY_MAX];
	Ingero__V1__Culprit other[2], *other_list[2];
	Ingero__V1__Blame blame[REPLY_MAX];
	Ingero__V1__Gap gap[REPLY_MAX], *gap_list[REPLY_MAX];
	Ingero__V1__Evidence evidence[EVIDENCE_MAX], *evidence_list[EVIDENCE_MAX];
	Ingero__V1__ExampleCall example[2], *example_list[2];
	char *advice[2];
};

/* Five minutes in which two processes made calls, recorded by session, nothing lost. */
static inline Ingero__V1__ExplainReply *reply_calm(struct reply *r)
{
	memset(r, 0, sizeof(*r));
	r->reply = (Ingero__V1__ExplainReply)INGERO__V1__EXPLAIN_REPLY__INIT;
	r->window = (Ingero__V1__Window)INGERO__V1__WINDOW__INIT;
	r->lost = (Ingero__V1__Lost)INGERO__V1__LOST__INIT;
	r->session = (Ingero__V1__Session)INGERO__V1__SESSION__INIT;
	r->window.from_unix_ns = AT(0);
	r->window.to_unix_ns = AT(300);
	r->window.calls = 422712;
	r->window.processes = 2;
	r->window.events_told_case = INGERO__V1__WINDOW__EVENTS_TOLD_EVENTS;
	r->window.events = 9829;
	r->session.start_unix_ns = AT(0) - 7200 * S;
	r->session.version = figures_text("0.1.0");
	r->session.kernel = figures_text("6.14.0");
	r->session.back_end = figures_text("session");
	r->session.node = figures_text("node-7.example.org");
	r->session_list[0] = &r->session;
	r->reply.window = &r->window;
	r->reply.lost = &r->lost;
	r->reply.sessions = r->session_list;
	r->reply.n_sessions = 1;
	r->reply.findings = r->finding_list;
	r->reply.gaps = r->gap_list;
	r->reply.is_recording = 1;
	return &r->reply;
}

static inline Ingero__V1__Finding *reply_finding(struct reply *r, const char *id, const char *kind,
						 const char *severity, const char *title)
{
	size_t i = r->reply.n_findings++;
	Ingero__V1__Finding *f = &r->finding[i];

	*f = (Ingero__V1__Finding)INGERO__V1__FINDING__INIT;
	f->id = figures_text(id);
	f->kind = figures_text(kind);
	f->severity = figures_text(severity);
	f->title = figures_text(title);
	f->confidence = 1;
	f->pid = 4711;
	f->process_name = figures_text("python");
	f->start_unix_ns = AT(171);
	r->finding_list[i] = f;
	return f;
}

static inline void reply_cause(struct reply *r, Ingero__V1__Finding *f, const char *kind, uint32_t pid,
			       const char *comm, double share)
{
	Ingero__V1__Cause *cause = &r->cause[r->reply.n_findings - 1];

	*cause = (Ingero__V1__Cause)INGERO__V1__CAUSE__INIT;
	cause->kind = figures_text(kind);
	cause->pid = pid;
	cause->comm = figures_text(comm);
	cause->share = share;
	cause->processes = pid != 0 || share < 1; /* as if hidden */
	finding_message_words(cause, f->pid);
	f->cause = cause;
}

/* Of several that are to blame, one more beside the cause of the last finding. */
static inline void reply_other(struct reply *r, uint32_t pid, uint32_t uid, const char *comm, double share)
{
	Ingero__V1__Cause *cause = &r->cause[r->reply.n_findings - 1];
	Ingero__V1__Culprit *other = &r->other[cause->n_others];

	*other = (Ingero__V1__Culprit)INGERO__V1__CULPRIT__INIT;
	other->pid = pid;
	other->uid = uid;
	other->comm = figures_text(comm);
	other->share = share;
	r->other_list[cause->n_others++] = other;
	cause->others = r->other_list;
}

static inline void reply_gap(struct reply *r, uint64_t from_s, uint64_t to_s, const char *reason, uint64_t count)
{
	Ingero__V1__Gap *gap = &r->gap[r->reply.n_gaps];

	*gap = (Ingero__V1__Gap)INGERO__V1__GAP__INIT;
	gap->from_unix_ns = AT(from_s);
	gap->to_unix_ns = AT(to_s);
	gap->reason = figures_text(reason);
	gap->count = count;
	r->gap_list[r->reply.n_gaps++] = gap;
}

/* Of one finding. */
static inline void reply_evidence(struct reply *r, Ingero__V1__Finding *f, const char *name, double value,
				  const char *unit)
{
	Ingero__V1__Evidence *evidence = &r->evidence[f->n_evidence];

	*evidence = (Ingero__V1__Evidence)INGERO__V1__EVIDENCE__INIT;
	evidence->name = figures_text(name);
	evidence->value = value;
	evidence->unit = figures_text(unit);
	r->evidence_list[f->n_evidence++] = evidence;
	f->evidence = r->evidence_list;
}

/* The example of the manner: a hog on the CPU of a training process. */
static inline Ingero__V1__ExplainReply *reply_hog(struct reply *r)
{
	uint64_t ns[BLAME_VIEW_COUNT] = {
		[BLAME_VIEW_ON_CPU] = 2500 * MS, [BLAME_VIEW_RUNNABLE] = 18400 * MS, [BLAME_VIEW_DEVICE] = 6600 * MS
	};
	Ingero__V1__Finding *f;

	(void)reply_calm(r);
	f = reply_finding(r, "8f3a2c0000000001", "cpu_contention", "HIGH", "cudaStreamSynchronize waited for the CPU");
	f->op = figures_text("cudaStreamSynchronize");
	f->present_ns = 60 * S;
	f->lost_ns = 18400 * MS;
	f->calls = 9829;
	f->slow_calls = 213;
	f->usual_ns = 1200 * US;
	f->p99_ns = 142 * MS;
	f->max_ns = 143 * MS;
	f->blame_ns = figures_blame(&r->blame[0], ns);
	reply_cause(r, f, "cpu_contention", 6603, "logrotate", 0.88);
	r->advice[0] = figures_text("renice -n 19 -p $(ls /proc/6603/task)");
	r->advice[1] =
		figures_text("or move it: taskset -acp CPUS 6603, with CPUS of those that 'taskset -cp 6603' shows");
	f->advice = r->advice;
	f->n_advice = 2;
	reply_evidence(r, f, "runnable_ns", 18.4e9, "ns");
	reply_evidence(r, f, "runnable_ratio", 0.67, "ratio");
	r->example[0] = (Ingero__V1__ExampleCall)INGERO__V1__EXAMPLE_CALL__INIT;
	r->example[1] = r->example[0];
	r->example[0].id = figures_text("1.7301223498.4712");
	r->example[0].timestamp_unix_ns = AT(172);
	r->example[0].duration_ns = 143 * MS;
	r->example[0].tid = 4712;
	r->example[1].timestamp_unix_ns = AT(173);
	r->example[1].duration_ns = 90 * MS;
	r->example[1].tid = 4713;
	r->example_list[0] = &r->example[0];
	r->example_list[1] = &r->example[1];
	f->examples = r->example_list;
	f->n_examples = 2;
	r->peak = (Ingero__V1__SystemSample)INGERO__V1__SYSTEM_SAMPLE__INIT;
	r->peak.cpu_ratio = 0.78;
	r->peak.load_1min = 6.1;
	r->peak.memory_bytes = 64ull << 30;
	r->peak.available_bytes = 38ull << 30;
	r->peak.has_pressure = 1;
	r->peak.pressure_cpu = 0.31;
	r->reply.system_peak = &r->peak;
	return &r->reply;
}
