// SPDX-License-Identifier: Apache-2.0
/*
 * Arguments and exit status; nothing else.
 */
#define LOG_TOPIC "main"
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demo.h"
#include "base/log.h"
#include "base/parse.h"
#include "children/child.h"
#include "daemon.h"
#include "events/source.h"

#define SOCKET_PATH "/run/ingero.sock"
#define MAX_DB_LEAST (4ull << 20) /* a seal, its log and some history */
#define DB_PATH "/var/lib/ingero/ingero.db"

static const char usage[] = "usage: ingero-collectord [--socket PATH] [--back-end auto|session|multi|perf] "
			    "[--ringbuf-size SIZE] [--debug]\n"
			    "\n"
			    "Watches GPU calls and answers ingero-cli on a Unix socket. Needs root or the\n"
			    "capabilities of its service unit.\n"
			    "\n"
			    "  --socket PATH         listen there instead of on " SOCKET_PATH "\n"
			    "  --back-end NAME       how probes are attached; auto takes the best that works\n"
			    "  --ringbuf-size SIZE   ring of single calls, a power of two from 4k, e.g. 4m\n"
			    "  --db FILE             keep what is captured there; 'none': nowhere. On the\n"
			    "                        default socket: " DB_PATH "\n"
			    "  --max-db SIZE         delete the oldest beyond this, e.g. 10g (default); 0: never\n"
			    "  --max-age TIME        delete what is older, e.g. 30d; default: whatever its age\n"
			    "  --capture WHOM        everyone: always; leases: what callers ask for (default)\n"
			    "  --record WHICH        of everyone's single calls: slow (default), all, none\n"
			    "  --read-db FILE        capture nothing, answer from what was kept there\n"
			    "  --demo NAME[:SPEED]   play a demo ('ingero demo' lists them), capture nothing\n"
			    "  --debug               say more on stderr\n"
			    "  --private FD          serve one connected socket and end with it\n"
			    "  --db-owner UID:GID    whose --db is: opened with no more than that user may\n"
			    "  --db-own-place        nobody typed --db: what is in its way is set aside\n"
			    "  --version, --help\n";

enum {
	OPTION_PRIVATE = 256,
	OPTION_SOCKET,
	OPTION_BACK_END,
	OPTION_RING,
	OPTION_DB,
	OPTION_DB_OWNER,
	OPTION_DB_OWN_PLACE,
	OPTION_MAX_DB,
	OPTION_MAX_AGE,
	OPTION_READ_DB,
	OPTION_CAPTURE,
	OPTION_RECORD,
	OPTION_DEMO,
	OPTION_DEBUG,
	OPTION_VERSION,
	OPTION_HELP
};

