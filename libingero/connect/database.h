// SPDX-License-Identifier: Apache-2.0
/*
 * Which file a daemon of our own keeps or reads: what was typed, else INGERO_DB, else
 * ~/.ingero/ingero.db of the caller (under sudo: of the one who typed it).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "libingero/connect/caller.h"

struct database {
	char path[PATH_MAX];
	bool is_named; /* by --db or INGERO_DB */
};

/** database_look() - the caller's own, or the one that INGERO_DB names, silently. Return: 0, or -errno: there is no
 * place */
int database_look(const struct caller *caller, struct database *ret_database);
/**
 * database_find() - @typed: value of --db; NULL: not given
 * @error: one sentence on failure
 * Return: 0; -ENAMETOOLONG, -ENOENT (the caller has no home directory)
 */
int database_find(const char *typed, const struct caller *caller, char *error, size_t error_bytes,
		  struct database *ret_database);
