// SPDX-License-Identifier: Apache-2.0
#include "tests/support/read_world.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/codec/stack_frames.h"
#include "base/cleanup.h"
#include "events/event.h"
#include "events/op.h"
#include "ingero/v1/finding.pb-c.h"

static void must(bool is_ok, const char *what, struct sqlite3 *db)
{
	if (is_ok)
		return;
	fprintf(stderr, "no database for the test: %s (%s)\n", what, db ? sqlite3_errmsg(db) : "");
	exit(1);
}

void world_exec(struct sqlite3 *db, const char *sql)
{
	must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql, db);
}

/* Run one INSERT. @kinds: a letter for each value: i uint64_t, t text, b bytes with their length, n NULL. */
static int64_t insert(struct sqlite3 *db, const char *sql, const char *kinds, ...)
{
	sqlite3_stmt *s = NULL;
	va_list ap;

	must(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK, sql, db);
	va_start(ap, kinds);
	for (int i = 0; kinds[i]; i++) {
		if (kinds[i] == 'i') {
			sqlite3_bind_int64(s, i + 1, (sqlite3_int64)va_arg(ap, uint64_t));
		} else if (kinds[i] == 't') {
			sqlite3_bind_text(s, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
		} else if (kinds[i] == 'b') {
			const void *data = va_arg(ap, const void *);

			sqlite3_bind_blob64(s, i + 1, data, va_arg(ap, size_t), SQLITE_TRANSIENT);
		}
	}
	va_end(ap);
	must(sqlite3_step(s) == SQLITE_DONE, sql, db);
	sqlite3_finalize(s);
	return sqlite3_last_insert_rowid(db);
}

#define U64(value) ((uint64_t)(value))

struct sqlite3 *world_create(const char *path)
{
	struct sqlite3 *db = NULL;
	char sql[65536];
	FILE *file = fopen(INGERO_SCHEMA, "r");
	size_t n = file ? fread(sql, 1, sizeof(sql) - 1, file) : 0;

	must(n > 0, INGERO_SCHEMA, NULL);
	(void)fclose(file);
	sql[n] = '\0';
	must(sqlite3_open(path, &db) == SQLITE_OK, path, db);
	world_exec(db, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF");
	world_exec(db, sql);
	world_exec(db, "PRAGMA user_version=5");
	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);

		insert(db, "INSERT INTO op VALUES (?, ?, ?, ?)", "ittt", U64(op->id), op_layer_to_source(op->layer),
		       op->name, op->short_name);
	}
	return db;
}

void world_clock(struct sqlite3 *db, uint32_t boot, uint64_t mono_ns, uint64_t unix_ns)
{
	insert(db, "INSERT INTO clock VALUES (?, ?, ?)", "iii", U64(boot), mono_ns, unix_ns);
}

void world_boot(struct sqlite3 *db, uint32_t boot, uint64_t mono_ns, uint64_t unix_ns)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "00000000-0000-0000-0000-%012u", boot);
	insert(db, "INSERT INTO boot VALUES (?, ?)", "it", U64(boot), text);
	world_clock(db, boot, mono_ns, unix_ns);
}

void world_process(struct sqlite3 *db, uint32_t id, uint32_t boot, uint32_t pid, uint32_t uid, uint32_t flags,
		   const char *comm, uint64_t first_ns)
{
	insert(db,
	       "INSERT INTO process(id, boot, pid, start_boot_ns, start_unix_ns, exec_gen, uid, flags, comm, first_ns)"
	       " VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
	       "iiiiiiiti", U64(id), U64(boot), U64(pid), U64(id), U64(id), U64(uid), U64(flags), comm, first_ns);
}

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

