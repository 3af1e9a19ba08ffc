// SPDX-License-Identifier: Apache-2.0
/*
 * Findings: all there is of them, and under the names of Ingero's table of chains.
 */
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

static bool is_wanted(const struct table_limits *limits, const Ingero__V1__Finding *f)
{
	return (!limits->has_pid || f->pid == limits->pid) && (!limits->has_uid || f->uid == limits->uid);
}

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

static void end_add(struct table_list *list, const Ingero__V1__Finding *f)
{
	if (f->end_unix_ns)
		list_u64(list, f->end_unix_ns);
	else
		list_null(list);
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

static void evidence_add(struct table_list *list, const Ingero__V1__Finding *f)
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

static const struct table_column findings_columns[] = {
	COLUMN("id", "TEXT", "as 'ingero explain ID' takes it"),
	COLUMN("kind", "TEXT", "the detector's name"),
	COLUMN("severity", "TEXT", "LOW, MEDIUM, HIGH, CRITICAL: the worst so far"),
	COLUMN("confidence", "REAL", "0 to 1"),
	COLUMN("title", "TEXT", "a headline"),
	COLUMN("pid", "INTEGER", "process", .push = PUSH_PID),
	COLUMN("start_time", "INTEGER", "start of the process, ns since 1970"),
	COLUMN("exec_generation", "INTEGER", "programs that the process had become before"),
	COLUMN("comm", "TEXT", "name of the process"),
	COLUMN("uid", "INTEGER", "owner of the process", .push = PUSH_UID),
	COLUMN("source_name", "TEXT", "cuda, driver, ...; empty: no single operation"),
	COLUMN("op_name", "TEXT", "operation that lost most", .push = PUSH_OP_NAME),
	COLUMN("started_at", "INTEGER", "ns since 1970"),
	COLUMN("ended_at", "INTEGER", "ns since 1970; NULL: goes on"),
	COLUMN("present_ns", "INTEGER", "time in which it was seen"),
	COLUMN("recurrence", "INTEGER", "times it came back"),
	COLUMN("lost_ns", "INTEGER", "what it cost"),
	COLUMN("calls", "INTEGER", "of the operation, while it was present"),
	COLUMN("slow_calls", "INTEGER", "of these"),
	COLUMN("usual_ns", "INTEGER", "median without it; 0: not known"),
	COLUMN("p99_ns", "INTEGER", "while it was present"),
	COLUMN("max_ns", "INTEGER", "the longest call"),
	COLUMN("cause_kind", "TEXT", "what is to blame"),
	COLUMN("cause_pid", "INTEGER", "of several: the largest; 0: none that is known, or not to be known"),
	COLUMN("cause_comm", "TEXT", "its name"),
	COLUMN("cause_uid", "INTEGER", "its owner"),
	COLUMN("cause_share", "REAL", "its share of lost_ns"),
	COLUMN("advice", "TEXT", "JSON array of texts"),
	COLUMN("evidence", "TEXT", "JSON array of name, value, unit"),
#define BLAME(id, field, label, phrase, remedy) BLAME_COLUMN(field, phrase, 0, "the calls concerned")
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

static int finding_add(const Ingero__V1__Finding *f, void *data)
{
	struct finding_list *l = data;
	struct table_list *list = l->list;
	static const Ingero__V1__Cause none = INGERO__V1__CAUSE__INIT;
	const Ingero__V1__Cause *cause = f->cause ? f->cause : &none;

	if (!is_wanted(&l->cursor->limits, f))
		return 0;
	list_text(list, f->id);
	list_text(list, f->kind);
	list_text(list, f->severity);
	list_real(list, f->confidence);
	list_text(list, f->title);
	list_i64(list, f->pid);
	list_u64(list, f->start_time_unix_ns);
	list_i64(list, f->exec_generation);
	list_text(list, f->process_name);
	list_i64(list, f->uid);
	list_text(list, f->source);
	list_text(list, f->op);
	list_u64(list, f->start_unix_ns);
	end_add(list, f);
	list_u64(list, f->present_ns);
	list_i64(list, f->recurrence);
	list_u64(list, f->lost_ns);
	list_u64(list, f->calls);
	list_u64(list, f->slow_calls);
	list_u64(list, f->usual_ns);
	list_u64(list, f->p99_ns);
	list_u64(list, f->max_ns);
	list_text(list, cause->kind);
	list_i64(list, cause->pid);
	list_text(list, cause->comm);
	list_i64(list, cause->uid);
	list_real(list, cause->share);
	advice_add(list, f);
	evidence_add(list, f);
	blame_add(list, f->blame_ns);
	return list_row(list);
}

static int findings_start(struct table_cursor *c)
{
	return findings_walk(c, finding_add);
}

const struct table table_findings = {
	.name = "findings",
	.what = "what detectors said",
	.columns = findings_columns,
	.n_columns = ARRAY_SIZE(findings_columns),
	.rows = 100,
	.start = findings_start,
	.next = list_next,
	.column = list_column,
	.stop = list_stop,
};

/* ---- under Ingero's names ---- */

static const struct table_column chains_columns[] = {
	COLUMN("id", "TEXT", "findings.id"),
	COLUMN("detected_at", "INTEGER", "ns since 1970"),
	COLUMN("severity", "TEXT", "as in findings"),
	COLUMN("summary", "TEXT", "findings.title"),
	COLUMN("root_cause", "TEXT", "what and who"),
	COLUMN("explanation", "TEXT", "how sure, and what it cost"),
	COLUMN("recommendations", "TEXT", "JSON array"),
	COLUMN("cuda_op", "TEXT", "operation that lost most", .push = PUSH_OP_NAME),
	COLUMN("cuda_p99_us", "INTEGER", "microseconds"),
	COLUMN("cuda_p50_us", "INTEGER", "microseconds, without it"),
	COLUMN("tail_ratio", "REAL", "of the two"),
	COLUMN("timeline", "TEXT", "JSON array of layer, op, detail, dur_us: the evidence, and the symptom last"),
	COLUMN("node", "TEXT", "always empty"),
	COLUMN("kind", "TEXT", "as in findings"),
	COLUMN("pid", "INTEGER", "as in findings", .push = PUSH_PID),
	COLUMN("ended_at", "INTEGER", "as in findings"),
};

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

/* Of a finding about no operation: the symptom is one of CUDA. */
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

	if (!is_wanted(&l->cursor->limits, f))
		return 0;
	finding_message_cause(f, &cause);
	buf_printf(&text, "%s; confidence %.2f; lost %.6f s", f->title, f->confidence, (double)f->lost_ns / 1e9);
	list_text(list, f->id);
	list_u64(list, f->start_unix_ns);
	list_text(list, f->severity);
	list_text(list, f->title);
	list_buf(list, &cause);
	list_buf(list, &text);
	advice_add(list, f);
	list_text(list, f->op);
	list_u64(list, f->p99_ns / 1000);
	list_u64(list, f->usual_ns / 1000);
	list_real(list, f->usual_ns ? (double)f->p99_ns / (double)f->usual_ns : 0);
	timeline_add(list, f);
	list_text(list, "");
	list_text(list, f->kind);
	list_i64(list, f->pid);
	end_add(list, f);
	return list_row(list);
}

static int chains_start(struct table_cursor *c)
{
	return findings_walk(c, chain_add);
}

const struct table table_causal_chains = {
	.name = "causal_chains",
	.what = "the same under the names that Ingero gives them",
	.columns = chains_columns,
	.n_columns = ARRAY_SIZE(chains_columns),
	.rows = 100,
	.start = chains_start,
	.next = list_next,
	.column = list_column,
	.stop = list_stop,
};