static const struct option options_long[] = {
	{ "private", required_argument, NULL, OPTION_PRIVATE },
	{ "socket", required_argument, NULL, OPTION_SOCKET },
	{ "back-end", required_argument, NULL, OPTION_BACK_END },
	{ "ringbuf-size", required_argument, NULL, OPTION_RING },
	{ "db", required_argument, NULL, OPTION_DB },
	{ "db-owner", required_argument, NULL, OPTION_DB_OWNER },
	{ "db-own-place", no_argument, NULL, OPTION_DB_OWN_PLACE },
	{ "max-db", required_argument, NULL, OPTION_MAX_DB },
	{ "max-age", required_argument, NULL, OPTION_MAX_AGE },
	{ "read-db", required_argument, NULL, OPTION_READ_DB },
	{ "capture", required_argument, NULL, OPTION_CAPTURE },
	{ "record", required_argument, NULL, OPTION_RECORD },
	{ "demo", required_argument, NULL, OPTION_DEMO },
	{ "debug", no_argument, NULL, OPTION_DEBUG },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static int misused(const char *what, const char *value, const char *hint)
{
	(void)log_err(0, "%s '%s': %s", what, value, hint);
	return 2;
}

static bool owner_parse(char *text, struct store_options *db)
{
	char *colon = strchr(text, ':');
	uint64_t uid, gid;
	bool is_number;

	if (!colon)
		return false;
	*colon = 0;
	is_number = parse_u64(text, UINT32_MAX - 1, &uid) == 0 && parse_u64(colon + 1, UINT32_MAX - 1, &gid) == 0;
	*colon = ':'; /* a refusal shows what was typed */
	if (!is_number)
		return false;
	db->has_owner = true;
	db->owner_uid = (uint32_t)uid;
	db->owner_gid = (uint32_t)gid;
	return true;
}

static bool record_parse(const char *text, struct daemon_options *o)
{
	o->record_all = strcmp(text, "all") == 0;
	o->record_none = strcmp(text, "none") == 0;
	return o->record_all || o->record_none || strcmp(text, "slow") == 0;
}

/* The service has its place; a daemon of somebody's own keeps what it is told to. */
static void db_default(struct daemon_options *o)
{
	if (!o->db.path && !o->read_path && o->private_fd < 0 && strcmp(o->socket_path, SOCKET_PATH) == 0) {
		o->db.path = DB_PATH;
		o->db.is_own_place = true;
	}
	if (o->db.path && strcmp(o->db.path, "none") == 0)
		o->db.path = NULL;
}

/* "cold-start" or "cold-start:2.5" */
static bool demo_parse(char *text, struct daemon_options *o)
{
	char *colon = strchr(text, ':');

	o->demo = text;
	o->demo_speed = 1;
	if (colon) {
		char *end;

		o->demo_speed = strtod(colon + 1, &end);
		if (end == colon + 1 || *end || !(o->demo_speed >= DEMO_SPEED_MIN && o->demo_speed <= DEMO_SPEED_MAX))
			return false;
		*colon = 0;
	}
	return demo_exists(text);
}

/* Return: -1 to go on, else the exit status. */
static int options_parse(int argc, char **argv, struct daemon_options *o)
{
	uint64_t value;
	int c;

	while ((c = getopt_long(argc, argv, "", options_long, NULL)) != -1) {
		switch (c) {
		case OPTION_PRIVATE:
			if (parse_u64(optarg, INT_MAX, &value) < 0)
				return misused("--private", optarg, "not a descriptor number");
			o->private_fd = (int)value;
			break;
		case OPTION_SOCKET:
			o->socket_path = optarg;
			break;
		case OPTION_BACK_END:
			if (probe_back_end_parse(optarg, &o->back_end) < 0)
				return misused("--back-end", optarg, "none of auto, session, multi, perf");
			break;
		case OPTION_RING:
			if (parse_size(optarg, &value) < 0 || value < 4096 || value > 1u << 30 || (value & (value - 1)))
				return misused("--ringbuf-size", optarg, "not a power of two from 4k to 1g");
			o->ring_bytes = value;
			break;
		case OPTION_DB:
			o->db.path = optarg;
			break;
		case OPTION_DB_OWNER:
			if (!owner_parse(optarg, &o->db))
				return misused("--db-owner", optarg, "not a user and a group number, UID:GID");
			break;
		case OPTION_DB_OWN_PLACE:
			o->db.is_own_place = true;
			break;
		case OPTION_MAX_DB:
			if (parse_size(optarg, &o->db.max_bytes) < 0 ||
			    (o->db.max_bytes && o->db.max_bytes < MAX_DB_LEAST))
				return misused("--max-db", optarg, "not a size of 4m or more, nor 0");
			break;
		case OPTION_MAX_AGE:
			if (parse_duration(optarg, &o->db.max_age_ns) < 0)
				return misused("--max-age", optarg, "not a time with its unit such as 12h or 30d");
			break;
		case OPTION_READ_DB:
			o->read_path = optarg;
			break;
		case OPTION_CAPTURE:
			if (strcmp(optarg, "everyone") != 0 && strcmp(optarg, "leases") != 0)
				return misused("--capture", optarg, "none of everyone, leases");
			o->captures_everyone = strcmp(optarg, "everyone") == 0;
			break;
		case OPTION_RECORD:
			if (!record_parse(optarg, o))
				return misused("--record", optarg, "none of slow, all, none");
			break;
		case OPTION_DEMO:
			if (!demo_parse(optarg, o))
				return misused("--demo", optarg, "not NAME or NAME:SPEED of a demo, see --help");
			break;
		case OPTION_DEBUG:
			log_init("ingero-collectord", LOG_STYLE_PLAIN, LOG_LEVEL_DEBUG);
			break;
		case OPTION_VERSION:
			printf("ingero-collectord %s\n", INGERO_VERSION);
			return 0;
		case OPTION_HELP:
			fputs(usage, stdout);
			return 0;
		default:
			return 2; /* getopt said why */
		}
	}
	if (optind < argc)
		return misused("argument", argv[optind], "none is expected, see --help");
	if (o->db.path && o->read_path)
		return misused("--read-db", o->read_path, "nothing is captured then, so it takes no --db beside it");
	db_default(o);
	return -1;
}

int main(int argc, char **argv)
{
	struct daemon_options options = {
		.private_fd = -1,
		.socket_path = SOCKET_PATH,
		.db = { .max_bytes = STORE_MAX_BYTES, .version = INGERO_VERSION },
	};
	int status;

	log_init("ingero-collectord", LOG_STYLE_PLAIN, LOG_LEVEL_WARNING);
	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child_main(argv[2]);

	status = options_parse(argc, argv, &options);
	if (status >= 0)
		return status;
	return daemon_run(&options) < 0 ? 1 : 0;
}
