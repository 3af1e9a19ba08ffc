// SPDX-License-Identifier: Apache-2.0
/* Tables of findings: findings, with all data; and causal_chains, with the columns of Ingero's table of that name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_text.h"
#include "archive/job.h"
#include "archive/foreign/ingero_names.h"
#include "archive/tables/table_list.h"
#include "detect/finding_message.h"

struct finding_list {
	struct table_cursor *cursor;
	struct table_list *list;
};

static int findings_walk(struct table_cursor *c, read_finding_func func)
{
	struct finding_list l = { .cursor = c, .list = list_new(c) };

	return l.list ? store_reader_findings(c->job->reader, c->limits.from_unix_ns, c->limits.to_unix_ns, func, &l)
		      : -ENOMEM;
}

static void list_buf(struct table_list *list, struct buf *text)
{
	if (text->failed)
		list->error = -ENOMEM;
	list_text(list, buf_text(text));
}

static void advice_add(struct table_list *list, const Ingero__V1__Finding *f)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	buf_append_text(&text, "[");
	for (size_t i = 0; i < f->n_advice; i++) {
		buf_append_text(&text, i ? "," : "");
		json_text_add(&text, f->advice[i]);
	}
	buf_append_text(&text, "]");
	list_buf(list, &text);
}

static void evidence_column_add(struct table_list *list, const Ingero__V1__Finding *f)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	buf_append_text(&text, "[");
	for (size_t i = 0; i < f->n_evidence; i++) {
		buf_append_text(&text, i ? ",{\"name\":" : "{\"name\":");
		json_text_add(&text, f->evidence[i]->name);
		buf_printf(&text, ",\"value\":%.17g,\"unit\":", f->evidence[i]->value);
		json_text_add(&text, f->evidence[i]->unit);
		buf_append_text(&text, "}");
	}
	buf_append_text(&text, "]");
	list_buf(list, &text);
}

/* ---- findings ---- */

