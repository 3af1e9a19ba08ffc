// SPDX-License-Identifier: Apache-2.0
/* Options and exit status of the daemon. */
#define LOG_TOPIC "main"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/become.h"
#include "base/demo.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "children/child.h"
#include "config.h"
#include "daemon.h"
#include "demo/demo.h"
#include "notify.h"
#include "privilege.h"
#include "probes/closer.h"

#define SOCKET_PATH "/run/ingero.sock"
#define DB_PATH "/var/lib/ingero/ingero.db"
#define USER "ingero"

static const char usage[] = "usage: ingero-collectord [options]\n"
			    "\n"
			    "Watches GPU calls and answers ingero-cli on a Unix socket. Needs root or the\n"
			    "capabilities of its service unit. Options are read from " CONFIG_PATH "\n"
			    "first, then from the command line, which takes precedence ('ingero config show').\n"
			    "\n";

/* Settings, and the fields that options are bound to. */
struct setup {
	struct config config;
	struct daemon_options options;
	ARRAY(uint32_t) uids;
	char *demo;
	char error[CONFIG_ERROR_BYTES];
	int argc;
	char **argv;
};

static void setup_done(struct setup *s)
{
	config_done(&s->config);
	ARRAY_DONE(&s->uids);
	free(s->demo);
	*s = (struct setup){ .argc = s->argc, .argv = s->argv };
}

static int misused(const char *sentence)
{
	(void)log_err(0, "%s", sentence);
	return 2;
}

/* ---- values that only the daemon understands ---- */

static int refuse(struct setup *s, enum config_id id, const char *hint)
{
	(void)snprintf(s->error, sizeof(s->error), "'--%s' takes %s, not '%s'", config_option_get(id)->name, hint,
		       config_text(&s->config, id));
	return -EINVAL;
}

static int owner_read(struct setup *s)
{
	const char *text = config_text(&s->config, CONFIG_DB_OWNER);
	struct store_options *db = &s->options.source.db;
	uint64_t ids[2];

	if (!text)
		return 0;
	if (parse_u64_list(text, UINT32_MAX - 1, ids, ARRAY_SIZE(ids)) < 0)
		return refuse(s, CONFIG_DB_OWNER, "a user and a group number, UID:GID");
	db->has_owner = true;
	db->owner_uid = (uint32_t)ids[0];
	db->owner_gid = (uint32_t)ids[1];
	db->skips_guarded = ids[0] != 0;
	return 0;
}

/* "cold-start" or "cold-start:2.5" */
static int demo_read(struct setup *s)
{
	const char *text = config_text(&s->config, CONFIG_DEMO);
	char *colon, *end;

	if (!text)
		return 0;
	s->demo = strdup(text);
	if (!s->demo)
		return -ENOMEM;
	s->options.source.demo = s->demo;
	s->options.source.demo_speed = 1;
	colon = strchr(s->demo, ':');
	if (colon) {
		*colon = 0;
		s->options.source.demo_speed = strtod(colon + 1, &end);
		if (end == colon + 1 || *end ||
		    !(s->options.source.demo_speed >= DEMO_SPEED_MIN && s->options.source.demo_speed <= DEMO_SPEED_MAX))
			return refuse(s, CONFIG_DEMO, "NAME or NAME:SPEED, the speed from 0.1 to 1000");
	}
	if (!demo_exists(s->demo))
		return refuse(s, CONFIG_DEMO, "one of those that 'ingero demo' lists");
	return 0;
}

static int user_add(struct setup *s, const char *name)
{
	const struct passwd *user = getpwnam(name); /* a name may consist of digits */
	uint64_t uid;

	if (user)
		uid = user->pw_uid;
	else if (parse_u64(name, UINT32_MAX - 1, &uid) < 0) {
		(void)snprintf(s->error, sizeof(s->error),
			       "there is no user '%.64s' to record ('record.whom', '--capture')", name);
		return -EINVAL;
	}
	return ARRAY_PUSH(&s->uids, (uint32_t)uid);
}

