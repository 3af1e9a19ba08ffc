// SPDX-License-Identifier: Apache-2.0
/* Opens a file for writing: sets an unusable file aside, replaces a damaged one, writes the first rows of a run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "events/op.h"
#include "archive/write/owner.h"
#include "archive/write/schema.h"
#include "archive/write/writer.h"

#define LOG_TOPIC "store"

#define BOOT_ID_BYTES 64
#define CHECK_WHOLE_PAGES (64 << 8) /* 64 MiB: larger files are not checked completely at once */
#define LOST_PROCESS_IDS (1 << 20)  /* ids skipped after damage: events may refer to lost rows with these ids */
#define LOST_STACK_IDS (1u << 20)   /* likewise */

static const struct {
	const char *word; /* part of the new name */
	const char *what;
} in_the_way[] = {
	[SCHEMA_NEWER] = { "newer", "was written by a newer version of ingero" },
	[SCHEMA_FOREIGN] = { "foreign", "is not a database of this program" },
	[SCHEMA_GARBAGE] = { "damaged", "is no database, or its beginning is damaged" },
};

static int boot_row(struct writer *writer)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *put = NULL, *get = NULL;
	char id[BOOT_ID_BYTES] = "";
	sqlite3 *db = writer->db.handle;
	ssize_t n;
	int r;

	if (writer->options.boot_id) {
		(void)snprintf(id, sizeof(id), "%s", writer->options.boot_id);
	} else {
		n = fd_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id));
		if (n < 0)
			return (int)n;
		id[strcspn(id, "\n")] = '\0';
	}
	r = sql_prepare(db, "INSERT OR IGNORE INTO boot(boot_id) VALUES(?1)", &put);
	r = r ? r : sql_prepare(db, "SELECT id FROM boot WHERE boot_id = ?1", &get);
	if (r < 0)
		return r;
	sql_text(put, 1, id);
	sql_text(get, 1, id);
	r = sql_run(put);
	r = r ? r : sql_step(get);
	if (r > 0)
		writer->boot = sqlite3_column_int64(get, 0);
	return r > 0 ? 0 : r ? r : -EIO;
}

static int clock_row(struct writer *writer)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_CLOCK);

	SQL_INTS(s, 1, writer->boot, (int64_t)writer->now_ns, (int64_t)writer->now_unix_ns);
	return sql_run(s);
}

/*
 * Operations of ops.def have their number as row id. If an operation was not in ops.def when the file was written, its
 * name is in another row, to which packed columns refer: the name in that row gets the row id as a suffix, which
 * readers cut off.
 */
static int op_rows(struct writer *writer)
{
	static const char former[] =
		"UPDATE op SET name = name || ' ' || id WHERE source = ?1 AND name = ?2 AND id <> ?3";
	static const char text[] = "INSERT INTO op(id, source, name, short_name) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(id)"
				   " DO UPDATE SET source = excluded.source, name = excluded.name,"
				   " short_name = excluded.short_name";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL, *rename = NULL;
	int r = sql_prepare(writer->db.handle, text, &s);

	r = r ? r : sql_prepare(writer->db.handle, former, &rename);
	for (size_t i = 0; r == 0 && i < op_count(); i++) {
		const struct op *op = op_at(i);

		sql_text(rename, 1, op_layer_to_source(op->layer));
		sql_text(rename, 2, op->name);
		(void)sqlite3_bind_int64(rename, 3, op->id);
		r = sql_run(rename);
		if (r < 0)
			break;
		(void)sqlite3_bind_int64(s, 1, op->id);
		sql_text(s, 2, op_layer_to_source(op->layer));
		sql_text(s, 3, op->name);
		sql_text(s, 4, op->short_name ? op->short_name : "");
		r = sql_run(s);
	}
	for (size_t i = 0; r == 0 && i < writer->ops.n; i++) /* after damage: operations whose rows were lost */
		r = writer_put_op(writer, &writer->ops.items[i]);
	return r;
}

/* Loads the operations of the file that have no row in ops.def. */
static int given_ops_load(struct writer *writer, struct known *known)
{
	static const char text[] = "SELECT id, source, name FROM op WHERE id >= ?1";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, text, &s);

	known->next_op = OP_GIVEN;
	(void)sqlite3_bind_int64(s, 1, OP_GIVEN);
	while (r == 0 && (r = sql_step(s)) > 0) {
		struct batch_op op = { .id = (uint32_t)sqlite3_column_int64(s, 0) };
		const char *source = (const char *)sqlite3_column_text(s, 1),
			   *name = (const char *)sqlite3_column_text(s, 2);

		(void)snprintf(op.source, sizeof(op.source), "%s", source ? source : "");
		(void)snprintf(op.name, sizeof(op.name), "%s", name ? name : "");
		known->next_op = MAX(known->next_op, op.id + 1);
		r = ARRAY_PUSH(&known->ops, op);
	}
	if (r == 0 && !writer->ops.n)
		for (size_t i = 0; r == 0 && i < known->ops.n; i++)
			r = ARRAY_PUSH(&writer->ops, known->ops.items[i]);
	return r;
}

