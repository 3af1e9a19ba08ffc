// SPDX-License-Identifier: Apache-2.0
/* Reads tables whose rows are not packed: findings, gaps, snapshots, sessions. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "detect/finding_message.h"
#include "events/call_id.h"
#include "archive/read/own.h"

static char *column_text(sqlite3_stmt *s, int column)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	return text ? (char *)(uintptr_t)text : (char *)"";
}

static uint64_t column_u64(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

/* ---- findings ---- */

/* Compute a finding's wall-clock times from its monotonic times: the clock may have been set since it was stored. */
static void finding_tell_times(struct own_file *own, sqlite3_stmt *s, const struct own_boot *boot,
			       Ingero__V1__Finding *f)
{
	const struct read_process *process = own_process(own, (uint32_t)column_u64(s, 0));
	struct call_id id;

	f->start_unix_ns = own_unix(boot, column_u64(s, 2));
	f->end_unix_ns = sqlite3_column_type(s, 3) == SQLITE_NULL ? 0 : own_unix(boot, column_u64(s, 3));
	if (process && process->pid == f->pid)
		f->start_time_unix_ns = process->start_unix_ns;
	for (size_t i = 0; i < f->n_examples; i++)
		if (call_id_parse(f->examples[i]->id, &id) == 0 && own_boot(own, id.boot))
			f->examples[i]->timestamp_unix_ns = own_unix(own_boot(own, id.boot), id.start_ns);
}

static bool may_name(uint32_t uid, bool is_guarded, void *data)
{
	const struct own_file *own = data;

	return read_scope_names(&own->scope, uid, is_guarded);
}

/* Make NODE:ID, since files may have equal ids. Return: NULL if there is no memory */
static char *id_with_node(struct arena *arena, const char *node, const char *id)
{
	size_t n = strlen(node) + sizeof(":") + strlen(id);
	char *text = *id ? arena_alloc(arena, n) : arena_copy_text(arena, id);

	if (text && *id)
		(void)snprintf(text, n, "%s:%s", node, id);
	return text;
}

/* Texts that replace those of a finding if rows are of several nodes; borrowed from the arena. */
struct finding_texts {
	char *id;
	char **examples; /* ids of the example calls */
};

static void texts_exchange(Ingero__V1__Finding *f, struct finding_texts *texts)
{
	char *before = f->id;

	f->id = texts->id;
	texts->id = before;
	for (size_t i = 0; i < f->n_examples; i++) {
		char *id = f->examples[i]->id;

		f->examples[i]->id = texts->examples[i];
		texts->examples[i] = id;
	}
}

static int texts_make(const char *node, const Ingero__V1__Finding *f, struct arena *arena, struct finding_texts *ret)
{
	ret->id = id_with_node(arena, node, f->id);
	ret->examples = ARENA_NEW_N(arena, char *, f->n_examples + 1);
	for (size_t i = 0; i < f->n_examples && ret->examples; i++) {
		ret->examples[i] = id_with_node(arena, node, f->examples[i]->id);
		if (!ret->examples[i])
			return -ENOMEM;
	}
	return ret->id && ret->examples ? 0 : -ENOMEM;
}

/* Call func with texts that name the node, then restore the message's own texts, which are freed with it. */
static int finding_tell(struct own_file *own, sqlite3_stmt *s, Ingero__V1__Finding *f, read_finding_func func,
			void *data)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	const struct read_process *process = own_process(own, (uint32_t)column_u64(s, 0));
	const char *node = process ? process->node : own_node(own, (uint32_t)column_u64(s, 1));
	const Ingero__V1__Finding before = *f;
	struct finding_texts texts = { .id = f->id };
	int r = own->tells_nodes ? texts_make(node, f, &arena, &texts) : 0;

	if (r < 0)
		return r;
	f->node_told_case = own->tells_nodes && *node ? INGERO__V1__FINDING__NODE_TOLD_NODE
						      : INGERO__V1__FINDING__NODE_TOLD__NOT_SET;
	f->node = (char *)(uintptr_t)node;
	if (f->node_told_case)
		texts_exchange(f, &texts);
	r = func(f, data);
	if (f->node_told_case)
		texts_exchange(f, &texts);
	f->node_told_case = before.node_told_case;
	f->node = before.node;
	return r;
}

