// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of this directory share: the file under way, and its tables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/export/export.h"
#include "archive/read/read.h"

struct sqlite3_stmt;

/* A call's operation by Ingero's numbers. */
struct export_op {
	uint32_t id; /* the reader's */
	int64_t source, number;
};

struct export_stack {
	uint32_t id;
	bool is_used; /* by a call that was written */
	int64_t hash;
};

struct export
{
	struct store_reader *reader;
	struct export_request request;
	struct sqlite3 *out;
	struct sqlite3_stmt *statement;	   /* of the table being filled */
	uint64_t from_unix_ns, to_unix_ns; /* as asked for, else those of the file */
	const char *node;		   /* of the newest session */
	char node_text[64];
	uint64_t n_events;
	uint32_t n_own_ops;		   /* that Ingero has no number for */
	ARRAY(struct export_op) ops;	   /* by id */
	ARRAY(struct export_stack) stacks; /* by id */
};

extern const char export_schema[]; /* tables, and what is always in them */
extern const char export_finish[]; /* indexes, and what follows from other tables */

/** export_prepare() - the statement that fills a table; the one before is done with. Return: 0 or -errno */
int export_prepare(struct export *e, const char *sql);
/** export_step() - write one row and let go of what was bound. Return: 0 or -errno */
int export_step(struct export *e);
void export_bind_text(struct export *e, int parameter, const char *text);
void export_bind_u64(struct export *e, int parameter, uint64_t value);
int export_exec(struct export *e, const char *sql);

/** export_findings() - as rows of table causal_chains */
int export_findings(struct export *e);
/** export_stacks_load() - hashes of all; before the calls. Return: 0 or -errno */
int export_stacks_load(struct export *e);
/** export_stack_hash() - of a call's stack, which is in use from now on */
int64_t export_stack_hash(struct export *e, uint32_t id);
/** export_stacks() - those in use. Return: 0 or -errno */
int export_stacks(struct export *e);

/** export_json_text() - append a JSON string */
struct buf;
void export_json_text(struct buf *out, const char *text);
