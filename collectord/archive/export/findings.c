// SPDX-License-Identifier: Apache-2.0
/*
 * Findings as rows of Ingero's table of chains: one each, with the measured evidence as its timeline.
 */
#include <sqlite3.h>
#include <string.h>

#include "base/buf.h"
#include "archive/export/tables.h"
#include "archive/foreign/ingero_names.h"
#include "detect/finding_message.h"

void export_json_text(struct buf *out, const char *text)
{
	buf_append_text(out, "\"");
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			buf_printf(out, "\\%c", *c);
		else if ((unsigned char)*c < ' ' || *c == 0x7f)
			buf_printf(out, "\\u%04x", (unsigned char)*c);
		else
			buf_append(out, c, 1);
	}
	buf_append_text(out, "\"");
}

static void layer_add(struct buf *out, const char *layer, const char *op, const char *detail, double ns)
{
	buf_printf(out, "%s{\"layer\":\"%s\",\"op\":", out->n > 1 ? "," : "", layer);
	export_json_text(out, op);
	buf_append_text(out, ",\"detail\":");
	export_json_text(out, detail);
	if (ns >= 1000 && ns < 1e18)
		buf_printf(out, ",\"dur_us\":%lld", (long long)(ns / 1000));
	buf_append_text(out, "}");
}

/* A finding of no single operation is one of the runtime's calls. */
static const char *label_of(const char *source)
{
	for (size_t i = 0; i < ingero_source_count; i++)
		if (!strcmp(ingero_sources[i].name, source))
			return ingero_sources[i].label;
	return "CUDA";
}

/* What was measured, and the symptom last. */
static void timeline_make(struct buf *out, const Ingero__V1__Finding *f)
{
	char detail[128];

	buf_append_text(out, "[");
	for (size_t i = 0; i < f->n_evidence; i++) {
		const Ingero__V1__Evidence *e = f->evidence[i];
		bool is_time = !strcmp(e->unit, "ns");

		snprintf(detail, sizeof(detail), "%.6g %s", e->value, e->unit);
		layer_add(out, "HOST", e->name, detail, is_time ? e->value : 0);
	}
	snprintf(detail, sizeof(detail), "%llu slow of %llu calls", (unsigned long long)f->slow_calls,
		 (unsigned long long)f->calls);
	layer_add(out, label_of(f->source), *f->op ? f->op : "all", detail, (double)f->p99_ns);
	buf_append_text(out, "]");
}

static void advice_make(struct buf *out, const Ingero__V1__Finding *f)
{
	buf_append_text(out, "[");
	for (size_t i = 0; i < f->n_advice; i++) {
		if (i)
			buf_append_text(out, ",");
		export_json_text(out, f->advice[i]);
	}
	buf_append_text(out, "]");
}

static const char *short_name(struct export *e, const Ingero__V1__Finding *f)
{
	uint32_t ids[4];
	size_t n = store_reader_find_op(e->reader, f->op, ids, ARRAY_SIZE(ids));
	const struct read_op *op = n ? store_reader_op(e->reader, ids[0]) : NULL;

	return op ? op->short_name : f->op;
}

static int finding_write(const Ingero__V1__Finding *f, void *data)
{
	CLEANUP(buf_done) struct buf id = BUF_INIT, cause = BUF_INIT, text = BUF_INIT, advice = BUF_INIT;
	CLEANUP(buf_done) struct buf timeline = BUF_INIT;
	struct export *e = data;

	if (f->pid && !read_pid_is_wanted(e->request.pids, e->request.n_pids, f->pid))
		return 0;
	buf_printf(&id, "%s:%s-%s", e->node, f->kind, f->id);
	finding_message_cause(f, &cause);
	buf_printf(&text, "%s; confidence %.2f; lost %.6f s", f->title, f->confidence, (double)f->lost_ns / 1e9);
	advice_make(&advice, f);
	timeline_make(&timeline, f);
	if (id.failed || cause.failed || text.failed || advice.failed || timeline.failed)
		return -ENOMEM;

	export_bind_text(e, 1, buf_text(&id));
	export_bind_u64(e, 2, f->start_unix_ns);
	export_bind_text(e, 3, f->severity);
	export_bind_text(e, 4, f->title);
	export_bind_text(e, 5, buf_text(&cause));
	export_bind_text(e, 6, buf_text(&text));
	export_bind_text(e, 7, buf_text(&advice));
	export_bind_text(e, 8, short_name(e, f));
	export_bind_u64(e, 9, f->p99_ns / 1000);
	export_bind_u64(e, 10, f->usual_ns / 1000);
	sqlite3_bind_double(e->statement, 11, f->usual_ns ? (double)f->p99_ns / (double)f->usual_ns : 0);
	export_bind_text(e, 12, buf_text(&timeline));
	export_bind_text(e, 13, e->node);
	return export_step(e);
}

int export_findings(struct export *e)
{
	int r = export_prepare(e, "INSERT OR REPLACE INTO causal_chains VALUES"
				  " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");

	return r < 0 ? r : store_reader_findings(e->reader, e->from_unix_ns, e->to_unix_ns, finding_write, e);
}
