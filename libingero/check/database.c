// SPDX-License-Identifier: Apache-2.0
/* The database: its place, and whether it can be written. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libingero/check/item.h"
#include "libingero/render/units.h"

/* Guesses; revisit with databases of weeks. A busy hour takes some hundred MiB. */
#define FREE_LITTLE_BYTES (1ull << 30)
#define FREE_LEAST_BYTES (64ull << 20)

/* Whether the caller may write the path; root stands for the user who typed sudo. */
static bool may_write(const struct check_world *world, const char *path, const struct stat *st)
{
	if (world->is_root && world->uid)
		return st->st_uid == world->uid && st->st_mode & S_IWUSR;
	return faccessat(world->root, path, W_OK, AT_EACCESS) == 0;
}

static void own_database_look(const struct check_world *world, struct check_result *result)
{
	const char *shown = world->database->path;
	char path[PATH_MAX];
	struct statvfs space;
	struct stat st;
	uint64_t bytes = 0, free_bytes;
	int r;

	(void)snprintf(path, sizeof(path), "%s", shown + (shown[0] == '/'));
	r = fstatat(world->root, path, &st, 0);
	if (r == 0 && !S_ISREG(st.st_mode)) {
		check_say(result, CHECK_LEVEL_FAIL, "name another file with '--db' or INGERO_DB",
			  "%s is not a plain file", shown);
		return;
	}
	bytes = r == 0 ? (uint64_t)st.st_size : 0;
	/* A missing path is created in its nearest existing directory. */
	while (r < 0 && errno == ENOENT && strchr(path, '/')) {
		(void)dirname(path);
		r = fstatat(world->root, path, &st, 0);
	}
	if (r < 0 || !may_write(world, path, &st)) {
		check_say(result, CHECK_LEVEL_FAIL,
			  "take ownership with chown, or name another file with '--db' or INGERO_DB",
			  "%s cannot be written: %s", shown, r < 0 ? strerror(errno) : "not allowed");
		return;
	}
	{
		CLEANUP(closep) int fd = openat(world->root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		free_bytes =
			fd >= 0 && fstatvfs(fd, &space) == 0 ? (uint64_t)space.f_bavail * space.f_frsize : UINT64_MAX;
	}
	if (free_bytes == UINT64_MAX)
		check_say(result, CHECK_LEVEL_WARN, "look with 'df'", "%s, free space unknown", shown);
	else
		check_say(result,
			  free_bytes < FREE_LEAST_BYTES	   ? CHECK_LEVEL_FAIL
			  : free_bytes < FREE_LITTLE_BYTES ? CHECK_LEVEL_WARN
							   : CHECK_LEVEL_OK,
			  free_bytes < FREE_LITTLE_BYTES ? "free some space, or limit the database with '--max-db'; "
							   "when the disk is full, capture goes on and "
							   "nothing is stored"
							 : NULL,
			  "%s, %s, %s free", shown, bytes ? units_bytes(bytes).text : "not created yet",
			  units_bytes(free_bytes).text);
}

/* What is only read, and never written. */
static void files_look(const struct check_world *world, struct check_result *result)
{
	CLEANUP(buf_done) struct buf names = BUF_INIT;

	for (size_t i = 0; world->files[i]; i++)
		(void)buf_printf(&names, "%s%s", i ? ", " : "", world->files[i]);
	if (world->files_problem && *world->files_problem)
		check_say(result, CHECK_LEVEL_FAIL, "name another file with '--db'", "%s: %s", buf_text(&names),
			  world->files_problem);
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "answers come from %s", buf_text(&names));
}

void check_database(const struct check_world *world, struct check_result *result)
{
	const Ingero__V1__StatusReply *status = world->daemon.status;
	const Ingero__V1__Store *store = status && !world->daemon.is_private ? status->store : NULL;

	if (world->files)
		files_look(world, result);
	else if (store && *store->problem)
		check_say(result, CHECK_LEVEL_FAIL,
			  "mend the cause; meanwhile capture goes on, and what is not stored is counted",
			  "the service's: %s", store->problem);
	else if (store && *store->path)
		check_say(result, CHECK_LEVEL_OK, NULL, "the service's: %s, %s", store->path,
			  units_bytes(store->bytes).text);
	else if (!world->database)
		check_say(result, CHECK_LEVEL_WARN, "name a file with '--db' or INGERO_DB",
			  "no home directory to keep a database in");
	else
		own_database_look(world, result);
}
