// SPDX-License-Identifier: Apache-2.0
/*
 * A database of ours (schema.sql) that is open; shared by the own files alone.
 */
#pragma once

#include "base/array.h"
#include "archive/read/read.h"
#include "archive/sql/sql.h"

#define READ_OWN_VERSION 4 /* PRAGMA user_version that is understood, and all before it */

struct own_clock {
	uint64_t mono_ns;
	uint64_t unix_ns;
};

struct own_boot {
	uint32_t id;
	ARRAY(struct own_clock) clocks; /* by mono_ns; never empty */
};

/* A place in the hash table of processes that were asked for. */
struct own_process {
	uint32_t id;
	bool is_visible; /* there and in scope */
	struct read_process row;
	char comm[64];
};

struct own_op {
	struct read_op row;
	char *text; /* source, name and short name, one behind another */
};

/* Rows that were found damaged while reading: answered as gaps, never as data. */
struct own_damage {
	uint64_t from_unix_ns;
	uint64_t to_unix_ns;
	uint64_t n;
	int64_t id;
	char kind; /* 'b' block, 't' tail, 'f' figures, 'x' finding */
};

/* Room to unpack blocks in. */
struct own_scratch {
	struct block_decoder *decoder;
	struct stored_event *events; /* BLOCK_EVENTS_MAX */
};

struct store_reader {
	sqlite3 *db;
	int64_t version;  /* of its tables */
	bool is_imported; /* Ingero recorded it */
	struct read_scope scope;
	ARRAY(struct own_boot) boots;
	ARRAY(struct own_op) ops;
	struct own_process **processes; /* n_places, open addressing */
	size_t n_places;
	size_t n_processes;
	sqlite3_stmt *process_find;
	ARRAY(struct own_damage) damage;
	struct own_scratch *scratch; /* of a cursor that was closed, for the next; NULL: none */
};

/** own_damaged() - note it once. Return: 0 or -ENOMEM */
int own_damaged(struct store_reader *own, char kind, int64_t id, uint32_t boot, uint64_t t0, uint64_t t1, uint64_t n);

/** own_boot() - NULL where there is none */
const struct own_boot *own_boot(const struct store_reader *own, uint32_t id);
/** own_unix() - wall-clock time of a moment of a boot; a boot that is not known has no offset */
uint64_t own_unix(const struct own_boot *boot, uint64_t mono_ns);
/** own_unix_range() - earliest and latest wall-clock time of anything between two moments */
void own_unix_range(const struct own_boot *boot, uint64_t t0, uint64_t t1, uint64_t *ret_from, uint64_t *ret_to);
/** own_mono_range() - hull of the moments of a boot in [from, to); 0: no bound. Return: whether there are any */
bool own_mono_range(const struct own_boot *boot, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t *ret_from,
		    uint64_t *ret_to);

void own_scratch_free(struct store_reader *own);
