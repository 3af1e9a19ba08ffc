// SPDX-License-Identifier: Apache-2.0
#include "archive/read/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define OPS_MAX 65536u /* rows of table op that are looked at: a file may claim anything */

int own_damaged(struct store_reader *own, char kind, int64_t id, uint32_t boot, uint64_t t0, uint64_t t1, uint64_t n)
{
	struct own_damage damage = { .kind = kind, .id = id, .n = n };

	for (size_t i = 0; i < own->damage.n; i++)
		if (own->damage.items[i].kind == kind && own->damage.items[i].id == id)
			return 0;
	own_unix_range(own_boot(own, boot), t0, t1, &damage.from_unix_ns, &damage.to_unix_ns);
	return ARRAY_PUSH(&own->damage, damage);
}

/* ---- time ---- */

const struct own_boot *own_boot(const struct store_reader *own, uint32_t id)
{
	for (size_t i = 0; i < own->boots.n; i++)
		if (own->boots.items[i].id == id)
			return &own->boots.items[i];
	return NULL;
}

/* The last clock row not after a moment; before the first row the first one holds. */
static size_t clock_find(const struct own_boot *boot, uint64_t mono_ns)
{
	size_t low = 0, high = boot->clocks.n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (boot->clocks.items[middle].mono_ns <= mono_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t own_unix(const struct own_boot *boot, uint64_t mono_ns)
{
	const struct own_clock *c;

	if (!boot)
		return mono_ns;
	c = &boot->clocks.items[clock_find(boot, mono_ns)];
	return c->unix_ns - c->mono_ns + mono_ns; /* modulo 2^64: the difference may be negative */
}

void own_unix_range(const struct own_boot *boot, uint64_t t0, uint64_t t1, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t from = own_unix(boot, t0), to = own_unix(boot, t1);

	*ret_from = MIN(from, to);
	*ret_to = MAX(from, to);
	/* In between the clock may have been stepped beyond both ends. */
	for (size_t i = boot ? clock_find(boot, t0) + 1 : 0; boot && i < boot->clocks.n; i++) {
		const struct own_clock *c = &boot->clocks.items[i];

		if (c->mono_ns > t1)
			break;
		to = own_unix(boot, c->mono_ns - 1);
		*ret_from = MIN(*ret_from, c->unix_ns);
		*ret_to = MAX(*ret_to, MAX(c->unix_ns, to));
	}
}

bool own_mono_range(const struct own_boot *boot, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t *ret_from,
		    uint64_t *ret_to)
{
	bool is_any = false;

	for (size_t i = 0; i < boot->clocks.n; i++) {
		const struct own_clock *c = &boot->clocks.items[i];
		uint64_t begin = i ? c->mono_ns : 0;
		uint64_t end = i + 1 < boot->clocks.n ? c[1].mono_ns : INT64_MAX;
		__int128 offset = (__int128)c->unix_ns - (__int128)c->mono_ns;
		__int128 low = from_unix_ns ? (__int128)from_unix_ns - offset : 0;
		__int128 high = to_unix_ns ? (__int128)to_unix_ns - offset : INT64_MAX;

		if (low < (__int128)begin)
			low = begin;
		if (high > (__int128)end)
			high = end;
		if (low >= high)
			continue;
		*ret_from = is_any ? MIN(*ret_from, (uint64_t)low) : (uint64_t)low;
		*ret_to = is_any ? MAX(*ret_to, (uint64_t)high) : (uint64_t)high;
		is_any = true;
	}
	return is_any;
}

static int boots_load(struct store_reader *own)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, "SELECT boot, mono_ns, unix_ns FROM clock ORDER BY boot, mono_ns", &s);

	while (r == 0) {
		struct own_clock c;
		uint32_t id;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		id = (uint32_t)sqlite3_column_int64(s, 0);
		c.mono_ns = (uint64_t)sqlite3_column_int64(s, 1);
		c.unix_ns = (uint64_t)sqlite3_column_int64(s, 2);
		if (own->boots.n == 0 || own->boots.items[own->boots.n - 1].id != id) {
			struct own_boot boot = { .id = id };

			r = ARRAY_PUSH(&own->boots, boot);
			if (r)
				break;
		}
		r = ARRAY_PUSH(&own->boots.items[own->boots.n - 1].clocks, c);
	}
	return r;
}

/* ---- processes ---- */

static struct program_number number_of(sqlite3_stmt *s, int column)
{
	return (struct program_number){ .value = (uint32_t)sqlite3_column_int64(s, column),
					.is_known = sqlite3_column_type(s, column) != SQLITE_NULL };
}

static void program_read_row(sqlite3_stmt *s, struct program *ret)
{
	static const struct {
		size_t place, bytes;
	} texts[] = { { offsetof(struct program, script), sizeof(ret->script) },
		      { offsetof(struct program, executable), sizeof(ret->executable) },
		      { offsetof(struct program, container), sizeof(ret->container) } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = (const char *)sqlite3_column_text(s, 11 + (int)i);

		(void)snprintf((char *)ret + texts[i].place, texts[i].bytes, "%s", text ? text : "");
	}
	ret->cgroup_id = (uint64_t)sqlite3_column_int64(s, 14);
	ret->rank = number_of(s, 15);
	ret->local_rank = number_of(s, 16);
	ret->world_size = number_of(s, 17);
}

