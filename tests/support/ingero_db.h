// SPDX-License-Identifier: Apache-2.0
/* The recordings of tests/data/ingero-db, opened in memory: the files are never changed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sqlite3;

/** ingero_db_unpack() - read a recording. Return: bytes in sqlite3_malloc() memory, NULL with a line on stderr */
unsigned char *ingero_db_unpack(const char *name, size_t *ret_n);
/**
 * ingero_db_open() - open a recording. @name: file name without .gz. Return: a connection, NULL with a line on stderr
 */
struct sqlite3 *ingero_db_open(const char *name, bool is_writable);
/**
 * ingero_db_open_bytes() - open a database in memory. @data: sqlite3_malloc() memory, owned by the connection from then
 * on
 */
struct sqlite3 *ingero_db_open_bytes(unsigned char *data, size_t n, bool is_writable);
