// SPDX-License-Identifier: Apache-2.0
/*
 * Which file a daemon of our own keeps or reads: what was typed, else INGERO_DB, else
 * ~/.ingero/ingero.db of the caller (under sudo: of the one who typed it).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "cli/caller.h"

struct database {
	char path[PATH_MAX];
	bool is_named; /* by --db or INGERO_DB */
};

/**
 * database_find() - @typed: value of --db; NULL: not given
 * Return: 0; -ENAMETOOLONG, -ENOENT (the caller has no home directory), after one sentence on stderr
 */
int database_find(const char *typed, const struct caller *caller, struct database *ret_database);
