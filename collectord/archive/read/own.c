// SPDX-License-Identifier: Apache-2.0
#include "archive/read/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

int own_damaged(struct own_file *own, char kind, int64_t id, uint32_t boot, uint64_t t0, uint64_t t1, uint64_t n)
{
	struct own_damage damage = { .kind = kind, .id = id, .boot = boot, .n = n };

	for (size_t i = 0; i < own->damage.n; i++)
		if (own->damage.items[i].kind == kind && own->damage.items[i].id == id)
			return 0;
	own_unix_range(own_boot(own, boot), t0, t1, &damage.from_unix_ns, &damage.to_unix_ns);
	return ARRAY_PUSH(&own->damage, damage);
}

/* ---- time ---- */

const struct own_boot *own_boot(const struct own_file *own, uint32_t id)
{
	for (size_t i = 0; i < own->boots.n; i++)
		if (own->boots.items[i].id == id)
			return &own->boots.items[i];
	return NULL;
}

/* Index of the last clock row that is not later than a time; 0 for a time before the first row. */
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
	return c->unix_ns - c->mono_ns + mono_ns; /* modulo 2^64, since unix_ns - mono_ns may be negative */
}

void own_unix_range(const struct own_boot *boot, uint64_t t0, uint64_t t1, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t from = own_unix(boot, t0), to = own_unix(boot, t1);

	*ret_from = MIN(from, to);
	*ret_to = MAX(from, to);
	/* A clock step between both ends may lead to times outside them. */
	for (size_t i = boot ? clock_find(boot, t0) + 1 : 0; boot && i < boot->clocks.n; i++) {
		const struct own_clock *c = &boot->clocks.items[i];

		if (c->mono_ns > t1)
			break;
		to = own_unix(boot, c->mono_ns - 1);
		*ret_from = MIN(*ret_from, c->unix_ns);
		*ret_to = MAX(*ret_to, MAX(c->unix_ns, to));
	}
}

bool own_clock_range(const struct own_boot *boot, size_t i, uint64_t from_unix_ns, uint64_t to_unix_ns,
		     uint64_t *ret_from, uint64_t *ret_to)
{
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
		return false;
	*ret_from = (uint64_t)low;
	*ret_to = (uint64_t)high;
	return true;
}

bool own_mono_range(const struct own_boot *boot, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t *ret_from,
		    uint64_t *ret_to)
{
	bool is_any = false;

	for (size_t i = 0; i < boot->clocks.n; i++) {
		uint64_t low, high;

		if (!own_clock_range(boot, i, from_unix_ns, to_unix_ns, &low, &high))
			continue;
		*ret_from = is_any ? MIN(*ret_from, low) : low;
		*ret_to = is_any ? MAX(*ret_to, high) : high;
		is_any = true;
	}
	return is_any;
}

static int boots_load(struct own_file *own)
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

const char *own_node(const struct own_file *own, uint32_t boot)
{
	const struct own_boot *known = own_boot(own, boot);

	if (known && known->node[0])
		return known->node;
	return own->n_nodes > 1 ? "" : own->node; /* several nodes: it is unknown which one */
}

static struct own_boot *boot_of(struct own_file *own, uint32_t id)
{
	return (struct own_boot *)(uintptr_t)own_boot(own, id);
}

/*
 * Load the node of each boot, from the boot's newest session. In an imported file it is part of the boot's name,
 * import:NUMBER:NODE.
 */
static int nodes_load(struct own_file *own)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	const char *first = NULL;
	int step = 0, r;

	r = sql_prepare(own->db,
			own->is_imported
				? "SELECT id, substr(boot_id, 9 + length(id)), '' FROM boot"
				  " UNION ALL SELECT NULL, '', node FROM (SELECT node FROM session ORDER BY id)"
				: "SELECT boot, node, node FROM session ORDER BY id",
			&s);
	while (r == 0 && (step = sql_step(s)) > 0) {
		const char *node = (const char *)sqlite3_column_text(s, 1);
		const char *newest = (const char *)sqlite3_column_text(s, 2);
		struct own_boot *boot = boot_of(own, (uint32_t)sqlite3_column_int64(s, 0));

		if (boot && node && *node)
			(void)snprintf(boot->node, sizeof(boot->node), "%s", node);
		if (newest && (*newest || !own->is_imported))
			(void)snprintf(own->node, sizeof(own->node), "%s", newest);
	}
	/* Only imports have several nodes: a database of ours is of one machine, which may have been renamed. */
	for (size_t i = 0; own->is_imported && i < own->boots.n; i++) {
		const char *node = own->boots.items[i].node;

		if (!node[0] || (first && strcmp(first, node) == 0))
			continue;
		first = node;
		own->n_nodes++;
	}
	return r ? r : step;
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
		(void)utf8_scrub((char *)ret + texts[i].place);
	}
	ret->cgroup_id = (uint64_t)sqlite3_column_int64(s, 14);
	ret->rank = number_of(s, 15);
	ret->local_rank = number_of(s, 16);
	ret->world_size = number_of(s, 17);
}