static int session_row(struct writer *writer)
{
	static const char text[] =
		"INSERT INTO session(boot, start_ns, version, kernel, back_end, cpus, memory_bytes, node,"
		" seen_ns) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?2)";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	const struct store_options *o = &writer->options;
	struct utsname names = { .nodename = "" };
	int r = sql_prepare(writer->db.handle, text, &s);

	if (r < 0)
		return r;
	(void)uname(&names); /* fails only for an invalid pointer */
	SQL_INTS(s, 1, writer->boot, (int64_t)writer->now_ns);
	sql_text(s, 3, o->version ? o->version : "");
	sql_text(s, 4, o->kernel ? o->kernel : "");
	sql_text(s, 5, o->back_end ? o->back_end : "");
	SQL_INTS(s, 6, sysconf(_SC_NPROCESSORS_ONLN), (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	sql_text(s, 8, names.nodename);
	r = sql_run(s);
	writer->session = r == 0 ? sqlite3_last_insert_rowid(writer->db.handle) : 0;
	return r;
}

static int counters_load(struct writer *writer, struct known *known)
{
	static const char *const texts[] = {
		"SELECT max(id) FROM tail",
		"SELECT max(coalesce((SELECT max(id) FROM block), 0), coalesce((SELECT max(id) FROM block_data), 0))",
		"SELECT max(id) FROM gap",
		"SELECT max(id) FROM process",
		"SELECT max(id) FROM figures",
		("SELECT max(coalesce((SELECT max(id) FROM stack), 0), coalesce((SELECT max(last_stack) FROM session), "
		 "0))"),
	};
	int64_t last[ARRAY_SIZE(texts)] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int r = db_get_int(&writer->db, texts[i], &last[i]);

		if (r < 0)
			return r;
	}
	writer->next_tail = last[0] + 1;
	writer->next_block = last[1] + 1;
	writer->next_gap = last[2] + 1;
	known->next_id = (uint32_t)last[3] + 1;
	writer->next_figures = last[4] + 1;
	writer->last_stack = (uint32_t)MIN(MAX(last[5], 0), (int64_t)UINT32_MAX - 1);
	return 0;
}

static int known_load(struct writer *writer, struct known *known)
{
	static const char text[] = "SELECT id, pid, start_boot_ns, exec_gen, first_ns, gone_ns, start_unix_ns, uid, "
				   "flags, comm FROM process"
				   " WHERE boot = ?1";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, text, &s);

	(void)sqlite3_bind_int64(s, 1, writer->boot);
	while (r == 0 && (r = sql_step(s)) > 0) {
		struct batch_process p = { .id = (uint32_t)sqlite3_column_int64(s, 0),
					   .identity = { .tgid = (uint32_t)sqlite3_column_int64(s, 1),
							 .start_boot_ns = (uint64_t)sqlite3_column_int64(s, 2),
							 .exec_gen = (uint32_t)sqlite3_column_int64(s, 3),
							 .start_unix_ns = (uint64_t)sqlite3_column_int64(s, 6),
							 .uid = (uint32_t)sqlite3_column_int64(s, 7),
							 .flags = (uint32_t)sqlite3_column_int64(s, 8) },
					   .first_ns = (uint64_t)sqlite3_column_int64(s, 4),
					   .gone_ns = (uint64_t)sqlite3_column_int64(s, 5) };
		const char *comm = (const char *)sqlite3_column_text(s, 9);

		(void)snprintf(p.identity.comm, sizeof(p.identity.comm), "%s", comm ? comm : "");
		names_set(&writer->names, &p);
		r = known_add(known, &(struct known_process){ .id = p.id,
							      .tgid = p.identity.tgid,
							      .start_boot_ns = p.identity.start_boot_ns,
							      .exec_gen = p.identity.exec_gen,
							      .flags = p.identity.flags,
							      .first_ns = p.first_ns,
							      .gone_ns = p.gone_ns });
	}
	return r;
}

/* After damage: writes the rows of these processes again, since some may be lost. */
static int names_restore(struct writer *writer, const struct names *names)
{
	int r = db_begin(&writer->db);

	for (size_t i = 0; r == 0 && i < names->items.n; i++)
		r = writer_put_process(writer, &names->items.items[i]);
	r = r ? r : db_commit(&writer->db);
	db_rollback(&writer->db);
	for (size_t i = 0; r == 0 && i < names->items.n; i++)
		names_set(&writer->names, &names->items.items[i]);
	return r;
}

