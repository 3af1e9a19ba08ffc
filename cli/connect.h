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

/* The row of commands that read, bound to a struct option_texts of their fields. */
#define DATABASE_READ_OPTION(member)                                                                                   \
	OPTION_ROW(TEXTS, "db", member,                                                                                \
		   "Read this database, of ours or recorded by Ingero; repeat it to read several as one. Default: "    \
		   "INGERO_DB, else the service's, else ~/.ingero/ingero.db",                                          \
		   .letter = 'd', .value = "FILE")

/** connect_databases() - names that were given, with a line feed between, as hints take them; NULL: none was */
const char *connect_databases(const struct option_texts *names, struct buf *room);
/** connect_open() - ingero_connect(), saying on stderr why not */
int connect_open(const struct ingero_connect_wish *wish, struct ingero **ret_ingero, bool *ret_is_private);
