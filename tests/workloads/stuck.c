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
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cuda_calls.h"
#include "program.h"
#include "standin/control.h"
#include "standin/how.h"

static const char help[] = "stuck: a call that does not come back for long\n"
			   "  --duration TIME   10s\n"
			   "  --for-ever        instead\n"
			   "  --how HOW         block, the default; spin, poll, sleep, yield\n"
			   "  --in FUNCTION     cuStreamSynchronize, the default, or cudaStreamSynchronize\n"
			   "  --wait-for-stdin  reads a line before the first call\n";

static void say(const char *what, uint64_t at_ns)
{
	printf("%s %d %" PRIu64 "\n", what, gettid(), at_ns);
	fflush(stdout);
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
	int option, at = 0;

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
			if (how_parse(optarg, &how) == 0)
				break;
			fprintf(stderr, "stuck: --how: cannot use '%s': want " HOW_WORDS "\n", optarg);
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

	program_ready();
	if (waits)
		program_wait_for_line();
	if (cudaFree(NULL) != 0 || cudaStreamSynchronize(NULL) != 0)
		return 1;
	if (ingero_standin_inside(function, duration_ns, how) < 0) {
		fprintf(stderr, "stuck: --in: no stand-in exports '%s'\n", function);
		return 2;
	}
	say("inside", program_clock_ns(CLOCK_MONOTONIC));
	if (cudaStreamSynchronize(NULL) != 0)
		return 1;
	say("outside", program_clock_ns(CLOCK_MONOTONIC));
	ingero_standin_no_hooks();
	return cudaStreamSynchronize(NULL) != 0;
}