/* Name, type, value, comparison, description. */
#define FINDINGS(C)                                                                                                    \
	C(id, TEXT, list_text(list, f->id), NONE, "id for 'ingero explain ID'")                                        \
	C(kind, TEXT, list_text(list, f->kind), NONE, "the detector's name")                                           \
	C(severity, TEXT, list_text(list, f->severity), NONE, "LOW, MEDIUM, HIGH, CRITICAL: the worst so far")         \
	C(confidence, REAL, list_real(list, f->confidence), NONE, "0 to 1")                                            \
	C(title, TEXT, list_text(list, f->title), NONE, "a headline")                                                  \
	C(pid, INTEGER, list_i64(list, f->pid), PID, "process")                                                        \
	C(tid, INTEGER, list_known_u64(list, f->tid_told_case ? f->tid : 0), NONE,                                     \
	  "thread that lost half of lost_ns or more; NULL: several did, or it is not known")                           \
	C(tid_lost_ns, INTEGER, list_known_u64(list, f->tid_lost_ns_told_case ? f->tid_lost_ns : 0), NONE,             \
	  "time that this thread lost itself: lost_ns sums the worst thread of each second; NULL: not known")          \
	C(start_time, INTEGER, list_u64(list, f->start_time_unix_ns), NONE, "start of the process, ns since 1970")     \
	C(exec_generation, INTEGER, list_i64(list, f->exec_generation), NONE,                                          \
	  "number of earlier exec calls of the process")                                                               \
	C(comm, TEXT, list_text(list, f->process_name), NONE, "name of the process")                                   \
	C(uid, INTEGER, list_i64(list, f->uid), UID, "owner of the process")                                           \
	C(source_name, TEXT, list_text(list, f->source), NONE, "cuda, driver, ...; empty: no single operation")        \
	C(op_name, TEXT, list_text(list, f->op), OP_NAME, "operation that lost most")                                  \
	C(started_at, INTEGER, list_u64(list, f->start_unix_ns), NONE, "ns since 1970")                                \
	C(ended_at, INTEGER, list_known_u64(list, f->end_unix_ns), NONE, "ns since 1970; NULL: not ended")             \
	C(present_ns, INTEGER, list_u64(list, f->present_ns), NONE, "time in which the problem was present")           \
	C(recurrence, INTEGER, list_i64(list, f->recurrence), NONE, "number of times that the problem returned")       \
	C(lost_ns, INTEGER, list_u64(list, f->lost_ns), NONE, "time lost")                                             \
	C(calls, INTEGER, list_u64(list, f->calls), NONE, "calls of the operation while the problem was present")      \
	C(slow_calls, INTEGER, list_u64(list, f->slow_calls), NONE, "failed or slow calls among these")                \
	C(usual_ns, INTEGER, list_u64(list, f->usual_ns), NONE, "median duration without the problem; 0: unknown")     \
	C(p99_ns, INTEGER, list_u64(list, f->p99_ns), NONE, "99th percentile while the problem was present")           \
	C(max_ns, INTEGER, list_u64(list, f->max_ns), NONE, "the longest call")                                        \
	C(cause_kind, TEXT, list_text(list, cause->kind), NONE, "kind of the cause")                                   \
	C(cause_pid, INTEGER, list_i64(list, cause->pid), NONE,                                                        \
	  "process that is the cause; of several the one with the largest share; 0: unknown, or hidden")               \
	C(cause_comm, TEXT, list_text(list, cause->comm), NONE, "name of that process")                                \
	C(cause_uid, INTEGER, list_i64(list, cause->uid), NONE, "owner of that process")                               \
	C(cause_share, REAL, list_real(list, cause->share), NONE, "share of lost_ns, 0 to 1")                          \
	C(cause_same_name, INTEGER, list_known_u64(list, cause->same_name_told_case ? cause->same_name : 0), NONE,     \
	  "number of processes of this name and owner whose share it is; NULL: of one, or hidden")                     \
	C(cause_tid, INTEGER, list_i64(list, cause->tid), NONE,                                                        \
	  "thread of that process that ended most of the waits, or held the lock; 0: several, or not known")           \
	C(cause_resource, TEXT, list_known_text(list, cause->resource ? cause->resource->name : ""), NONE,             \
	  "what the longest wait was for: a file's path, ...; NULL: not known")                                        \
	C(advice, TEXT, advice_add(list, f), NONE, "JSON array of texts")                                              \
	C(evidence, TEXT, evidence_column_add(list, f), NONE, "JSON array of name, value, unit")                       \
	C(from_file, TEXT, list_known_text(list, f->from ? f->from->file : ""), NONE,                                  \
	  "source file of the calls that lost most, or of the waits; NULL here and below: not known")                  \
	C(from_func, TEXT, list_known_text(list, f->from ? f->from->func : ""), NONE, "function in it")                \
	C(from_line, INTEGER, list_known_u64(list, f->from ? f->from->line : 0), NONE, "line in it")                   \
	C(node, TEXT, list_text(list, f->node), NODE, "name of the machine; empty: not known")

static const struct table_column findings_columns[] = { FINDINGS(LIST_COLUMN)
#define BLAME(id, field, label, phrase, remedy) BLAME_COLUMN(field, phrase, 0, "the calls or the thread concerned")
#include "bpf/blame.def"
#undef BLAME
};

