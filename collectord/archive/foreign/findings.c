// SPDX-License-Identifier: Apache-2.0
/*
 * Stored chains of a foreign file as findings.
 *
 * A chain is based on coincidence in time: an operation was slow in the second of the detection, and something else
 * happened within the same ten seconds. The findings made of chains therefore have a low confidence, and their cause
 * has the kind "coincidence". Consecutive rows with the same kind, operation and node become one finding. The ids of
 * the rows include the severity; the identity of the finding does not.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "detect/finding.h"
#include "events/op.h"
#include "archive/foreign/ingero_names.h"
#include "archive/foreign/json.h"

/* Guess: coincidence shows only that a cause is possible. */
#define CHAIN_CONFIDENCE 0.2
/* Ingero writes a chain each second while the problem lasts. After a longer pause the problem has returned. */
#define CHAIN_QUIET_NS (5 * NSEC_PER_SEC)
/* As for our own findings: a problem that returns after a minute is a new finding. */
#define CHAIN_AGAIN_NS (60 * NSEC_PER_SEC)
#define CHAINS_MAX 16384 /* maximum findings; later ones are left out */
#define CHAIN_EVIDENCE_MAX (FINDING_EVIDENCE_MAX)

/*
 * Kinds of chains, by a prefix of the id after the node. Older files number their chains: then a text in the summary is
 * searched.
 */
static const struct {
	const char *id, *summary, *kind;
} kinds[] = {
	{ "tail-", "(", "tail_latency" },
	{ "drop-", "throughput dropped", "throughput_drop" },
	{ "oom", "OOM", "oom" },
	{ "tcp-retransmit-", "TCP", "tcp_retransmit" },
	{ "pod-restart", "pod restart", "pod_restart" },
	{ "pod-eviction", "pod evict", "pod_eviction" },
	{ "noisy-neighbor-", "noisy", "noisy_neighbour" },
	{ "graph-capture-oom", "", "graph_capture_oom" },
	{ "graph-launch-cpu-contention", "", "graph_launch_contention" },
	{ "graph-freq-anomaly-", "", "graph_launch_rate" },
	{ "graph-never-launched-", "", "graph_never_launched" },
	{ "graph-capture-warmup", "", "graph_capture_warmup" },
};

struct chain {
	Ingero__V1__Finding message;
	Ingero__V1__Cause cause;
	Ingero__V1__Evidence evidence[CHAIN_EVIDENCE_MAX];
	Ingero__V1__Evidence *evidences[CHAIN_EVIDENCE_MAX];
	char *advice[FINDING_ADVICE_MAX];
	const char *node;
	struct foreign_op *op; /* NULL: none, or unknown */
	uint32_t process;      /* row of table process; 0: unknown */
	uint64_t last_unix_ns;
	uint64_t n_rows;
	enum finding_severity severity;
};

struct chains {
	struct foreign_file *file;
	struct arena arena;
	ARRAY(struct chain *) items; /* in order of detection */
	struct sqlite3_stmt *statement;
	char text[65536]; /* JSON of one column */
	struct foreign_json_element element;
	char no_text[1];
};

static void chains_free(struct chains *c)
{
	if (!c)
		return;
	ARRAY_DONE(&c->items);
	arena_done(&c->arena);
	sqlite3_finalize(c->statement);
	free(c);
}

static void chains_freep(struct chains **c)
{
	chains_free(*c);
}

enum chain_column {
	CHAIN_ID,
	CHAIN_DETECTED_AT,
	CHAIN_SEVERITY,
	CHAIN_SUMMARY,
	CHAIN_CAUSES,
	CHAIN_ADVICE,
	CHAIN_OP,
	CHAIN_P99_US,
	CHAIN_P50_US,
	CHAIN_RATIO,
	CHAIN_TIMELINE,
	CHAIN_NODE,
};
#define CHAIN_COLUMNS                                                                                                  \
	"id='' detected_at=NULL severity='' summary='' root_cause='' recommendations='' cuda_op='' "                   \
	"cuda_p99_us cuda_p50_us tail_ratio timeline='' node=''"

