// SPDX-License-Identifier: Apache-2.0
/*
 * A store in a directory of its own that gets numbered calls from a clock set by the test, and the contents of its
 * file, read directly from the tables, not by the code under test.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "archive/write/store.h"

#define WORLD_PROCESSES 6
#define WORLD_STACKS 5				      /* of each owner */
#define WORLD_FIRST_NS (1000 * 1000000000ull)	      /* monotonic time at the start of a world */
#define WORLD_UNIX_NS (1700000000ull * 1000000000ull) /* wall clock at that time */
#define WORLD_GAP_NS 1000000ull			      /* time between two calls */

struct store_world {
	char directory[64];
	char path[128];
	uint64_t now_ns;
	int64_t offset_ns; /* wall clock minus monotonic */
	uint64_t ticked_ns;
	uint32_t n_calls; /* calls so far, numbered from 0 */
	uint32_t n_ticked;
	bool has_stacks;		       /* most calls have one, which is named with the next tick */
	struct stack *stacks[2][WORLD_STACKS]; /* by owner; NULL: not seen yet */
	struct store_clock clock;
	struct store_options options;
};

void store_world_init(struct store_world *world);
/** store_world_done() - remove it with its directory */
void store_world_done(struct store_world *world);
/** store_world_open() - open the store; ends the test on failure */
struct store *store_world_open(struct store_world *world);
/** store_world_calls() - store the next n calls, WORLD_GAP_NS apart; every third belongs to another owner */
void store_world_calls(struct store_world *world, struct store *store, uint32_t n);
/** store_world_tick() - store the figures of all calls since the last tick */
void store_world_tick(struct store_world *world, struct store *store);
/**
 * store_world_sql() - run one statement on the file. Return: first column of the first row, 0 without a row, -1 on
 * failure
 */
int64_t store_world_sql(const struct store_world *world, const char *sql);

/* Contents of the file for the calls numbered below `n`. */
struct store_books {
	bool is_open;	/* SQLite could open it */
	bool is_intact; /* integrity_check found no error */
	uint32_t n_events;
	uint32_t n_blocks; /* rows */
	uint32_t n_tails;
	uint32_t n_missing;
	uint32_t n_doubled;
	uint32_t n_wrong;	/* calls with wrong contents, a wrong owner, or frames of another stack */
	uint32_t n_nameless;	/* calls whose process has no row */
	uint32_t n_damaged;	/* rows whose checksum is wrong: a reader refuses them */
	uint32_t first_missing; /* UINT32_MAX: none */
	uint64_t n_counted[3];	/* calls in figures of each level */
	uint32_t n_stacks;	/* calls whose stack has a row */
	uint32_t n_stacks_none; /* calls that had a stack, and have none here */
	uint32_t n_gaps;
};
void store_books_read(const char *path, uint32_t n, struct store_books *ret_books);