static int finding_give(struct own_file *own, sqlite3_stmt *s, read_finding_func func, void *data)
{
	const struct own_boot *boot = own_boot(own, (uint32_t)column_u64(s, 1));
	const void *bytes = sqlite3_column_blob(s, 5);
	size_t n = (size_t)sqlite3_column_bytes(s, 5);
	bool goes_on = sqlite3_column_type(s, 3) == SQLITE_NULL, is_bare;
	char *words = NULL, *takes = NULL;
	Ingero__V1__Finding *f;
	size_t n_advice;
	int r;

	f = codec_crc(bytes, n) == (uint32_t)column_u64(s, 4) ? ingero__v1__finding__unpack(NULL, n, bytes) : NULL;
	if (!f || !finding_message_is_sound(f)) {
		ingero__v1__finding__free_unpacked(f, NULL);
		return own_damaged(own, 'x', (int64_t)own->damage.n, (uint32_t)column_u64(s, 1), column_u64(s, 2),
				   goes_on ? column_u64(s, 2) : column_u64(s, 3), 1);
	}

	finding_tell_times(own, s, boot, f);
	is_bare = f->cause && !*f->cause->words; /* stored by an older recorder, without .words */
	if (is_bare) {
		words = f->cause->words;
		takes = f->cause->takes;
		f->cause->processes = MAX(f->cause->processes, f->cause->pid != 0);
		finding_message_words(f->cause, f->pid);
	}
	n_advice = f->n_advice;
	finding_message_hide(f, may_name, own);
	r = finding_tell(own, s, f, func, data);
	f->n_advice = n_advice; /* the message owns all entries and frees them */
	if (is_bare) {
		f->cause->words = words;
		f->cause->takes = takes;
	}
	ingero__v1__finding__free_unpacked(f, NULL);
	return r;
}

int own_findings(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_finding_func func, void *data)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db,
			    "SELECT process, boot, start_ns, end_ns, crc, data FROM finding "
			    "WHERE (?1 < 0 OR uid = ?1) ORDER BY boot, start_ns, id",
			    &s);

	if (r == 0)
		(void)sqlite3_bind_int64(s, 1, own->scope.all ? -1 : (int64_t)own->scope.uid);
	while (r == 0) {
		const struct own_boot *boot;
		uint64_t start, end;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		boot = own_boot(own, (uint32_t)column_u64(s, 1));
		start = own_unix(boot, column_u64(s, 2));
		end = sqlite3_column_type(s, 3) == SQLITE_NULL ? UINT64_MAX : own_unix(boot, column_u64(s, 3));
		if ((to_unix_ns && start >= to_unix_ns) || end < from_unix_ns)
			continue;
		/* Only callers that may see everything see findings of a guarded process. */
		if (!own->scope.all && !own_process(own, (uint32_t)column_u64(s, 0)))
			continue;
		r = finding_give(own, s, func, data);
	}
	return r;
}

/* ---- gaps, snapshots, sessions ---- */

static bool overlaps(uint64_t begin, uint64_t end, uint64_t from, uint64_t to)
{
	return end >= from && (!to || begin < to);
}

/* A row of table gap, or damage found while reading. */
struct gap_row {
	uint32_t boot;
	uint64_t from, to; /* ns since 1970 */
	const char *reason;
	uint64_t n;
	int64_t uid; /* -1: no single owner */
};

struct gap_walk {
	const struct own_file *own;
	read_gap_func func;
	void *data;
	Ingero__V1__Gap gap;
	char reason[32]; /* "": no gap is open */
};

static int gap_end(struct gap_walk *w)
{
	int r = *w->reason ? w->func(&w->gap, w->data) : 0;

	*w->reason = '\0';
	return r;
}