static char *chain_text(struct chains *c, enum chain_column column)
{
	char text[FOREIGN_TEXT_BYTES];

	foreign_text(c->statement, (int)column, text, sizeof(text));
	return *text ? arena_copy_text(&c->arena, text) : c->no_text;
}

static enum finding_severity severity_parse(const char *text)
{
	for (int s = FINDING_LOW; s <= FINDING_CRITICAL; s++)
		if (!strcmp(text, finding_severity_to_string((enum finding_severity)s)))
			return (enum finding_severity)s;
	return FINDING_LOW;
}

static const char *kind_of(const char *id, const char *node, const char *summary, const char *op)
{
	size_t n_node = strlen(node);

	if (n_node && !strncmp(id, node, n_node) && id[n_node] == ':')
		id += n_node + 1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(id, kinds[i].id, strlen(kinds[i].id)))
			return kinds[i].kind;
	/* Tail latency comes last: other summaries have a bracket, too. */
	for (size_t i = 1; i < ARRAY_SIZE(kinds); i++)
		if (*kinds[i].summary && strstr(summary, kinds[i].summary))
			return kinds[i].kind;
	return *op ? kinds[0].kind : "chain";
}

/* "cuMemAlloc p99=51ms (410.6x p50) — heavy block I/O": the part after the dash happened at the same time. */
static char *title_make(struct chains *c, const char *summary, const char *causes)
{
	CLEANUP(buf_done) struct buf title = BUF_INIT;
	const char *dash = strstr(summary, " — ");

	if (!dash || !*causes)
		return arena_copy_text(&c->arena, summary);
	buf_append(&title, summary, (size_t)(dash - summary));
	buf_printf(&title, "; at the same time: %s", causes);
	return title.failed ? NULL : arena_copy_text(&c->arena, buf_text(&title));
}

static void evidence_add(struct chain *chain, char *name, double value, char *unit)
{
	Ingero__V1__Evidence *e = &chain->evidence[chain->message.n_evidence];

	if (!name || chain->message.n_evidence >= CHAIN_EVIDENCE_MAX - 1) /* the last entry is for the number of rows */
		return;
	ingero__v1__evidence__init(e);
	e->name = name;
	e->value = value;
	e->unit = unit;
	chain->evidences[chain->message.n_evidence++] = e;
	chain->message.evidence = chain->evidences;
}

/* Return: name of the source with this label if its operations are calls; else NULL */
static const char *source_of_calls(const char *label)
{
	for (size_t i = 0; i < ingero_source_count; i++)
		for (int layer = OP_LAYER_CALLS; layer < OP_LAYER_CALLS_END; layer++)
			if (!strcmp(ingero_sources[i].label, label) &&
			    !strcmp(ingero_sources[i].name, op_layer_to_source((enum op_layer)layer)))
				return ingero_sources[i].name;
	return NULL;
}

/* Adds the timeline as evidence. Its last entry is the symptom: the layer of that entry is the operation's layer. */
static const char *timeline_read(struct chains *c, struct chain *chain)
{
	struct foreign_json json = { .at = c->text };
	const char *source = "";

	foreign_text(c->statement, CHAIN_TIMELINE, c->text, sizeof(c->text));
	json.end = c->text + strlen(c->text);
	while (foreign_json_next(&json, &c->element) > 0) {
		const char *layer = foreign_json_value(&c->element, "layer");
		double ns = strtod(foreign_json_value(&c->element, "dur_us"), NULL) * 1000;
		char name[FOREIGN_NAME_BYTES];

		const char *of_calls = source_of_calls(layer);
		if (of_calls) {
			source = of_calls;
			continue;
		}
		snprintf(name, sizeof(name), "%.48s_ns", foreign_json_value(&c->element, "op"));
		if (ns > 0 && ns < 1e18)
			evidence_add(chain, arena_copy_text(&c->arena, name), ns, (char *)"ns");
	}
	return source;
}