/* Return: 0; -EBADMSG for damage */
static int check_run(struct db *db, const char *sql)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(db->handle, sql, &s);
	const char *told;

	r = r ? r : sql_step(s);
	if (r < 0)
		return r;
	told = (const char *)sqlite3_column_text(s, 0);
	return told && strcmp(told, "ok") == 0 ? 0 : -EBADMSG;
}

/*
 * Checks the file for damage. A check reads every page, so for a large file recording would start late: the largest
 * tables of such a file, whose rows have checksums, are left out here; scrub_some() checks blocks and figures later.
 */
static int check(struct db *db)
{
	static const char others[] = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN"
				     " ('block_data', 'figures', 'damaged')";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int64_t pages = 0;
	int r = db_get_int(db, "PRAGMA page_count", &pages);

	if (r < 0)
		return r;
	if (pages <= CHECK_WHOLE_PAGES)
		return check_run(db, "PRAGMA quick_check(1)");
	r = sql_prepare(db->handle, others, &s);
	while (r == 0 && (r = sql_step(s)) > 0) {
		char sql[96];

		(void)snprintf(sql, sizeof(sql), "PRAGMA quick_check('%.40s')",
			       (const char *)sqlite3_column_text(s, 0));
		r = check_run(db, sql);
	}
	return r;
}