/* Report a row as a gap. An imported file has a row for each minute: adjacent rows become one gap. */
static int gap_add(struct gap_walk *w, const struct gap_row *row)
{
	const char *node = own_node(w->own, row->boot);
	int r;

	if (w->own->is_imported && !strcmp(w->reason, row->reason) && row->from == w->gap.to_unix_ns + 1) {
		w->gap.to_unix_ns = row->to;
		w->gap.count += row->n;
		return 0;
	}
	r = gap_end(w);
	(void)snprintf(w->reason, sizeof(w->reason), "%s", row->reason);
	w->gap.from_unix_ns = row->from;
	w->gap.to_unix_ns = row->to;
	w->gap.reason = w->reason;
	w->gap.count = row->n;
	w->gap.node = (char *)(uintptr_t)node;
	w->gap.node_told_case =
		w->own->tells_nodes && *node ? INGERO__V1__GAP__NODE_TOLD_NODE : INGERO__V1__GAP__NODE_TOLD__NOT_SET;
	w->gap.uid = row->uid < 0 ? 0 : (uint32_t)row->uid;
	w->gap.owner_told_case = row->uid < 0 ? INGERO__V1__GAP__OWNER_TOLD__NOT_SET : INGERO__V1__GAP__OWNER_TOLD_UID;
	return r;
}

int own_gaps(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func, void *data)
{
	struct gap_walk walk = { .own = own, .func = func, .data = data, .gap = INGERO__V1__GAP__INIT };
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int step = 1, r;

	r = sql_prepare(own->db,
			"SELECT boot, t0, t1, reason, count, coalesce(uid, -1) FROM gap "
			"WHERE uid IS NULL OR ?1 < 0 OR uid = ?1 ORDER BY boot, t0, id",
			&s);
	if (r == 0)
		(void)sqlite3_bind_int64(s, 1, own->scope.all ? -1 : (int64_t)own->scope.uid);
	while (r == 0 && (step = sql_step(s)) > 0) {
		struct gap_row row = {
			.boot = (uint32_t)column_u64(s, 0),
			.reason = column_text(s, 3),
			.n = column_u64(s, 4),
			.uid = sqlite3_column_int64(s, 5),
		};

		own_unix_range(own_boot(own, row.boot), column_u64(s, 1), column_u64(s, 2), &row.from, &row.to);
		if (overlaps(row.from, row.to, from_unix_ns, to_unix_ns))
			r = gap_add(&walk, &row);
	}
	r = r ? r : MIN(step, 0);
	/* Damage found by this reader. */
	for (size_t i = 0; i < own->damage.n && r == 0; i++) {
		const struct own_damage *d = &own->damage.items[i];

		struct gap_row row = { d->boot, d->from_unix_ns, d->to_unix_ns, "damaged", d->n, /* uid= */ -1 };

		if (overlaps(row.from, row.to, from_unix_ns, to_unix_ns))
			r = gap_add(&walk, &row);
	}
	return r ? r : gap_end(&walk);
}

static int snapshot_give(const struct own_file *own, const struct own_boot *boot, sqlite3_stmt *s, uint64_t from,
			 uint64_t to, read_snapshot_func func, void *data)
{
	Ingero__V1__SystemSample sample = INGERO__V1__SYSTEM_SAMPLE__INIT;

	sample.timestamp_unix_ns = own_unix(boot, column_u64(s, 0));
	if (sample.timestamp_unix_ns < from || (to && sample.timestamp_unix_ns >= to))
		return 0;
	sample.cpu_ratio = sqlite3_column_double(s, 1);
	sample.load_1min = sqlite3_column_double(s, 2);
	sample.memory_bytes = column_u64(s, 3);
	sample.available_bytes = column_u64(s, 4);
	sample.swap_used_bytes = column_u64(s, 5);
	sample.major_faults = column_u64(s, 6);
	sample.has_pressure = sqlite3_column_type(s, 7) != SQLITE_NULL;
	sample.pressure_cpu = sqlite3_column_double(s, 7);
	sample.pressure_memory = sqlite3_column_double(s, 8);
	sample.pressure_io = sqlite3_column_double(s, 9);
	sample.node = (char *)(uintptr_t)own_node(own, boot->id);
	if (own->tells_nodes)
		sample.node_told_case = INGERO__V1__SYSTEM_SAMPLE__NODE_TOLD_NODE;
	return func(&sample, data);
}

