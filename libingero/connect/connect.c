// SPDX-License-Identifier: Apache-2.0
#include "ingero/connect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/option.h"
#include "base/utf8.h"
#include "libingero/connect/caller.h"
#include "libingero/connect/database.h"

#define ARGS_MAX 64

/* Place for the sentence of a refusal. */
struct refusal {
	char *text;
	size_t bytes;
};

static void refuse(const struct refusal *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void refuse(const struct refusal *why, const char *fmt, ...)
{
	FORMAT_INTO(why->text, why->bytes, fmt);
	if (why->bytes)
		(void)utf8_scrub(why->text); /* names, which other users may have chosen */
}

/* The command line of a private daemon. */
struct daemon_line {
	const char *args[ARGS_MAX];
	size_t n;
	struct database database;
	char owner[32];
};

static int line_add(struct daemon_line *line, const char *arg)
{
	if (line->n + 1 >= ARGS_MAX)
		return -E2BIG;
	line->args[line->n++] = arg;
	line->args[line->n] = NULL;
	return 0;
}

static bool has_more(const struct ingero_connect_wish *wish)
{
	return wish->kind == INGERO_CONNECT_READ && wish->db_path && wish->more_db_paths;
}

/* What a daemon that captures keeps is its caller's, also when it runs as root. */
static int line_add_database(struct daemon_line *line, const struct ingero_connect_wish *wish,
			     const struct caller *caller, const struct refusal *why)
{
	bool keeps_nothing =
		wish->kind == INGERO_CONNECT_CAPTURE && wish->db_path && strcmp(wish->db_path, "none") == 0;
	int r = keeps_nothing ? 0 : database_find(wish->db_path, caller, why->text, why->bytes, &line->database);

	if (r < 0 || keeps_nothing)
		return r;
	r = line_add(line, wish->kind == INGERO_CONNECT_READ ? "--read-db" : "--db");
	if (r == 0)
		r = line_add(line, line->database.path);
	for (size_t i = 0; r == 0 && has_more(wish) && wish->more_db_paths[i]; i++) {
		r = line_add(line, "--read-db");
		if (r == 0)
			r = line_add(line, wish->more_db_paths[i]);
	}
	if (r < 0 || wish->kind == INGERO_CONNECT_READ)
		return r;
	if (!line->database.is_named)
		r = line_add(line, "--db-own-place");
	if (r == 0 && caller->is_sudo) {
		(void)snprintf(line->owner, sizeof(line->owner), "%u:%u", (unsigned int)caller->uid,
			       (unsigned int)caller->gid);
		r = line_add(line, "--db-owner");
		if (r == 0)
			r = line_add(line, line->owner);
	}
	return r;
}

static int line_build(struct daemon_line *line, const struct ingero_connect_wish *wish, const struct caller *caller,
		      const struct refusal *why)
{
	int r = 0;

	for (size_t i = 0; wish->daemon_args && wish->daemon_args[i] && r == 0; i++)
		r = line_add(line, wish->daemon_args[i]);
	/* A demo chooses its own database. */
	if (r == 0 && wish->kind != INGERO_CONNECT_LOOK && (wish->kind != INGERO_CONNECT_DEMO || wish->db_path))
		r = line_add_database(line, wish, caller, why);
	return r;
}

static const char *command_of(const struct ingero_connect_wish *wish)
{
	return wish->command ? wish->command : "explain";
}

static bool names_file(const struct ingero_connect_wish *wish)
{
	const char *variable = getenv("INGERO_DB");

	return wish->db_path || (variable && variable[0]);
}

/* Explains why no private daemon can be started; 0: it can. */
static int private_refuse(const struct ingero_connect_wish *wish, const struct caller *caller, bool is_asked,
			  const struct refusal *why)
{
	const char *option = wish->db_path ? "--db" : wish->needs_private_why, *command = command_of(wish);

	if (wish->kind == INGERO_CONNECT_READ || wish->kind == INGERO_CONNECT_DEMO || caller->is_root)
		return 0;
	if (is_asked && !option)
		refuse(why,
		       "'ingero %s' needs a daemon of its own here, which only root can start; try 'sudo ingero %s "
		       "...'",
		       command, command);
	else if (is_asked)
		refuse(why, "'%s' needs a daemon of its own, which only root can start; try 'sudo ingero %s %s ...'",
		       option, command, option);
	else
		refuse(why,
		       "ingero-collectord is not running here; start it with 'systemctl start ingero-collectord', "
		       "or do without it: 'sudo ingero %s'; 'ingero demo', 'ingero check' and 'ingero explain' of "
		       "a recording need neither",
		       command);
	return is_asked ? -EPERM : -ENOENT;
}

/* A missing file is told before a daemon is started to read it. */
static int database_file_look(const char *path, bool is_named, const struct refusal *why)
{
	struct stat st;

	if (strlen(path) >= PATH_MAX) {
		refuse(why, "the database's name is longer than a path may be: %s", option_quote(path).text);
		return -ENAMETOOLONG;
	}
	if (stat(path, &st) == 0) {
		if (!S_ISDIR(st.st_mode))
			return 0;
		refuse(why, "%s is a directory; name a database file in it", option_quote(path).text);
		return -EISDIR;
	}
	if (errno == ENOENT && !is_named)
		refuse(why,
		       "nothing was recorded yet: no file '%s'; 'sudo ingero trace' creates it, "
		       "'ingero demo incident' shows an example",
		       path);
	else if (errno == ENOENT)
		refuse(why,
		       "cannot read %s: %s; 'sudo ingero trace --db FILE' records one, 'ingero demo incident "
		       "--db FILE' creates an example",
		       option_quote(path).text, strerror(errno));
	else
		refuse(why, "cannot read %s: %s", option_quote(path).text, strerror(errno));
	return -ENOENT;
}

static int database_files_look(const struct ingero_connect_wish *wish, const struct daemon_line *line,
			       const struct refusal *why)
{
	int r;

	if (wish->kind != INGERO_CONNECT_READ)
		return 0;
	r = database_file_look(line->database.path, line->database.is_named, why);
	for (size_t i = 0; r == 0 && has_more(wish) && wish->more_db_paths[i]; i++)
		r = database_file_look(wish->more_db_paths[i], /* is_named= */ true, why);
	return r;
}

/*
 * Reading and playing need none of root's rights. They run as sudo's caller, and for another user's file, as its owner:
 * root without its capabilities may not open it.
 */
static void reader_user_set(const struct ingero_connect_wish *wish, const struct caller *caller,
			    const struct daemon_line *line, struct ingero_options *options)
{
	struct stat st;

	options->daemon_uid = caller->uid;
	options->daemon_gid = caller->gid;
	options->has_daemon_user =
		caller->is_sudo && (wish->kind == INGERO_CONNECT_READ || wish->kind == INGERO_CONNECT_DEMO);
	if (wish->kind == INGERO_CONNECT_READ && caller->is_root && !caller->is_sudo &&
	    stat(line->database.path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid != 0 && !(st.st_mode & S_IROTH)) {
		options->has_daemon_user = true;
		options->daemon_uid = st.st_uid;
		options->daemon_gid = st.st_gid;
	}
	options->has_on_behalf_of &= !options->has_daemon_user;
}

/* Under sudo the client acts for the caller. Return: 0 or -ENOMEM; gids: memory that the options borrow */
static int options_set(const struct ingero_connect_wish *wish, const struct caller *caller, gid_t **gids,
		       struct ingero_options *ret_options)
{
	bool acts_for_caller = !wish->acts_as_root && !wish->is_all;
	struct ingero_options options = {
		.program = wish->program ? wish->program : "libingero " INGERO_VERSION,
		.has_on_behalf_of = caller->is_sudo && acts_for_caller,
		.on_behalf_of = caller->uid,
	};
	int r = options.has_on_behalf_of ? caller_groups(caller, gids, &options.n_on_behalf_of_gids) : 0;

	options.on_behalf_of_gids = *gids;
	*ret_options = options;
	return r;
}

/* The service refuses `--all` to most users; of a database file, its reader may see everything. */
static int all_refuse(const struct ingero_connect_wish *wish, const struct ingero *ingero, const struct refusal *why)
{
	if (!wish->is_all || ingero_hello(ingero)->can_read_all)
		return 0;
	refuse(why, "'--all' is for root and members of ingero-read; leave it out, or try 'sudo ingero %s --all'",
	       command_of(wish));
	return -EPERM;
}

int ingero_connect(const struct ingero_connect_wish *wish, char *error, size_t error_bytes, struct ingero **ret_ingero,
		   bool *ret_is_private)
{
	const struct caller caller = caller_get();
	const struct refusal refusal = { .text = error, .bytes = error_bytes }, *why = &refusal;
	CLEANUP(freep) gid_t *gids = NULL;
	struct ingero_options options;
	bool is_asked = wish->needs_private || wish->db_path || wish->kind == INGERO_CONNECT_DEMO ||
			(wish->kind == INGERO_CONNECT_READ && names_file(wish));
	struct daemon_line line = { .n = 0 };
	int r = caller_check(error, error_bytes);

	if (r < 0)
		return r;
	r = options_set(wish, &caller, &gids, &options);
	error[0] = 0;
	if (r < 0) {
		refuse(why, "%s", strerror(-r));
		return r;
	}
	r = -ENOENT;
	if (!is_asked)
		r = ingero_open(&options, error, error_bytes, ret_ingero);
	if (r == -ENOENT) {
		r = private_refuse(wish, &caller, is_asked, why);
		if (r == 0)
			r = line_build(&line, wish, &caller, why);
		if (r == 0)
			r = database_files_look(wish, &line, why);
		if (r < 0)
			return r;
		options.private_daemon = true;
		options.daemon_args = line.args;
		reader_user_set(wish, &caller, &line, &options);
		error[0] = 0;
		r = ingero_open(&options, error, error_bytes, ret_ingero);
	}
	if (r == 0) {
		r = options.private_daemon ? 0 : all_refuse(wish, *ret_ingero, why);
		if (r < 0)
			ingero_close(*ret_ingero);
	} else if (!error[0]) {
		refuse(why, "cannot reach ingero-collectord");
	}
	if (r == 0 && ret_is_private)
		*ret_is_private = options.private_daemon;
	return r;
}