/* Connects, creates or migrates the tables, checks for damage if a run before ended unexpectedly. */
static int writer_file_open(struct writer *writer)
{
	struct db *db = &writer->db;
	int64_t open_sessions = 0, version = 0, blocks = 0;
	int r = db_open(db, writer->place.path);

	/* Both pragmas only work before the first table is created. */
	r = r ? r : db_exec(db, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL");
	if (r == 0)
		r = db_get_int(db, "PRAGMA user_version", &version);
	if (r >= 0 && version > SCHEMA_VERSION)
		return -ENOTSUP; /* the version is in the log, not yet in the header that schema_look() read */
	r = r < 0 ? r : schema_migrate(db);
	r = r ? r : db_configure(db);
	r = r ? r : db_prepare(db);
	if (r == 0)
		r = db_get_int(db, "SELECT count(*) FROM session WHERE end_ns IS NULL", &open_sessions);
	if (r >= 0 && open_sessions)
		r = check(db);
	if (r >= 0 && open_sessions)
		r = db_get_int(db, "SELECT max(id) FROM block", &blocks);
	if (r < 0)
		return r;
	writer->scrub_next = 0;
	writer->scrub_end = open_sessions ? MAX(blocks, 1) : 0;
	return 0;
}

static int run_begin(struct writer *writer, struct known *known)
{
	int r = db_begin(&writer->db);

	r = r ? r : boot_row(writer);
	r = r ? r : clock_row(writer);
	r = r ? r : op_rows(writer);
	r = r ? r : db_commit(&writer->db);
	db_rollback(&writer->db);
	r = r ? r : counters_load(writer, known);
	r = r ? r : retention_load(writer);
	r = r ? r : recover_previous(writer);
	r = r ? r : known_load(writer, known);
	r = r ? r : given_ops_load(writer, known);
	r = r ? r : session_row(writer);
	return r ? r : writer_find_oldest(writer);
}

/* Renames the file and creates a new one. A file outside our own places stays unchanged: -EEXIST. */
static int file_set_aside(struct writer *writer, const char *word, const char *what, char *ret_name, char *why)
{
	int r;

	if (!writer->options.is_own_place) {
		(void)snprintf(why, WRITER_WHY_BYTES, "'%.200s' %s; it is left as it is: name another file with --db",
			       writer->place.path, what);
		return -EEXIST;
	}
	db_abandon(&writer->db);
	r = place_set_aside(&writer->place, word, writer->now_unix_ns, ret_name);
	r = r ? r : place_create(&writer->place);
	if (r < 0)
		(void)snprintf(why, WRITER_WHY_BYTES, "'%.200s' %s, and cannot be renamed: %s; move it away",
			       writer->place.path, what, strerror(-r));
	else
		(void)snprintf(why, WRITER_WHY_BYTES,
			       "the old file %s: it was renamed to '%.200s', and a new one was begun", what, ret_name);
	return r;
}

static int aside_gap(struct writer *writer)
{
	struct batch_gap gap = {
		.t0_ns = writer->now_ns, .t1_ns = writer->now_ns, .uid = UINT32_MAX, .reason = "set_aside"
	};
	int r = db_begin(&writer->db);

	r = r ? r : writer_put_gap(writer, writer->next_gap++, writer->boot, &gap);
	r = r ? r : db_commit(&writer->db);
	db_rollback(&writer->db);
	return r;
}

/* After damage found by SQLite: begins a new file with everything that can still be read. */
static int begin_after_damage(struct writer *writer, struct known *known, char *why)
{
	char name[PATH_MAX];
	int r = file_set_aside(writer, "damaged", "is damaged", name, why);

	known_done(known);
	r = r ? r : writer_file_open(writer);
	r = r ? r : salvage(writer, name);
	r = r ? r : run_begin(writer, known);
	if (r == 0)
		known->next_id += LOST_PROCESS_IDS;
	writer->last_stack = MIN(writer->last_stack, UINT32_MAX - 1 - LOST_STACK_IDS) + LOST_STACK_IDS;
	return r ? r : aside_gap(writer);
}

static int begin_in_place(struct writer *writer, struct known *known, char *why)
{
	int kind = schema_look(writer->place.path), r = 0;
	char name[PATH_MAX];
	bool is_new = false;

	if (kind < 0)
		return kind;
	if (kind != SCHEMA_OURS && kind != SCHEMA_EMPTY) {
		r = file_set_aside(writer, in_the_way[kind].word, in_the_way[kind].what, name, why);
		is_new = true;
	}
	r = r ? r : writer_file_open(writer);
	if (r == -ENOTSUP) {
		r = file_set_aside(writer, in_the_way[SCHEMA_NEWER].word, in_the_way[SCHEMA_NEWER].what, name, why);
		is_new = true;
		r = r ? r : writer_file_open(writer);
	}
	r = r ? r : run_begin(writer, known);
	if (r == -EBADMSG)
		return begin_after_damage(writer, known, why);
	return r == 0 && is_new ? aside_gap(writer) : r;
}

int writer_open(struct writer *writer, const struct store_options *options, uint64_t now_ns, uint64_t now_unix_ns,
		struct known *known, char *why)
{
	int r = 0;

	*writer = (struct writer)WRITER_INIT;
	writer->options = *options;
	writer->now_ns = writer->retained_ns = now_ns;
	writer->now_unix_ns = now_unix_ns;
	why[0] = '\0';
	if (options->has_owner) {
		r = owner_become(options->owner_uid, options->owner_gid);
		if (r < 0)
			(void)snprintf(why, WRITER_WHY_BYTES, "cannot write '%.200s' as user %u: %s", options->path,
				       options->owner_uid, strerror(-r));
	}
	r = r ? r : place_open(&writer->place, options->path, options->is_own_place, why, WRITER_WHY_BYTES);
	r = r ? r : begin_in_place(writer, known, why);
	if (r < 0 && (!why[0] || strncmp(why, "the old", 7) == 0))
		(void)snprintf(why, WRITER_WHY_BYTES, "cannot write '%.200s': %s; name another file with --db",
			       options->path, r == -EBADMSG ? "it is damaged" : strerror(-r));
	return r;
}

int writer_repair(struct writer *writer)
{
	struct names names = writer->names; /* replaced below by those of the damaged file, maybe fewer */
	struct known known = { 0 };
	char why[WRITER_WHY_BYTES];
	int64_t tail = writer->next_tail, block = writer->next_block, gap = writer->next_gap,
		figures = writer->next_figures;
	uint32_t last_stack = writer->last_stack;
	int r;

	if (!writer->options.is_own_place)
		return -EBADMSG;
	for (size_t i = 0; i < writer->owners.n; i++)
		writer->owners.items[i].tail_events = 0; /* the new file's tail is sealed below */
	writer->tail_events = 0;
	writer->tail_since_ns = 0;
	writer->names = (struct names){ .at = { .slots = NULL } };
	r = begin_after_damage(writer, &known, why);
	known_done(&known); /* the loop has its own */
	r = r ? r : names_restore(writer, &names);
	if (r < 0) { /* a retry needs the names */
		names_done(&writer->names);
		writer->names = names;
	} else {
		names_done(&names);
	}
	writer->next_tail = MAX(tail, writer->next_tail);
	writer->next_block = MAX(block, writer->next_block);
	writer->next_gap = MAX(gap, writer->next_gap);
	writer->next_figures = MAX(figures, writer->next_figures);
	writer->last_stack = last_stack; /* the loop counts on */
	writer->stack_losses++;
	if (r < 0)
		return log_err(r, "cannot continue after damage to '%s'", writer->place.path);
	log_warning(0, "%s", why);
	return writer_write(writer);
}