int own_snapshots(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_snapshot_func func, void *data)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db,
			    "SELECT t, cpu_ratio, load_1min, memory_bytes, available_bytes, swap_used_bytes, "
			    "major_faults, pressure_cpu, pressure_memory, pressure_io FROM snapshot "
			    "WHERE boot = ? AND t >= ? AND t <= ? ORDER BY t",
			    &s);

	for (size_t i = 0; i < own->boots.n && r == 0; i++) {
		const struct own_boot *boot = &own->boots.items[i];
		uint64_t from = 0, to = 0;
		int step = 0;

		if (!own_mono_range(boot, from_unix_ns, to_unix_ns, &from, &to))
			continue;
		(void)sqlite3_reset(s);
		SQL_INTS(s, 1, boot->id, (int64_t)from, (int64_t)to);
		while (r == 0 && (step = sql_step(s)) > 0)
			r = snapshot_give(own, boot, s, from_unix_ns, to_unix_ns, func, data);
		if (r == 0)
			r = step;
	}
	return r;
}

int own_snapshot_next(struct own_file *own, uint64_t from_unix_ns, uint64_t *unix_ns)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, "SELECT min(t) FROM snapshot WHERE boot = ? AND t >= ? AND t < ?", &s);

	for (size_t i = 0; i < own->boots.n && r == 0; i++) {
		const struct own_boot *boot = &own->boots.items[i];

		for (size_t k = 0; k < boot->clocks.n && r == 0; k++) {
			uint64_t from, to, found;
			int step;

			/* Times before 1970, of a clock that says so, are none. */
			if (!own_clock_range(boot, k, MAX(from_unix_ns, 1), *unix_ns, &from, &to))
				continue;
			(void)sqlite3_reset(s);
			SQL_INTS(s, 1, boot->id, (int64_t)from, (int64_t)to);
			step = sql_step(s);
			r = MIN(step, 0);
			if (step <= 0 || sqlite3_column_type(s, 0) == SQLITE_NULL)
				continue;
			found = own_unix(boot, column_u64(s, 0));
			*unix_ns = MIN(*unix_ns, MAX(found, from_unix_ns));
		}
	}
	return r;
}

int own_sessions(struct own_file *own, read_session_func func, void *data)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db,
			    "SELECT boot, start_ns, end_ns, version, kernel, back_end, cpus, memory_bytes, node FROM "
			    "session ORDER BY id",
			    &s);

	while (r == 0) {
		Ingero__V1__Session session = INGERO__V1__SESSION__INIT;
		const struct own_boot *boot;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		boot = own_boot(own, (uint32_t)column_u64(s, 0));
		session.start_unix_ns = own_unix(boot, column_u64(s, 1));
		if (sqlite3_column_type(s, 2) != SQLITE_NULL)
			session.end_unix_ns = own_unix(boot, column_u64(s, 2));
		session.version = column_text(s, 3);
		session.kernel = column_text(s, 4);
		session.back_end = column_text(s, 5);
		session.cpus = (uint32_t)column_u64(s, 6);
		session.memory_bytes = column_u64(s, 7);
		session.node = column_text(s, 8);
		r = func(&session, data);
	}
	return r;
}

static void cost_add(Ingero__V1__Cost *sum, const Ingero__V1__Cost *cost)
{
	sum->probe_ns += cost->probe_ns;
	sum->removed_ns += cost->removed_ns;
	if (cost->bystander_calls_told_case) {
		sum->bystander_calls_told_case = cost->bystander_calls_told_case;
		sum->bystander_calls += cost->bystander_calls;
		sum->bystander_ns_told_case = cost->bystander_ns_told_case;
		sum->bystander_ns += cost->bystander_ns;
	}
	sum->daemon_cpu_ns += cost->daemon_cpu_ns;
	if (cost->probe_ratio >= sum->probe_ratio) { /* the range belongs to it */
		sum->probe_ratio = cost->probe_ratio;
		sum->low_ratio_told_case = cost->low_ratio_told_case;
		sum->low_ratio = cost->low_ratio;
		sum->high_ratio_told_case = cost->high_ratio_told_case;
		sum->high_ratio = cost->high_ratio;
	}
	sum->per_call_ns = MAX(sum->per_call_ns, cost->per_call_ns);
	sum->share_ns = MAX(sum->share_ns, cost->share_ns);
	sum->share_spread_ns = MAX(sum->share_spread_ns, cost->share_spread_ns);
	sum->daemon_rss_bytes = MAX(sum->daemon_rss_bytes, cost->daemon_rss_bytes);
	sum->kernel_bytes = MAX(sum->kernel_bytes, cost->kernel_bytes);
}

