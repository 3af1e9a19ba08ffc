// SPDX-License-Identifier: Apache-2.0
/*
 * A store in a directory of its own, fed with numbered calls by a clock turned by hand, and
 * books of what its file holds: read straight from the tables, not by the code under test.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "archive/write/store.h"

#define WORLD_PROCESSES 6
#define WORLD_FIRST_NS (1000 * 1000000000ull)	      /* monotonic, when a world begins */
#define WORLD_UNIX_NS (1700000000ull * 1000000000ull) /* its wall clock then */
#define WORLD_GAP_NS 1000000ull			      /* between two calls */

struct store_world {
	char directory[64];
	char path[128];
	uint64_t now_ns;
	int64_t offset_ns; /* wall clock minus monotonic */
	uint64_t ticked_ns;
	uint32_t n_calls; /* numbered from 0 */
	uint32_t n_ticked;
	struct store_clock clock;
	struct store_options options;
};

void store_world_init(struct store_world *world);
/** store_world_done() - with its directory */
void store_world_done(struct store_world *world);
/** store_world_open() - ends the test when that fails. */
struct store *store_world_open(struct store_world *world);
/** store_world_calls() - the next n calls, WORLD_GAP_NS apart; each third of another owner */
void store_world_calls(struct store_world *world, struct store *store, uint32_t n);
/** store_world_tick() - figures of all calls since the last tick */
void store_world_tick(struct store_world *world, struct store *store);
/** store_world_sql() - one statement on the file; the first column of the first row, 0 for none, -1 for failure */
int64_t store_world_sql(const struct store_world *world, const char *sql);

/* What the file holds of the calls numbered below `n`. */
struct store_books {
	bool is_open;	/* SQLite could read it */
	bool is_intact; /* integrity_check */
	uint32_t n_events;
	uint32_t n_blocks; /* rows */
	uint32_t n_tails;
	uint32_t n_missing;
	uint32_t n_doubled;
	uint32_t n_wrong;	/* other contents than were given, or of another owner */
	uint32_t n_nameless;	/* whose process's row is missing */
	uint32_t n_damaged;	/* rows whose checksum is wrong: a reader refuses them */
	uint32_t first_missing; /* UINT32_MAX: none */
	uint64_t n_counted[3];	/* calls in figures of each level */
	uint32_t n_gaps;
};
void store_books_read(const char *path, uint32_t n, struct store_books *ret_books);