/* Every frame has a row of its own unless an equal one is there. */
static uint32_t frame_row(struct sqlite3 *db, uint32_t uid, const struct world_frame *f)
{
	sqlite3_stmt *s = NULL;
	uint32_t id;

	insert(db,
	       "INSERT INTO frame(uid, symbol, qualname, file, line, module, python, n) VALUES(?, ?, ?, ?, ?, ?, ?, 0)"
	       " ON CONFLICT DO NOTHING",
	       "itttiti", U64(uid), text_or_none(f->symbol), text_or_none(f->qualname), text_or_none(f->file),
	       U64(f->line), text_or_none(f->module), U64(f->is_python));
	must(sqlite3_prepare_v2(
		     db,
		     "SELECT id FROM frame WHERE uid = ?1 AND symbol = ?2 AND qualname = ?3 AND file = ?4 AND"
		     " line = ?5 AND module = ?6 AND python = ?7",
		     -1, &s, NULL) == SQLITE_OK,
	     "a frame", db);
	sqlite3_bind_int64(s, 1, uid);
	sqlite3_bind_text(s, 2, text_or_none(f->symbol), -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, text_or_none(f->qualname), -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, text_or_none(f->file), -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 5, f->line);
	sqlite3_bind_text(s, 6, text_or_none(f->module), -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 7, f->is_python);
	must(sqlite3_step(s) == SQLITE_ROW, "a frame", db);
	id = (uint32_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return id;
}

void world_stack(struct sqlite3 *db, uint32_t id, uint32_t uid, bool is_guarded, const char *why,
		 const struct world_frame *frames, size_t n)
{
	CLEANUP(buf_done) struct buf blob = BUF_INIT;
	struct stored_frame stored[16];

	must(n <= ARRAY_SIZE(stored), "a stack", NULL);
	for (size_t i = 0; i < n; i++)
		stored[i] = (struct stored_frame){ .ip = frames[i].ip, .id = frame_row(db, uid, &frames[i]) };
	must(stack_frames_encode(stored, n, &blob) == 0, "memory", NULL);
	insert(db, "INSERT INTO stack VALUES (?, ?, 1, 0, ?, ?, ?, ?, ?)", "iiiitbi", U64(id), U64(uid),
	       U64(is_guarded), U64(!*why), why, (const void *)blob.data, blob.n, U64(codec_crc(blob.data, blob.n)));
}

struct stored_event world_event(uint32_t process, uint32_t op, uint32_t tid, uint64_t start_ns, uint64_t duration_ns)
{
	struct stored_event e = { .process = process, .op = op };

	e.call.start_ns = start_ns;
	e.call.duration_ns = duration_ns;
	e.call.raw_ns = duration_ns + 100;
	e.call.blame_ns[BLAME_RUNNABLE] = duration_ns / 2;
	e.call.tid = tid;
	e.call.op = (uint8_t)op;
	e.call.reason = RECORD_REASON_SLOW;
	e.measured = MEASURED(BLAME_ON_CPU) | MEASURED(BLAME_RUNNABLE);
	return e;
}

static void processes_list(const struct stored_event *events, size_t n, struct buf *out)
{
	uint32_t last = 0;

	/* Ascending, each once: so few that a search for each next one is fast enough. */
	for (;;) {
		uint32_t next = UINT32_MAX;
		uint8_t bytes[4];

		for (size_t i = 0; i < n; i++)
			if (events[i].process > last && events[i].process < next)
				next = events[i].process;
		if (next == UINT32_MAX)
			return;
		for (int i = 0; i < 4; i++)
			bytes[i] = (uint8_t)(next >> (8 * i));
		must(buf_append(out, bytes, 4) == 0, "memory", NULL);
		last = next;
	}
}

int64_t world_block(struct sqlite3 *db, uint32_t uid, uint32_t boot, uint32_t process,
		    const struct stored_event *events, size_t n)
{
	static struct block_encoder *encoder; /* one for the whole program */
	CLEANUP(buf_done) struct buf data = BUF_INIT, list = BUF_INIT;
	struct block_head head;
	int64_t id;

	if (!encoder)
		must(block_encoder_new(&encoder) == 0, "memory", NULL);
	must(block_encode(encoder, events, n, &data, &head) == 0, "a block", NULL);
	if (!process)
		processes_list(events, n, &list);
	id = insert(db, "INSERT INTO block VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiiiiibbii", U64(uid),
		    U64(boot), U64(process), head.t0_ns, head.t1_ns, U64(head.n), head.max_ns, U64(head.slow), head.ops,
		    sizeof(head.ops), list.data ? (const void *)list.data : "", list.n, U64(BLOCK_FORMAT),
		    U64(head.crc));
	insert(db, "INSERT INTO block_data (id, data) VALUES (?, ?)", "ib", U64(id), data.data, data.n);
	return id;
}

int64_t world_tail(struct sqlite3 *db, uint32_t uid, uint32_t boot, const struct stored_event *events, size_t n)
{
	CLEANUP(buf_done) struct buf row = BUF_INIT;
	uint64_t t0 = UINT64_MAX, t1 = 0;

	for (size_t i = 0; i < n; i++) {
		must(tail_append(&row, i ? &events[i - 1] : NULL, &events[i]) == 0, "memory", NULL);
		t0 = MIN(t0, events[i].call.start_ns);
		t1 = MAX(t1, events[i].call.start_ns + events[i].call.raw_ns);
	}
	return insert(db, "INSERT INTO tail VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", "iiiiiib", U64(uid), U64(boot), t0, t1,
		      U64(n), U64(codec_crc(row.data, row.n)), row.data, row.n);
}

void world_figures(struct sqlite3 *db, int level, uint32_t uid, uint32_t boot, uint64_t t0, uint64_t t1,
		   const struct figures_blob *blob)
{
	CLEANUP(buf_done) struct buf data = BUF_INIT;
	uint32_t crc;

	must(figures_blob_encode(blob, &data, &crc) == 0, "figures", NULL);
	insert(db, "INSERT INTO figures VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiiiib", U64(level), U64(uid),
	       U64(boot), t0, t1, U64(blob->figures.n), U64(crc), data.data, data.n);
}

void world_finding_row(struct sqlite3 *db, const Ingero__V1__Finding *f, uint32_t boot, uint32_t process,
		       enum finding_severity severity, uint64_t start_ns, uint64_t end_ns)
{
	uint8_t data[4096];
	size_t n = ingero__v1__finding__get_packed_size(f);

	must(n <= sizeof(data), "a finding", NULL);
	(void)ingero__v1__finding__pack(f, data);
	insert(db, "INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?)", "tiiitiiiib", f->id,
	       U64(f->uid), U64(boot), U64(process), f->kind, U64(severity), start_ns, end_ns, U64(codec_crc(data, n)),
	       data, n);
}

void world_finding(struct sqlite3 *db, const char *id, uint32_t uid, uint32_t boot, uint32_t process, uint32_t pid,
		   enum finding_severity severity, uint64_t lost_ns, uint64_t start_ns, uint64_t end_ns,
		   uint32_t cause_pid, uint32_t cause_uid, const char *cause_comm)
{
	static const char *const severities[] = { "", "LOW", "MEDIUM", "HIGH", "CRITICAL" };
	Ingero__V1__Finding f = INGERO__V1__FINDING__INIT;
	Ingero__V1__Cause cause = INGERO__V1__CAUSE__INIT;
	char advice_text[] = "renice -n 19 -p 4242";
	char *advice[] = { advice_text };

	f.id = (char *)(uintptr_t)id;
	f.kind = cause.kind = (char *)(uintptr_t) "cpu_contention";
	f.severity = (char *)(uintptr_t)severities[severity];
	f.title = (char *)(uintptr_t) "cudaMalloc waited for the CPU";
	f.pid = pid;
	f.uid = uid;
	f.lost_ns = lost_ns;
	f.advice = advice;
	f.n_advice = 1;
	cause.pid = cause_pid;
	cause.uid = cause_uid;
	cause.comm = (char *)(uintptr_t)cause_comm;
	f.cause = &cause;
	world_finding_row(db, &f, boot, process, severity, start_ns, end_ns);
}

void world_count(struct figures_blob *blob, uint32_t process, uint32_t op, uint64_t n, uint64_t duration_ns)
{
	struct stored_figures f = { .process = process, .op = op, .measured = MEASURED(BLAME_RUNNABLE) };

	f.figures.total_ns = n * duration_ns;
	f.figures.raw_ns = n * duration_ns;
	f.figures.max_ns = duration_ns;
	must(histogram_add(&f.figures.durations, histogram_bucket_of(duration_ns), n) == 0, "memory", NULL);
	must(figures_blob_add(blob, &f) == 0, "memory", NULL);
	histogram_done(&f.figures.durations);
}
