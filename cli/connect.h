// SPDX-License-Identifier: Apache-2.0
/* The connection of a command, and the options that choose it. */
#pragma once

#include "base/buf.h"
#include "cli/options.h"
#include "ingero/connect.h"

/* The option of commands that show data of users. */
#define ALL_OPTION(member)                                                                                             \
	OPTION_ROW(FLAG, "all", member,                                                                                \
		   "Data of all users, also under sudo; without it your own (members of ingero-read always see all)")

/* The row of commands that read, bound to a const char * of their fields. */
#define DATABASE_READ_OPTION(member)                                                                                   \
	OPTION_ROW(TEXT, "db", member,                                                                                 \
		   "Read this database, of ours or recorded by Ingero; default: INGERO_DB, else the service's, else "  \
		   "~/.ingero/ingero.db",                                                                              \
		   .letter = 'd', .value = "FILE")

/** connect_open() - ingero_connect(), with errors printed on stderr */
int connect_open(const struct ingero_connect_wish *wish, struct ingero **ret_ingero, bool *ret_is_private);
/**
 * connect_whose() - appends whom an answer is about, to follow "processes": "of alice", "of pid 4711"
 * @pids: that were asked for
 * @db_path: NULL: the service's database
 */
void connect_whose(const struct ingero *ingero, const struct option_ids *pids, const char *db_path, struct buf *out);