static int advice_read(struct chains *c, struct chain *chain)
{
	struct foreign_json json = { .at = c->text };

	foreign_text(c->statement, CHAIN_ADVICE, c->text, sizeof(c->text));
	json.end = c->text + strlen(c->text);
	chain->message.n_advice = 0;
	chain->message.advice = chain->advice;
	while (chain->message.n_advice < FINDING_ADVICE_MAX && foreign_json_next(&json, &c->element) > 0) {
		char *text = arena_copy_text(&c->arena, foreign_json_value(&c->element, ""));

		if (!text)
			return -ENOMEM;
		chain->advice[chain->message.n_advice++] = text;
	}
	return 0;
}

/* Sets the operation's name as all other answers have it. */
static void op_name(struct chains *c, struct chain *chain, const char *source, char *op)
{
	chain->message.op = op;
	chain->message.source = (char *)source;
	chain->op = NULL;
	for (size_t i = 0; *op && i < c->file->ops.n; i++) {
		struct foreign_op *known = c->file->ops.items[i];

		if (known->is_call && !strcmp(known->op.short_name, op) &&
		    (!*source || !strcmp(known->op.source, source))) {
			chain->message.op = (char *)known->op.name;
			chain->message.source = (char *)known->op.source;
			chain->op = known;
			return;
		}
	}
}

static uint64_t microseconds(struct chains *c, enum chain_column column)
{
	uint64_t us = 0;

	foreign_u64(c->statement, (int)column, INT64_MAX / 1000, &us);
	return us * 1000;
}

/* Sets the values of the finding from a row; called again for a later row with a higher severity. */
static int chain_row_take(struct chains *c, struct chain *chain)
{
	char *op = chain_text(c, CHAIN_OP), *summary = chain_text(c, CHAIN_SUMMARY),
	     *causes = chain_text(c, CHAIN_CAUSES);
	double ratio = foreign_real(c->statement, CHAIN_RATIO);

	if (!op || !summary || !causes)
		return -ENOMEM;
	chain->message.n_evidence = 0;
	op_name(c, chain, timeline_read(c, chain), op);
	if (ratio > 0)
		evidence_add(chain, (char *)"tail_ratio", ratio, (char *)"ratio");
	chain->message.p99_ns = microseconds(c, CHAIN_P99_US);
	chain->message.usual_ns = microseconds(c, CHAIN_P50_US);
	chain->message.severity = (char *)finding_severity_to_string(chain->severity);
	chain->message.title = title_make(c, summary, causes);
	return chain->message.title ? advice_read(c, chain) : -ENOMEM;
}

static struct chain *chain_new(struct chains *c, const char *kind, const char *node, uint64_t unix_ns)
{
	struct chain *chain = ARENA_NEW(&c->arena, struct chain);

	if (!chain)
		return NULL;
	ingero__v1__finding__init(&chain->message);
	ingero__v1__cause__init(&chain->cause);
	chain->message.kind = (char *)kind;
	chain->message.confidence = CHAIN_CONFIDENCE;
	chain->message.uid = FOREIGN_UID;
	chain->message.cause = &chain->cause;
	chain->message.start_unix_ns = unix_ns;
	chain->cause.kind = (char *)"coincidence";
	chain->node = node;
	chain->last_unix_ns = unix_ns;
	return ARRAY_PUSH(&c->items, chain) < 0 ? NULL : chain;
}

/* Finds the newest finding of this identity. Return: NULL if none, or if its last row is CHAIN_AGAIN_NS ago. */
static struct chain *chain_find(const struct chains *c, const char *kind, const char *op, const char *node,
				uint64_t unix_ns)
{
	for (size_t i = c->items.n; i-- > 0;) {
		struct chain *chain = c->items.items[i];

		if (chain->message.kind == kind && !strcmp(chain->message.op, op) && !strcmp(chain->node, node))
			return unix_ns - chain->last_unix_ns < CHAIN_AGAIN_NS ? chain : NULL;
	}
	return NULL;
}

