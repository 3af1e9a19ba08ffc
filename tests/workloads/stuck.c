// SPDX-License-Identifier: Apache-2.0
/*
 * A program one of whose calls does not come back for a long time, or never. Says on
 * stdout, a line each: 'ready PID', 'inside TID NS' when it is about to enter (its
 * CLOCK_MONOTONIC), and 'outside TID NS' when the call has returned.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cuda_calls.h"
#include "standin/control.h"

static const char help[] = "stuck: a call that does not come back for long\n"
			   "  --duration TIME   10s\n"
			   "  --for-ever        instead\n"
			   "  --how HOW         block, the default; spin, poll, sleep, yield\n"
			   "  --in FUNCTION     cuStreamSynchronize, the default, or cudaStreamSynchronize\n"
			   "  --wait-for-stdin  reads a line before the first call\n";

static const char *const how_words[] = {
	[INGERO_STANDIN_SPIN] = "spin",	  [INGERO_STANDIN_BLOCK] = "block", [INGERO_STANDIN_POLL] = "poll",
	[INGERO_STANDIN_SLEEP] = "sleep", [INGERO_STANDIN_YIELD] = "yield",
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void say(const char *what, uint64_t at_ns)
{
	printf("%s %d %" PRIu64 "\n", what, gettid(), at_ns);
	fflush(stdout);
}

static bool find_how(const char *text, enum ingero_standin_how *ret_how)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(how_words); i++) {
		if (strcmp(text, how_words[i]) == 0) {
			*ret_how = i;
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "duration", required_argument, NULL, 'd' },
		{ "for-ever", no_argument, NULL, 'e' },
		{ "how", required_argument, NULL, 'w' },
		{ "in", required_argument, NULL, 'i' },
		{ "wait-for-stdin", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	enum ingero_standin_how how = INGERO_STANDIN_BLOCK;
	uint64_t duration_ns = 10 * NSEC_PER_SEC;
	const char *function = "cuStreamSynchronize";
	bool waits = false;
	int option, at = 0, c;

	while ((option = getopt_long(argc, argv, "", longs, &at)) != -1) {
		switch (option) {
		case 'd':
			if (parse_duration(optarg, &duration_ns) == 0)
				break;
			fprintf(stderr, "stuck: --duration: cannot use '%s': want a time such as 10s\n", optarg);
			return 2;
		case 'e':
			duration_ns = INGERO_STANDIN_FOR_EVER;
			break;
		case 'w':
			if (find_how(optarg, &how))
				break;
			fprintf(stderr, "stuck: --how: no '%s'; --help lists them\n", optarg);
			return 2;
		case 'i':
			function = optarg;
			break;
		case 's':
			waits = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return 2;
		}
	}

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (waits && (c = getchar()) != '\n' && c != EOF)
		;
	if (cudaFree(NULL) != 0 || cudaStreamSynchronize(NULL) != 0)
		return 1;
	if (ingero_standin_inside(function, duration_ns, how) < 0) {
		fprintf(stderr, "stuck: --in: no stand-in exports '%s'\n", function);
		return 2;
	}
	say("inside", now_ns());
	if (cudaStreamSynchronize(NULL) != 0)
		return 1;
	say("outside", now_ns());
	ingero_standin_no_hooks();
	return cudaStreamSynchronize(NULL) != 0;
}
