// SPDX-License-Identifier: Apache-2.0
/*
 * A program one of whose calls does not come back for a long time, or never. Says on
 * stdout, a line each: 'ready PID', 'inside TID NS' when it is about to enter (its
 * CLOCK_MONOTONIC), and 'outside TID NS' when the call has returned.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda_calls.h"
#include "options.h"
#include "program.h"
#include "standin/control.h"
#include "standin/how.h"

static void say(const char *what, uint64_t at_ns)
{
	printf("%s %d %" PRIu64 "\n", what, gettid(), at_ns);
	fflush(stdout);
}

static int take_for_ever(const struct workload_option *option, char *text)
{
	(void)text;
	*(uint64_t *)option->into = INGERO_STANDIN_FOR_EVER;
	return 0;
}

static int take_how(const struct workload_option *option, char *text)
{
	return how_parse(text, option->into);
}

int main(int argc, char **argv)
{
	enum ingero_standin_how how = INGERO_STANDIN_BLOCK;
	uint64_t duration_ns = 10 * NSEC_PER_SEC;
	const char *function = "cuStreamSynchronize";
	bool waits = false;
	const struct workload_option table[] = {
		{ "duration", "TIME", "10s", options_take_duration, &duration_ns, 0, 0 },
		{ "for-ever", NULL, "instead", take_for_ever, &duration_ns, 0, 0 },
		{ "how", "HOW", "block, the default; spin, poll, sleep, yield", take_how, &how, 0, 0 },
		{ "in", "FUNCTION", "cuStreamSynchronize, the default, or cudaStreamSynchronize", options_take_text,
		  &function, 0, 0 },
		{ "wait-for-stdin", NULL, "reads a line before the first call", options_take_flag, &waits, 0, 0 },
	};

	options_parse("stuck: a call that does not come back for long", NULL, table, ARRAY_SIZE(table), argc, argv);
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