static int whom_read(struct setup *s)
{
	const char *text = config_text(&s->config, CONFIG_WHOM);
	CLEANUP(freep) char *copy = strdup(text);
	char *rest = copy, *name;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	if (strcmp(text, "auto") == 0) {
		CLEANUP(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

		s->options.policy.everyone = notify_is_supervised() && root_fd >= 0 && notify_is_enabled(root_fd);
	} else if (strcmp(text, "everyone") == 0) {
		s->options.policy.everyone = true;
	} else if (strcmp(text, "nobody") != 0) {
		while (r == 0 && (name = strsep(&rest, ",")))
			r = user_add(s, name);
	}
	s->options.policy.uids = s->uids.items;
	s->options.policy.n_uids = s->uids.n;
	return r;
}

/* The service has its own place; a private daemon stores where it is told to. */
static void db_read(struct setup *s)
{
	struct store_options *db = &s->options.source.db;
	const char *path = config_text(&s->config, CONFIG_DB);

	if (*path && strcmp(path, "none") != 0)
		db->path = path;
	if (!*path && s->options.is_service && !s->options.source.read_path) {
		db->path = DB_PATH;
		db->is_own_place = true;
	}
	db->is_own_place |= config_text(&s->config, CONFIG_DB_OWN_PLACE) != NULL;
	db->max_bytes = config_number(&s->config, CONFIG_MAX_DB);
	db->max_age_ns = config_number(&s->config, CONFIG_MAX_AGE);
	db->version = INGERO_VERSION;
}

static int options_read(struct setup *s)
{
	const struct config *config = &s->config;
	struct daemon_options *o = &s->options;
	const char *calls = config_text(config, CONFIG_CALLS);
	int r;

	(void)probe_back_end_parse(config_text(config, CONFIG_BACK_END), &o->source.back_end); /* one of the choices */
	o->source.all_operations = strcmp(config_text(config, CONFIG_OPERATIONS), "all") == 0;
	o->source.budget = strtod(config_text(config, CONFIG_BUDGET), NULL) / 100; /* "off" is 0 */
	o->source.own_cpu = strtod(config_text(config, CONFIG_CPU), NULL) / 100;   /* likewise */
	o->source.read_path = config_text(config, CONFIG_READ_DB);
	o->source.read_path_bytes = config_number(config, CONFIG_READ_DB);
	o->source.ring_bytes = config_number(config, CONFIG_RING);
	o->query_cpu_ns = config_number(config, CONFIG_QUERY_CPU);
	o->serve.idle_ns = config_number(config, CONFIG_IDLE);
	o->policy.record_all = strcmp(calls, "all") == 0;
	o->policy.record_none = strcmp(calls, "none") == 0;
	o->policy.without_stacks = strcmp(config_text(config, CONFIG_STACKS), "none") == 0;
	if (o->source.read_path && *config_text(config, CONFIG_DB)) {
		(void)snprintf(s->error, sizeof(s->error),
			       "'--read-db' captures nothing, so it takes no '--db' beside it; leave one out");
		return -EINVAL;
	}
	db_read(s);
	r = owner_read(s);
	if (r == 0)
		r = demo_read(s);
	return r == 0 ? whom_read(s) : r;
}

/* ---- the file ---- */

/* A daemon on the machine's socket is the machine's; any other reads only what it is told to. */
static int setup_file_read(struct setup *s)
{
	const char *path = config_text(&s->config, CONFIG_FILE);
	CLEANUP(closep) int fd = -1;
	bool is_named = *path;

	if (strcmp(path, "none") == 0 || (!is_named && !s->options.is_service))
		return 0;
	if (!is_named)
		path = CONFIG_PATH;
	fd = config_open(path, s->error);
	if (fd == -ENOENT && !is_named)
		return 0;
	if (fd == -ENOENT)
		(void)snprintf(s->error, sizeof(s->error), "there is no file '%s'", path);
	if (fd < 0)
		return -EINVAL;
	return config_read_file(&s->config, fd, path, s->error);
}

static void log_read(const struct setup *s)
{
	static const struct {
		const char *name;
		enum log_level level;
	} levels[] = {
		{ "error", LOG_LEVEL_ERR }, { "warning", LOG_LEVEL_WARNING }, { "notice", LOG_LEVEL_NOTICE },
		{ "info", LOG_LEVEL_INFO }, { "debug", LOG_LEVEL_DEBUG },
	};
	const char *text = config_text(&s->config, CONFIG_LOG);
	/* A private daemon writes to its client's terminal. */
	enum log_level level = s->options.serve.private_fd >= 0 && !config_is_given(&s->config, CONFIG_LOG)
				       ? LOG_LEVEL_WARNING
				       : LOG_LEVEL_NOTICE;

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (config_is_given(&s->config, CONFIG_LOG) && strcmp(levels[i].name, text) == 0)
			level = levels[i].level;
	if (config_text(&s->config, CONFIG_DEBUG))
		level = LOG_LEVEL_DEBUG;
	log_init("ingero-collectord", LOG_STYLE_PLAIN, level);
}

/* Return: 0; -EINVAL, -ENOMEM, with the sentence in s->error */
static int line_read(struct setup *s)
{
	int r;

	(void)snprintf(s->error, sizeof(s->error), "no memory for the options");
	r = config_init(&s->config);
	return r == 0 ? config_read_line(&s->config, s->argc, s->argv, s->error) : r;
}

/* Applies the options. Return: as line_read() */
static int setup_read(struct setup *s, int socket_fd)
{
	int r;

	s->options = (struct daemon_options){ .serve = { .private_fd = -1, .socket_fd = socket_fd } };
	if (config_text(&s->config, CONFIG_PRIVATE))
		s->options.serve.private_fd = (int)config_number(&s->config, CONFIG_PRIVATE);
	s->options.serve.socket_path = config_text(&s->config, CONFIG_SOCKET);
	s->options.user = config_text(&s->config, CONFIG_FOREGROUND) ? USER : NULL;
	s->options.is_service = s->options.serve.private_fd < 0 && !config_text(&s->config, CONFIG_DEMO) &&
				strcmp(s->options.serve.socket_path, SOCKET_PATH) == 0;
	r = setup_file_read(s);
	return r < 0 ? r : options_read(s);
}

/* A reload: an error leaves all options unchanged, also the log level. */
static int policy_reload(struct recording_wish *ret_policy, uint64_t *ret_idle_ns, void *data)
{
	struct setup *old = data;
	struct setup s = { .argc = old->argc, .argv = old->argv };
	int r = line_read(&s);

	if (r == 0)
		r = setup_read(&s, old->options.serve.socket_fd);
	if (r < 0) {
		(void)log_err(0, "%s; going on as before", s.error);
		setup_done(&s);
		return r;
	}
	log_read(&s);
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		struct config_value *was = &old->config.values[i], *is = &s.config.values[i];
		const struct option *o = config_option_get(i);
		struct config_value swap = *was;

		if (!o->key || strcmp(was->text, is->text) == 0)
			continue;
		if (!o->is_live) { /* parts of the daemon still point at it */
			(void)log_notice("'%s' becomes '%s' at the next start", o->key, is->text);
			continue;
		}
		*was = *is;
		*is = swap;
	}
	ARRAY_DONE(&old->uids);
	memcpy(&old->uids, &s.uids, sizeof(s.uids));
	memset(&s.uids, 0, sizeof(s.uids));
	*ret_policy = s.options.policy;
	*ret_idle_ns = s.options.serve.idle_ns;
	setup_done(&s);
	return 0;
}