static void process_read(struct store_reader *own, sqlite3_stmt *s, struct own_process *ret)
{
	const char *comm = (const char *)sqlite3_column_text(s, 8);
	uint32_t flags = (uint32_t)sqlite3_column_int64(s, 7);
	const struct own_boot *boot;

	ret->id = (uint32_t)sqlite3_column_int64(s, 0);
	ret->row = (struct read_process){
		.id = ret->id,
		.boot = (uint32_t)sqlite3_column_int64(s, 1),
		.pid = (uint32_t)sqlite3_column_int64(s, 2),
		.start_unix_ns = (uint64_t)sqlite3_column_int64(s, 4),
		.exec_gen = (uint32_t)sqlite3_column_int64(s, 5),
		.uid = (uint32_t)sqlite3_column_int64(s, 6),
	};
	boot = own_boot(own, ret->row.boot);
	ret->row.first_unix_ns = own_unix(boot, (uint64_t)sqlite3_column_int64(s, 9));
	if (sqlite3_column_type(s, 10) != SQLITE_NULL)
		ret->row.gone_unix_ns = own_unix(boot, (uint64_t)sqlite3_column_int64(s, 10));
	(void)snprintf(ret->comm, sizeof(ret->comm), "%s", comm ? comm : "");
	ret->row.comm = ret->comm;
	program_read_row(s, &ret->row.program);
	ret->is_visible = own->scope.all || (ret->row.uid == own->scope.uid && !(flags & PROCESS_GUARDED));
}

#define PROCESS_COLUMNS "id, boot, pid, start_boot_ns, start_unix_ns, exec_gen, uid, flags, comm, first_ns, gone_ns, "
#define PROGRAM_COLUMNS "script, executable, container, cgroup_id, rank, local_rank, world_size"
#define NO_PROGRAM "NULL, NULL, NULL, NULL, NULL, NULL, NULL" /* before version 3 */

static struct own_process **process_place(struct store_reader *own, uint32_t id)
{
	size_t i = (id * 2654435761u) & (own->n_places - 1);

	while (own->processes[i] && own->processes[i]->id != id)
		i = (i + 1) & (own->n_places - 1);
	return &own->processes[i];
}

static int processes_grow(struct store_reader *own)
{
	struct own_process **old = own->processes;
	size_t n_old = own->n_places;

	if (own->n_processes * 2 < own->n_places)
		return 0;
	own->processes = calloc(n_old ? n_old * 2 : 256, sizeof(struct own_process *));
	if (!own->processes) {
		own->processes = old;
		return -ENOMEM;
	}
	own->n_places = n_old ? n_old * 2 : 256;
	for (size_t i = 0; i < n_old; i++)
		if (old[i])
			*process_place(own, old[i]->id) = old[i];
	free(old);
	return 0;
}

const struct read_process *store_reader_process(struct store_reader *own, uint32_t id)
{
	struct own_process **place;

	if (processes_grow(own) < 0)
		return NULL; /* as if it could not be seen: nothing is shown that might not be */
	place = process_place(own, id);
	if (!*place) {
		CLEANUP(freep) struct own_process *fresh = calloc(1, sizeof(*fresh));

		if (!fresh)
			return NULL;
		fresh->id = id;
		(void)sqlite3_bind_int64(own->process_find, 1, id);
		if (sqlite3_step(own->process_find) == SQLITE_ROW)
			process_read(own, own->process_find, fresh);
		(void)sqlite3_reset(own->process_find);
		*place = TAKE_PTR(fresh);
		own->n_processes++;
	}
	return (*place)->is_visible ? &(*place)->row : NULL;
}

int store_reader_processes(struct store_reader *own, read_process_func func, void *data)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, "SELECT id FROM process ORDER BY id", &s);

	while (r == 0) {
		const struct read_process *p;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		p = store_reader_process(own, (uint32_t)sqlite3_column_int64(s, 0));
		if (p)
			r = func(p, data);
	}
	return r;
}

/* ---- operations ---- */

static char *column_copy(sqlite3_stmt *s, int column, char *to)
{
	size_t n = (size_t)sqlite3_column_bytes(s, column);
	const void *text = sqlite3_column_text(s, column);

	if (text)
		memcpy(to, text, n);
	to[n] = '\0';
	return to + n + 1;
}

