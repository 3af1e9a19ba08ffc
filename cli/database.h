// SPDX-License-Identifier: Apache-2.0
/*
 * Which file a daemon of our own keeps or reads: what was typed, else INGERO_DB, else
 * ~/.ingero/ingero.db of the caller (under sudo: of the one who typed it).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "cli/caller.h"
#include "cli/options.h"

/* The row of commands that read, bound to a const char * of their fields. */
#define DATABASE_READ_OPTION(fields, member)                                                                           \
	{                                                                                                              \
		.name = "db", .letter = 'd', .kind = OPTION_TEXT, .value = "FILE", .field = offsetof(fields, member),  \
		.help = "Read this database, of ours or recorded by Ingero; default: INGERO_DB, else the service's, "  \
			"else ~/.ingero/ingero.db"                                                                     \
	}

struct database {
	char path[PATH_MAX];
	bool is_named; /* by --db or INGERO_DB */
};

/** database_look() - the caller's own, or the one that INGERO_DB names, silently. Return: 0, or -errno: there is no
 * place */
int database_look(const struct caller *caller, struct database *ret_database);
/**
 * database_find() - @typed: value of --db; NULL: not given
 * Return: 0; -ENAMETOOLONG, -ENOENT (the caller has no home directory), after one sentence on stderr
 */
int database_find(const char *typed, const struct caller *caller, struct database *ret_database);
