// SPDX-License-Identifier: Apache-2.0
#include "libingero/connect/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "libingero/render/user.h"

#define DATABASE_IN_HOME ".ingero/ingero.db"

/* sudo may set HOME or leave it, as configured: only the user database is reliable. */
static const char *home_of(const struct caller *caller, struct user_entry *entry)
{
	const char *home = caller->is_sudo ? NULL : getenv("HOME");

	if (home && home[0] == '/')
		return home;
	return user_find(caller->uid, entry) && entry->user.pw_dir[0] == '/' ? entry->user.pw_dir : NULL;
}

int database_look(const struct caller *caller, struct database *ret_database)
{
	const char *named = getenv("INGERO_DB");
	struct database database = { .is_named = named && named[0] };
	struct user_entry entry;
	const char *home = database.is_named ? NULL : home_of(caller, &entry);
	int n;

	if (!database.is_named && !home)
		return -ENOENT;
	n = database.is_named ? snprintf(database.path, sizeof(database.path), "%s", named)
			      : snprintf(database.path, sizeof(database.path), "%s/%s", home, DATABASE_IN_HOME);
	if ((size_t)n >= sizeof(database.path))
		return -ENAMETOOLONG;
	*ret_database = database;
	return 0;
}

int database_find(const char *typed, const struct caller *caller, char *error, size_t error_bytes,
		  struct database *ret_database)
{
	struct database database = { .is_named = true };
	int r = 0;

	if (!typed)
		r = database_look(caller, &database);
	else if ((size_t)snprintf(database.path, sizeof(database.path), "%s", typed) >= sizeof(database.path))
		r = -ENAMETOOLONG;

	if (r == -ENOENT)
		(void)snprintf(error, error_bytes,
			       "%s has no home directory to keep a database in: name a file with '--db'",
			       user_name(caller->uid).text);
	else if (r < 0)
		(void)snprintf(error, error_bytes, "the database's name is longer than a path may be: %s",
			       option_quote(typed ? typed : getenv("INGERO_DB")).text);
	else
		*ret_database = database;
	return r;
}
