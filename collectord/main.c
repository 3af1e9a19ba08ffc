// SPDX-License-Identifier: Apache-2.0
/*
 * Arguments and exit status; nothing else.
 */
#define LOG_TOPIC "main"
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "children/child.h"
#include "daemon.h"

#define SOCKET_PATH "/run/ingero.sock"

static const char usage[] = "usage: ingero-collectord [--socket PATH] [--back-end auto|session|multi|perf] "
			    "[--ringbuf-size SIZE] [--debug]\n"
			    "\n"
			    "Watches GPU calls and answers ingero-cli on a Unix socket. Needs root or the\n"
			    "capabilities of its service unit.\n"
			    "\n"
			    "  --socket PATH         listen there instead of on " SOCKET_PATH "\n"
			    "  --back-end NAME       how probes are attached; auto takes the best that works\n"
			    "  --ringbuf-size SIZE   ring of single calls, a power of two from 4k, e.g. 4m\n"
			    "  --debug               say more on stderr\n"
			    "  --private FD          serve one connected socket and end with it\n"
			    "  --version, --help\n";

enum { OPTION_PRIVATE = 256, OPTION_SOCKET, OPTION_BACK_END, OPTION_RING, OPTION_DEBUG, OPTION_VERSION, OPTION_HELP };

static const struct option options_long[] = {
	{ "private", required_argument, NULL, OPTION_PRIVATE },
	{ "socket", required_argument, NULL, OPTION_SOCKET },
	{ "back-end", required_argument, NULL, OPTION_BACK_END },
	{ "ringbuf-size", required_argument, NULL, OPTION_RING },
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
	return -1;
}

int main(int argc, char **argv)
{
	struct daemon_options options = { .private_fd = -1, .socket_path = SOCKET_PATH };
	int status;

	log_init("ingero-collectord", LOG_STYLE_PLAIN, LOG_LEVEL_WARNING);
	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child_main(argv[2]);

	status = options_parse(argc, argv, &options);
	if (status >= 0)
		return status;
	return daemon_run(&options) < 0 ? 1 : 0;
}