static void process_read(struct own_file *own, sqlite3_stmt *s, struct own_process *ret)
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
	(void)utf8_scrub(ret->comm); /* the process can choose any bytes as its name */
	ret->row.comm = ret->comm;
	program_read_row(s, &ret->row.program);
	ret->row.id = own->first_process + ret->id;
	ret->row.file = own->number;
	ret->row.node = own_node(own, ret->row.boot);
	ret->row.tells_node = own->tells_nodes && *ret->row.node;
	ret->is_visible = own->scope.all || (ret->row.uid == own->scope.uid && !(flags & PROCESS_GUARDED));
}

#define PROCESS_COLUMNS "id, boot, pid, start_boot_ns, start_unix_ns, exec_gen, uid, flags, comm, first_ns, gone_ns, "
#define PROGRAM_COLUMNS "script, executable, container, cgroup_id, rank, local_rank, world_size"
#define NO_PROGRAM "NULL, NULL, NULL, NULL, NULL, NULL, NULL" /* files before version 3 */

static struct own_process **process_place(struct own_file *own, uint32_t id)
{
	size_t i = (id * 2654435761u) & (own->n_places - 1);

	while (own->processes[i] && own->processes[i]->id != id)
		i = (i + 1) & (own->n_places - 1);
	return &own->processes[i];
}

static int processes_grow(struct own_file *own)
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

const struct read_process *own_process(struct own_file *own, uint32_t id)
{
	struct own_process **place;

	if (id > own->process_max || processes_grow(own) < 0)
		return NULL; /* no memory: the process counts as invisible, so that no caller sees too much */
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

int own_processes(struct own_file *own, read_process_func func, void *data)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db,
			    own->scope.all ? "SELECT id FROM process ORDER BY id"
					   : "SELECT id FROM process WHERE uid = ?1 ORDER BY id",
			    &s);

	if (r == 0 && !own->scope.all)
		(void)sqlite3_bind_int64(s, 1, own->scope.uid); /* others' rows are not kept in memory */
	while (r == 0) {
		const struct read_process *p;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		p = own_process(own, (uint32_t)sqlite3_column_int64(s, 0));
		if (p)
			r = func(p, data);
	}
	return r;
}

/* ---- opening ---- */

void own_close(struct own_file *own)
{
	if (!own)
		return;
	(void)sqlite3_finalize(own->process_find);
	own_stacks_close(own);
	for (size_t i = 0; i < own->boots.n; i++)
		ARRAY_DONE(&own->boots.items[i].clocks);
	ARRAY_DONE(&own->boots);
	ARRAY_DONE(&own->op_numbers);
	for (size_t i = 0; i < own->n_places; i++)
		free(own->processes[i]);
	free(own->processes);
	ARRAY_DONE(&own->damage);
	own_scratch_free(own);
	free(own);
}

static void own_closep(struct own_file **own)
{
	own_close(*own);
}

/* Return: 1 if the file has our tables, 0 if not, -errno */
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

int own_open(struct sqlite3 *db, const struct read_scope *scope, char *why, struct own_ops *ops,
	     struct own_file **ret_own)
{
	CLEANUP(own_closep) struct own_file *own = NULL;
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
			"the database was recorded by a newer ingero (its format is %lld, this one knows %d): read it "
			"with that version",
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
		own->number = 1;
		own->process_max = own->stack_max = UINT32_MAX;
		r = boots_load(own);
	}
	if (r == 0)
		r = nodes_load(own);
	if (r == 0)
		r = own_ops_load(own, ops);
	if (r == 0)
		r = sql_prepare(db,
				version < 3 ? "SELECT " PROCESS_COLUMNS NO_PROGRAM " FROM process WHERE id = ?"
					    : "SELECT " PROCESS_COLUMNS PROGRAM_COLUMNS " FROM process WHERE id = ?",
				&own->process_find);
	if (r < 0) {
		(void)snprintf(why, READ_WHY_BYTES, "the database cannot be read: %s", sqlite3_errmsg(db));
		return r;
	}

	*ret_own = TAKE_PTR(own);
	return 0;
}