static int ops_load(struct store_reader *own)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, "SELECT id, source, name, short_name FROM op ORDER BY id", &s);

	while (r == 0 && own->ops.n < OPS_MAX) {
		struct own_op op = { .text = NULL };
		size_t bytes = 3;
		char *p;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		for (int i = 1; i <= 3; i++) {
			(void)sqlite3_column_text(s, i); /* so that bytes are those of UTF-8 */
			bytes += (size_t)sqlite3_column_bytes(s, i);
		}
		op.text = malloc(bytes);
		if (!op.text)
			return -ENOMEM;
		op.row.id = (uint32_t)sqlite3_column_int64(s, 0);
		op.row.source = p = op.text;
		op.row.name = p = column_copy(s, 1, p);
		op.row.short_name = p = column_copy(s, 2, p);
		(void)column_copy(s, 3, p);
		if (op.row.id >= OP_GIVEN &&
		    !own->is_imported) { /* has the name of a row of ops.def since (archive/write/open.c) */
			op.text[strlen(op.row.source) + 1 + strcspn(op.row.name, " ")] = '\0';
			op.row.is_unlisted = !own->scope.all;
		}
		r = ARRAY_PUSH(&own->ops, op);
		if (r)
			free(op.text);
	}
	return r;
}

const struct read_op *store_reader_op(struct store_reader *own, uint32_t id)
{
	size_t at = SORTED_PLACE(own->ops.n, i, own->ops.items[i].row.id < id);

	return at < own->ops.n && own->ops.items[at].row.id == id ? &own->ops.items[at].row : NULL;
}

int store_reader_ops(struct store_reader *own, read_op_func func, void *data)
{
	int r = 0;

	for (size_t i = 0; i < own->ops.n && r == 0; i++)
		r = func(&own->ops.items[i].row, data);
	return r;
}

uint64_t store_reader_unix(struct store_reader *own, uint32_t boot, uint64_t mono_ns)
{
	return own_unix(own_boot(own, boot), mono_ns);
}

bool store_reader_tells_losses(const struct store_reader *own)
{
	return !own->is_imported;
}

/* ---- opening ---- */

void store_reader_close(struct store_reader *own)
{
	if (!own)
		return;
	(void)sqlite3_finalize(own->process_find);
	for (size_t i = 0; i < own->boots.n; i++)
		ARRAY_DONE(&own->boots.items[i].clocks);
	ARRAY_DONE(&own->boots);
	for (size_t i = 0; i < own->ops.n; i++)
		free(own->ops.items[i].text);
	ARRAY_DONE(&own->ops);
	for (size_t i = 0; i < own->n_places; i++)
		free(own->processes[i]);
	free(own->processes);
	ARRAY_DONE(&own->damage);
	own_scratch_free(own);
	free(own);
}

static void store_reader_closep(struct store_reader **own)
{
	store_reader_close(*own);
}

/* Return: 1 when it has our tables, 0 when not, -errno */
static int is_own(sqlite3 *db)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int step, r;

	r = sql_prepare(db,
			"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
			"('boot', 'block', 'block_data', 'tail', 'figures', 'process')",
			&s);
	if (r)
		return r;
	step = sql_step(s);
	return step > 0 ? sqlite3_column_int(s, 0) == 6 : step;
}

static int number_read(sqlite3 *db, const char *sql, int64_t *ret_number)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int step, r = sql_prepare(db, sql, &s);

	if (r)
		return r;
	step = sql_step(s);
	if (step <= 0)
		return step;
	*ret_number = sqlite3_column_int64(s, 0);
	return 0;
}

int store_reader_open(struct sqlite3 *db, const struct read_scope *scope, char *why, struct store_reader **ret_reader)
{
	CLEANUP(store_reader_closep) struct store_reader *own = NULL;
	int64_t version = 0, n_imported = 0;
	int r = is_own(db);

	why[0] = '\0';
	if (r == 0) {
		(void)snprintf(why, READ_WHY_BYTES, "the file is a database, but neither ingero's nor Ingero's");
		return -EINVAL;
	}
	if (r == 1)
		r = number_read(db, "PRAGMA user_version", &version);
	if (r == 0 && version > READ_OWN_VERSION) {
		(void)snprintf(
			why, READ_WHY_BYTES,
			"the database was recorded by a newer ingero (its format is %lld, this one knows %d): use "
			"that one to read it",
			(long long)version, READ_OWN_VERSION);
		return -ENOTSUP;
	}
	if (r == 0)
		r = number_read(db, "SELECT count(*) FROM boot WHERE boot_id LIKE 'import:%'", &n_imported);
	if (r == 0) {
		own = calloc(1, sizeof(*own));
		r = own ? 0 : -ENOMEM;
	}
	if (r == 0) {
		own->db = db;
		own->version = version;
		own->is_imported = n_imported > 0;
		own->scope = *scope;
		r = boots_load(own);
	}
	if (r == 0)
		r = ops_load(own);
	if (r == 0)
		r = sql_prepare(db,
				version < 3 ? "SELECT " PROCESS_COLUMNS NO_PROGRAM " FROM process WHERE id = ?"
					    : "SELECT " PROCESS_COLUMNS PROGRAM_COLUMNS " FROM process WHERE id = ?",
				&own->process_find);
	if (r < 0) {
		(void)snprintf(why, READ_WHY_BYTES, "the database cannot be read: %s", sqlite3_errmsg(db));
		return r;
	}

	*ret_reader = own;
	own = NULL; /* the caller's */
	return 0;
}