/* The cost includes the calls of all traced processes: a caller that may see only some processes does not get it. */
int own_cost(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, Ingero__V1__Cost *ret_cost)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	bool is_any = false;
	int r;

	if (own->version < 2 || !own->scope.all)
		return 0;
	r = sql_prepare(
		own->db,
		"SELECT boot, start_ns, max(seen_ns, coalesce(end_ns, 0)), cost FROM session WHERE cost NOT NULL", &s);
	while (r == 0) {
		Ingero__V1__Cost *cost;
		uint64_t begin, end;
		int step = sql_step(s);

		if (step <= 0) {
			r = step;
			break;
		}
		own_unix_range(own_boot(own, (uint32_t)column_u64(s, 0)), column_u64(s, 1), column_u64(s, 2), &begin,
			       &end);
		if (!overlaps(begin, end, from_unix_ns, to_unix_ns))
			continue;
		cost = ingero__v1__cost__unpack(NULL, (size_t)sqlite3_column_bytes(s, 3), sqlite3_column_blob(s, 3));
		if (!cost)
			continue; /* damaged: treated like a missing cost */
		cost_add(ret_cost, cost);
		ingero__v1__cost__free_unpacked(cost, NULL);
		is_any = true;
	}
	return r ? r : is_any;
}

/* ---- span of the data ---- */

static int span_widen(struct own_file *own, const char *sql, uint64_t *from, uint64_t *to)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, sql, &s);

	for (size_t i = 0; i < own->boots.n && r == 0; i++) {
		const struct own_boot *boot = &own->boots.items[i];
		uint64_t begin, end;
		int step;

		(void)sqlite3_reset(s);
		SQL_INTS(s, 1, own->scope.all ? -1 : (int64_t)own->scope.uid, boot->id);
		step = sql_step(s);
		if (step <= 0)
			return step;
		if (sqlite3_column_type(s, 0) == SQLITE_NULL)
			continue;
		own_unix_range(boot, column_u64(s, 0), column_u64(s, 1), &begin, &end);
		*from = MIN(*from, begin);
		*to = MAX(*to, end);
	}
	return r;
}

int own_span(struct own_file *own, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns)
{
	static const char *const texts[] = {
		"SELECT min(t0), max(t1) FROM block WHERE (?1 < 0 OR uid = ?1) AND boot = ?2",
		"SELECT min(t0), max(t1) FROM tail WHERE (?1 < 0 OR uid = ?1) AND boot = ?2",
		"SELECT min(t0), max(t1) FROM figures WHERE (?1 < 0 OR uid = ?1) AND boot = ?2",
		/* Only for imported files: their data may lie outside the time of their calls. */
		"SELECT min(t), max(t) + 1 FROM snapshot WHERE boot = ?2 AND ?1 < 0",
		"SELECT min(start_ns), max(end_ns) + 1 FROM finding WHERE boot = ?2 AND ?1 < 0",
	};
	size_t n = own->is_imported ? ARRAY_SIZE(texts) : ARRAY_SIZE(texts) - 2;
	uint64_t from = UINT64_MAX, to = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = span_widen(own, texts[i], &from, &to);
	if (r)
		return r;
	*ret_from_unix_ns = from == UINT64_MAX ? 0 : from;
	*ret_to_unix_ns = from == UINT64_MAX ? 0 : to;
	return 0;
}

int own_seen(struct own_file *own, uint64_t *ret_unix_ns)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, "SELECT boot, seen_ns FROM session WHERE end_ns IS NULL AND back_end <> 'import'",
			    &s);

	*ret_unix_ns = 0;
	while (r == 0) {
		int step = sql_step(s);
		uint64_t seen;

		if (step <= 0)
			return step;
		seen = own_unix(own_boot(own, (uint32_t)column_u64(s, 0)), column_u64(s, 1));
		*ret_unix_ns = MAX(*ret_unix_ns, seen);
	}
	return r;
}