/* ---- other tasks than serving ---- */

/* Return: exit status */
static int out_print(const char *text)
{
	if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
		return 0;
	(void)fprintf(stderr, "ingero: cannot write the output: %s\n", strerror(errno));
	return 1;
}

/* A user's file, from stdin: its reader has no rights. */
static int config_look(struct setup *s)
{
	struct privilege_need nothing = { .nothing = true };
	const char *shown = config_text(&s->config, CONFIG_SHOW);
	const char *name = shown ? shown : config_text(&s->config, CONFIG_CHECK);
	CLEANUP(buf_done) struct buf out = BUF_INIT, errors = BUF_INIT;
	struct config config;
	struct stat st;
	int r = privilege_seal(&nothing);

	if (r < 0)
		return log_err(1, "cannot give up privilege");
	r = config_init(&config);
	/* The service refuses its own file if other users can write it; a user's file is only checked. */
	if (r == 0 && strcmp(name, CONFIG_PATH) == 0 && fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
		r = config_trust(STDIN_FILENO, name, s->error);
	if (r < 0)
		(void)buf_printf(&errors, "%s\n", s->error);
	else
		r = config_check_file(&config, STDIN_FILENO, name, &errors);
	if (r == 0 && shown)
		config_show_append(&config, name, &out);
	config_done(&config);
	if (r < 0) {
		for (const char *line = buf_text(&errors); *line; line += strcspn(line, "\n") + 1)
			(void)fprintf(stderr, "ingero: %.*s\n", (int)strcspn(line, "\n"), line);
		return 2;
	}
	return out_print(buf_text(&out));
}

static int text_print(const struct setup *s)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	if (config_text(&s->config, CONFIG_VERSION))
		return out_print("ingero-collectord " INGERO_VERSION "\n");
	if (config_text(&s->config, CONFIG_MAN)) {
		config_manual_append(&out);
		return out_print(buf_text(&out));
	}
	(void)buf_append_text(&out, usage);
	config_help_append(&out);
	return out_print(buf_text(&out));
}

