// SPDX-License-Identifier: Apache-2.0
/*
 * Operations of a foreign file: maps (source, op) numbers to names.
 *
 * Names come from the file's own lookup tables, then from ingero_names.c: the file's tables lack some operations that
 * Ingero records (graphs, 2D and peer copies, summaries). An operation in neither is named by its number. An operation
 * of bpf/ops.def gets its id and full name; all others get ids from OP_ID_MAX on.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "events/op.h"
#include "archive/foreign/ingero_names.h"

/* Operations without a row in ops.def whose first argument is a size in bytes. */
static const char *const byte_ops[] = { "cudaMemcpy2D", "cudaMemcpy2DAsync", "cudaMemcpyPeer", "cudaMemcpyPeerAsync",
					"mm_page_alloc" };

/* Names that changed between releases of Ingero. */
static const struct {
	const char *old_name, *name;
} aliases[] = { { "cuMemAllocV2", "cuMemAlloc" }, { "cuMemAllocManagedV2", "cuMemAllocManaged" } };

static const char *source_name(struct foreign_file *f, int64_t source)
{
	char text[FOREIGN_NAME_BYTES];

	for (size_t i = 0; i < ingero_source_count; i++)
		if (ingero_sources[i].id == source)
			return ingero_sources[i].name;
	snprintf(text, sizeof(text), "unknown(%lld)", (long long)source);
	return arena_copy_text(&f->texts, text);
}

/* Return: row of ops.def for an operation of the file; NULL: none */
static const struct op *own_op(const char *source, const char *name)
{
	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);

		if (op_is_call(op) && !strcmp(op_layer_to_source(op->layer), source) &&
		    (!strcasecmp(op->short_name, name) || !strcasecmp(op->name, name)))
			return op;
	}
	return NULL;
}

/* @name: must live as long as the source */
static int op_add(struct foreign_file *f, int64_t source, int64_t number, const char *name)
{
	struct foreign_op *entry = ARENA_NEW(&f->texts, struct foreign_op);
	const struct op *own;

	if (!entry)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcasecmp(name, aliases[i].old_name))
			name = aliases[i].name;
	entry->op.source = source_name(f, source);
	if (!entry->op.source)
		return -ENOMEM;
	own = own_op(source == INGERO_GRAPH ? "cuda" : entry->op.source, name);
	entry->source = source;
	entry->number = number;
	entry->is_call =
		source == INGERO_CUDA || source == INGERO_DRIVER || source == INGERO_GRAPH || source == INGERO_NCCL;
	entry->has_bytes = own && own->meaning[0] == OP_MEANING_BYTES;
	for (size_t i = 0; i < ARRAY_SIZE(byte_ops); i++)
		entry->has_bytes |= !strcmp(name, byte_ops[i]);
	entry->op.id = own ? own->id : (uint32_t)(OP_ID_MAX + f->ops.n);
	entry->op.name = own ? own->name : name;
	entry->op.short_name = own ? own->short_name : name;
	/* A file may have two numbers for one operation. */
	for (size_t i = 0; i < f->ops.n; i++)
		if (!strcmp(f->ops.items[i]->op.source, entry->op.source) &&
		    !strcmp(f->ops.items[i]->op.name, entry->op.name))
			entry->op.id = f->ops.items[i]->op.id;
	return ARRAY_PUSH(&f->ops, entry);
}

static const struct foreign_op *op_known(const struct foreign_file *f, int64_t source, int64_t number)
{
	for (size_t i = 0; i < f->ops.n; i++)
		if (f->ops.items[i]->source == source && f->ops.items[i]->number == number)
			return f->ops.items[i];
	return NULL;
}

static int file_names_load(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r;

	if (!f->has[FOREIGN_OPS])
		return 0;
	r = foreign_select(f, FOREIGN_OPS, "source_id=NULL op_id=NULL name=NULL", "LIMIT 1024", &statement);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		uint64_t source, number;
		char text[FOREIGN_NAME_BYTES];
		const char *name;

		r = 0;
		if (!foreign_u64(statement, 0, INT32_MAX, &source) || !foreign_u64(statement, 1, INT32_MAX, &number) ||
		    !*foreign_text(statement, 2, text, sizeof(text)) || op_known(f, (int64_t)source, (int64_t)number))
			continue;
		name = arena_copy_text(&f->texts, text);
		r = name ? op_add(f, (int64_t)source, (int64_t)number, name) : -ENOMEM;
	}
	return r;
}

int foreign_ops_load(struct foreign_file *f)
{
	int r = file_names_load(f);

	for (size_t i = 0; r == 0 && i < ingero_op_count; i++)
		if (!op_known(f, ingero_ops[i].source, ingero_ops[i].id))
			r = op_add(f, ingero_ops[i].source, ingero_ops[i].id, ingero_ops[i].name);
	return r;
}

const struct foreign_op *foreign_op_find(struct foreign_file *f, int64_t source, int64_t number)
{
	const struct foreign_op *known = op_known(f, source, number);
	char text[FOREIGN_NAME_BYTES];
	const char *name, *prefix = "";

	if (known || f->ops.n >= FOREIGN_OPS_MAX)
		return known;
	for (size_t i = 0; i < ingero_source_count; i++)
		if (ingero_sources[i].id == source)
			prefix = ingero_sources[i].prefix;
	snprintf(text, sizeof(text), "%sop(%lld)", prefix, (long long)number);
	name = arena_copy_text(&f->texts, text);
	if (!name || op_add(f, source, number, name) < 0)
		return NULL;
	return f->ops.items[f->ops.n - 1];
}

int foreign_ops_put(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *put = NULL;
	int r = sql_prepare(f->out.db.handle,
			    "INSERT OR REPLACE INTO op (id, source, name, short_name) VALUES (?1, ?2, ?3, ?4)", &put);

	/* If an operation has several numbers, the first is used. */
	for (size_t i = f->ops.n; r == 0 && i-- > 0;) {
		const struct read_op *op = &f->ops.items[i]->op;

		(void)sqlite3_bind_int64(put, 1, op->id);
		sql_text(put, 2, op->source);
		sql_text(put, 3, op->name);
		sql_text(put, 4, op->short_name ? op->short_name : "");
		r = sql_run(put);
	}
	return r;
}
