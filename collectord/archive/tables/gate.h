// SPDX-License-Identifier: Apache-2.0
/*
 * Restrictions of a caller's statement: it may only read the offered tables, with listed functions, within limits of
 * memory and size. Each reason of a refusal has its own sentence.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

#define GATE_WHY_BYTES 600
#define GATE_HEAP_BYTES (64ll << 20) /* memory limit of SQLite in this process */
#define GATE_VALUE_BYTES_MAX 1000000 /* maximum size of one text or blob */
#define GATE_SQL_BYTES_MAX 65536

struct gate {
	const char *const *tables; /* names of the offered tables; ends in NULL */
	char why[GATE_WHY_BYTES];  /* sentence of the last refusal */
};

/**
 * gate_close_in() - lower SQLite's limits and allow nothing but reading; to be called last, after tables_install()
 * Return: 0 or -errno
 */
int gate_close_in(struct gate *gate, struct sqlite3 *db);
/** gate_function() - the i-th allowed function, NULL after the last */
const char *gate_function(size_t i);
/**
 * gate_prepare() - prepare a caller's text as a statement that only reads
 * Return: 0; -EACCES, -EINVAL: gate->why has the reason
 */
int gate_prepare(struct gate *gate, struct sqlite3 *db, const char *sql, size_t n, struct sqlite3_stmt **ret_statement);