static int chain_row_add(struct chains *c)
{
	char *id = chain_text(c, CHAIN_ID), *summary = chain_text(c, CHAIN_SUMMARY), *op = chain_text(c, CHAIN_OP),
	     *node = chain_text(c, CHAIN_NODE), *severity_text = chain_text(c, CHAIN_SEVERITY);
	enum finding_severity severity;
	struct chain named, *chain;
	const char *kind;
	uint64_t unix_ns;

	if (!id || !summary || !op || !node || !severity_text)
		return -ENOMEM;
	if (!foreign_u64(c->statement, CHAIN_DETECTED_AT, FOREIGN_TIME_MAX, &unix_ns) || !unix_ns)
		return 0;
	severity = severity_parse(severity_text);
	kind = kind_of(id, node, summary, op);
	op_name(c, &named, "", op);
	chain = chain_find(c, kind, named.message.op, node, unix_ns);
	if (chain && chain->severity >= severity) {
		/* same problem, severity not higher: only its times are updated */
	} else if (!chain && c->items.n >= CHAINS_MAX) {
		return 0;
	} else {
		int r;

		if (!chain)
			chain = chain_new(c, kind, node, unix_ns);
		if (!chain)
			return -ENOMEM;
		chain->severity = severity;
		r = chain_row_take(c, chain);
		if (r < 0)
			return r;
	}
	if (unix_ns - chain->last_unix_ns > CHAIN_QUIET_NS)
		chain->message.recurrence++;
	else
		chain->message.present_ns += unix_ns - chain->last_unix_ns;
	chain->last_unix_ns = unix_ns;
	chain->n_rows++;
	return 0;
}

/* Notes a caller of the operation. Return: whether it is still the only caller */
static bool caller_note(struct foreign_op *op, uint64_t pid)
{
	if (op->only_pid && op->only_pid != pid) {
		op->only_pid = 0;
		return false;
	}
	op->only_pid = (uint32_t)pid;
	return true;
}

static int callers_find(const struct foreign_file *f, struct foreign_op *op)
{
	static const enum foreign_table tables[] = { FOREIGN_EVENTS, FOREIGN_AGGREGATES };
	bool is_one = true;
	int r = 0;

	op->has_callers = true;
	for (size_t i = 0; r == 0 && is_one && i < ARRAY_SIZE(tables); i++) {
		CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
		uint64_t pid;

		if (!foreign_has_column(f, tables[i], "pid") || !foreign_has_column(f, tables[i], "source") ||
		    !foreign_has_column(f, tables[i], "op"))
			continue;
		r = foreign_select(f, tables[i], "pid", "WHERE source = ?1 AND op = ?2 GROUP BY pid LIMIT 2",
				   &statement);
		if (r == 0) {
			SQL_INTS(statement, 1, op->source, op->number);
		}
		while (r == 0 && is_one && (r = foreign_step(statement)) > 0) {
			r = 0;
			if (foreign_u64(statement, 0, INT32_MAX, &pid) && pid)
				is_one = caller_note(op, pid);
		}
	}
	return r;
}

/* Finds the process that Ingero was told to trace. 0: none or several. */
static int filter_find(const struct foreign_file *f, uint32_t *ret_pid)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	char text[FOREIGN_NAME_BYTES];
	uint64_t pid;
	int r;

	*ret_pid = 0;
	if (!foreign_has_column(f, FOREIGN_SESSIONS, "pid_filter") || f->nodes.n > 1)
		return 0;
	r = foreign_select(f, FOREIGN_SESSIONS, "pid_filter=''", "GROUP BY pid_filter LIMIT 2", &statement);
	if (r == 0)
		r = foreign_step(statement);
	if (r > 0 && parse_u64(foreign_text(statement, 0, text, sizeof(text)), INT32_MAX, &pid) == 0)
		*ret_pid = (uint32_t)pid;
	if (r > 0 && (r = foreign_step(statement)) > 0)
		*ret_pid = 0; /* sessions with different filters */
	return MIN(r, 0);
}