/*
 * A supervisor would restart a failed daemon again and again, and clients would wait without end. So the daemon serves,
 * gives the reason, and ends when idle.
 */
static int serve_fault(struct setup *s, const char *why)
{
	s->options.source.fault = why;
	s->options.serve.idle_ns = config_number(&s->config, CONFIG_IDLE);
	return daemon_run(&s->options, NULL, 0) < 0 ? 1 : 0;
}

/*
 * Logins get 1024 open files, because of programs that use select(2); perf events take four for each function of a
 * library. Where the limit may not be raised, the unit sets it.
 */
static void descriptors_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int serve(struct setup *s)
{
	char why[CONFIG_ERROR_BYTES] = "";
	bool is_kept;
	int r = line_read(s);

	if (r < 0)
		return misused(s->error);
	if (config_text(&s->config, CONFIG_VERSION) || config_text(&s->config, CONFIG_HELP) ||
	    config_text(&s->config, CONFIG_MAN))
		return text_print(s);
	if (config_text(&s->config, CONFIG_CHECK) || config_text(&s->config, CONFIG_SHOW))
		return config_look(s);

	r = setup_read(s, notify_socket());
	log_read(s); /* of an invalid file as much as was read */
	is_kept = s->options.serve.socket_fd >= 0;
	if (r < 0 && !is_kept)
		return misused(s->error);
	if (r < 0) {
		(void)log_err(0, "%s; serving without capture", s->error);
		return serve_fault(s, s->error);
	}
	s->options.serve.reload = policy_reload;
	s->options.serve.reload_data = s;
	descriptors_allow();
	r = daemon_run(&s->options, why, sizeof(why));
	if (r < 0 && is_kept)
		return serve_fault(s, why);
	return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct setup setup = { .argc = argc - 1, .argv = argv + 1 };
	int status;

	log_init("ingero-collectord", LOG_STYLE_PLAIN, LOG_LEVEL_WARNING);
	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return strcmp(argv[2], CLOSER_ROLE) == 0 ? closer_main() : child_main(argv[2]);

	if (argc > 2 && strcmp(argv[1], BECOME_OPTION) == 0) {
		status = privilege_leave(argv[2]);
		if (status < 0) {
			(void)log_err(status, "cannot become user '%s'", argv[2]);
			return 1;
		}
		setup.argc -= 2;
		setup.argv += 2;
	}
	fd_fill_standard();
	notify_start();
	status = serve(&setup);
	setup_done(&setup);
	return status;
}
