// SPDX-License-Identifier: Apache-2.0
/*
 * The database of a private daemon: the typed name, else INGERO_DB, else ~/.ingero/ingero.db of the caller (under sudo:
 * of the user who typed it).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "libingero/connect/caller.h"

struct database {
	char path[PATH_MAX];
	bool is_named; /* given by --db or INGERO_DB */
};

/**
 * database_look() - the caller's own database, or the one named by INGERO_DB, without messages. Return: 0, or -errno:
 * there is no place for it
 */
int database_look(const struct caller *caller, struct database *ret_database);
/**
 * database_find() - the database of a command. @typed: value of --db; NULL: not given
 * @error: one sentence on failure
 * Return: 0; -ENAMETOOLONG, -ENOENT (the caller has no home directory)
 */
int database_find(const char *typed, const struct caller *caller, char *error, size_t error_bytes,
		  struct database *ret_database);