/* Sets the process: a chain does not name it. Used are the operation's only caller, else the only traced process. */
static int chain_process(struct chains *c, struct chain *chain)
{
	const struct foreign_process *p = NULL;
	uint32_t pid = 0;
	int r = 0;

	if (chain->op && !chain->op->has_callers)
		r = callers_find(c->file, chain->op);
	if (r == 0 && chain->op)
		pid = chain->op->only_pid;
	if (r == 0 && !pid)
		r = filter_find(c->file, &pid);
	for (uint32_t node = 0; pid && node < c->file->nodes.n && !p; node++)
		if (!*chain->node || !strcmp(c->file->nodes.items[node], chain->node))
			p = foreign_process_find(c->file, node, pid, chain->message.start_unix_ns);
	if (r == 0 && p) {
		chain->process = p->process.id;
		chain->message.pid = pid;
		chain->message.process_name = (char *)p->process.comm;
		chain->message.exec_generation = p->process.exec_gen;
		chain->message.start_time_unix_ns = p->process.start_unix_ns;
	}
	return r;
}

/* FNV-1a of the finding's identity, so that its id is the same each time the file is read. */
static uint64_t chain_id(const struct chain *chain)
{
	const char *parts[] = { chain->message.kind, chain->message.op, chain->node };
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (const char *p = parts[i];; p++) {
			hash = (hash ^ (unsigned char)*p) * 0x100000001b3ull;
			if (!*p)
				break;
		}
	for (int i = 0; i < 64; i += 8)
		hash = (hash ^ (chain->message.start_unix_ns >> i & 0xff)) * 0x100000001b3ull;
	return hash;
}

static int chain_put(struct chains *c, struct chain *chain)
{
	Ingero__V1__Evidence *rows = &chain->evidence[chain->message.n_evidence];
	struct batch_finding row = { .id = chain_id(chain),
				     .uid = FOREIGN_UID,
				     .process = chain->process,
				     .severity = (int)chain->severity,
				     .start_ns = chain->message.start_unix_ns,
				     .end_ns = chain->last_unix_ns };
	char id[17];
	int r;

	snprintf(id, sizeof(id), "%016" PRIx64, row.id);
	snprintf(row.kind, sizeof(row.kind), "%s", chain->message.kind);
	ingero__v1__evidence__init(rows);
	rows->name = (char *)"stored_chains";
	rows->value = (double)chain->n_rows;
	rows->unit = (char *)"count";
	chain->evidences[chain->message.n_evidence++] = rows;
	chain->message.evidence = chain->evidences;
	chain->message.end_unix_ns = chain->last_unix_ns;
	chain->message.id = id;
	if (!buf_reserve(&row.data, ingero__v1__finding__get_packed_size(&chain->message)))
		return -ENOMEM;
	row.data.n = ingero__v1__finding__pack(&chain->message, row.data.data);
	for (size_t i = 0; i < c->file->nodes.n && *chain->node; i++)
		if (!strcmp(c->file->nodes.items[i], chain->node))
			c->file->out.boot = (uint32_t)i + 1;
	r = writer_put_finding(&c->file->out, &row);
	c->file->out.boot = 0;
	buf_done(&row.data);
	return r;
}

int foreign_findings_put(struct foreign_file *f)
{
	CLEANUP(chains_freep) struct chains *c = NULL;
	int r;

	if (!foreign_has_column(f, FOREIGN_CHAINS, "detected_at"))
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->file = f;
	r = foreign_select(f, FOREIGN_CHAINS, CHAIN_COLUMNS, "ORDER BY detected_at", &c->statement);
	while (r == 0 && (r = foreign_step(c->statement)) > 0)
		r = chain_row_add(c);
	for (size_t i = 0; r == 0 && i < c->items.n; i++) {
		r = chain_process(c, c->items.items[i]);
		r = r ? r : chain_put(c, c->items.items[i]);
	}
	return r;
}