static void blame_add(struct table_list *list, const Ingero__V1__Blame *b)
{
#define BLAME(id, name, label, phrase, remedy)                                                                         \
	if (b && b->has_##name)                                                                                        \
		list_u64(list, b->name);                                                                               \
	else                                                                                                           \
		list_null(list);
#include "bpf/blame.def"
#undef BLAME
}

static int finding_row_add(const Ingero__V1__Finding *f, void *data)
{
	struct finding_list *l = data;
	struct table_list *list = l->list;
	static const Ingero__V1__Cause none = INGERO__V1__CAUSE__INIT;
	const Ingero__V1__Cause *cause = f->cause ? f->cause : &none;

	if (!table_wants(&l->cursor->limits, f->pid, f->uid))
		return 0;
	FINDINGS(LIST_VALUE)
	blame_add(list, f->blame_ns);
	return list_row(list);
}

static int findings_start(struct table_cursor *c)
{
	return findings_walk(c, finding_row_add);
}

LIST_TABLE(findings, findings, 100, "results of the detectors");

/* ---- causal_chains ---- */

/* Name, type, value, comparison, description. */
#define CHAINS(C)                                                                                                      \
	C(id, TEXT, list_text(list, f->id), NONE, "findings.id")                                                       \
	C(detected_at, INTEGER, list_u64(list, f->start_unix_ns), NONE, "ns since 1970")                               \
	C(severity, TEXT, list_text(list, f->severity), NONE, "as in findings")                                        \
	C(summary, TEXT, list_text(list, f->title), NONE, "findings.title")                                            \
	C(root_cause, TEXT, list_buf(list, &cause), NONE, "problem and process")                                       \
	C(explanation, TEXT, list_buf(list, &text), NONE, "confidence and lost time")                                  \
	C(recommendations, TEXT, advice_add(list, f), NONE, "JSON array")                                              \
	C(cuda_op, TEXT, list_text(list, f->op), OP_NAME, "operation that lost most")                                  \
	C(cuda_p99_us, INTEGER, list_u64(list, f->p99_ns / 1000), NONE, "microseconds")                                \
	C(cuda_p50_us, INTEGER, list_u64(list, f->usual_ns / 1000), NONE, "microseconds, without the problem")         \
	C(tail_ratio, REAL, list_real(list, f->usual_ns ? (double)f->p99_ns / (double)f->usual_ns : 0), NONE,          \
	  "cuda_p99_us / cuda_p50_us")                                                                                 \
	C(timeline, TEXT, timeline_add(list, f), NONE,                                                                 \
	  "JSON array of layer, op, detail, dur_us: the evidence, and the symptom last")                               \
	C(node, TEXT, list_text(list, f->node_told_case ? f->node : ""), NONE,                                         \
	  "name of the machine if rows are of several machines; else empty")                                           \
	C(kind, TEXT, list_text(list, f->kind), NONE, "as in findings")                                                \
	C(pid, INTEGER, list_i64(list, f->pid), PID, "as in findings")                                                 \
	C(ended_at, INTEGER, list_known_u64(list, f->end_unix_ns), NONE, "as in findings")

static const struct table_column chains_columns[] = { CHAINS(LIST_COLUMN) };

static void layer_add(struct buf *out, const char *layer, const char *op, const char *detail, double ns)
{
	buf_printf(out, "%s{\"layer\":\"%s\",\"op\":", out->n > 1 ? "," : "", layer);
	json_text_add(out, op);
	buf_append_text(out, ",\"detail\":");
	json_text_add(out, detail);
	if (ns >= 1000 && ns < 1e18)
		buf_printf(out, ",\"dur_us\":%lld", (long long)(ns / 1000));
	buf_append_text(out, "}");
}

/* The symptom of a finding without an operation is labelled as one of CUDA. */
static const char *source_label(const char *source)
{
	for (size_t i = 0; i < ingero_source_count; i++)
		if (strcmp(ingero_sources[i].name, source) == 0)
			return ingero_sources[i].label;
	return "CUDA";
}

static void timeline_add(struct table_list *list, const Ingero__V1__Finding *f)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	char detail[128];

	buf_append_text(&out, "[");
	for (size_t i = 0; i < f->n_evidence; i++) {
		const Ingero__V1__Evidence *e = f->evidence[i];

		(void)snprintf(detail, sizeof(detail), "%.6g %s", e->value, e->unit);
		layer_add(&out, "HOST", e->name, detail, strcmp(e->unit, "ns") == 0 ? e->value : 0);
	}
	(void)snprintf(detail, sizeof(detail), "%llu slow of %llu calls", (unsigned long long)f->slow_calls,
		       (unsigned long long)f->calls);
	layer_add(&out, source_label(f->source), *f->op ? f->op : "all", detail, (double)f->p99_ns);
	buf_append_text(&out, "]");
	list_buf(list, &out);
}

static int chain_add(const Ingero__V1__Finding *f, void *data)
{
	struct finding_list *l = data;
	struct table_list *list = l->list;
	CLEANUP(buf_done) struct buf cause = BUF_INIT, text = BUF_INIT;

	if (!table_wants(&l->cursor->limits, f->pid, f->uid))
		return 0;
	finding_message_cause(f, &cause);
	buf_printf(&text, "%s; confidence %.2f; lost %.6f s", f->title, f->confidence, (double)f->lost_ns / 1e9);
	CHAINS(LIST_VALUE)
	return list_row(list);
}

static int chains_start(struct table_cursor *c)
{
	return findings_walk(c, chain_add);
}

LIST_TABLE(causal_chains, chains, 100, "findings, with the columns of Ingero's table of this name");
