// SPDX-License-Identifier: Apache-2.0
/*
 * Calls from many places (callers.h).
 *
 *   callers --report FILE [--rounds N] [--pause-ms N] [--check] [--wait-for-stdin] [SHAPE...]     callers --list
 *
 * --check: the stack inside of each call is compared with what is told; only where nobody traces. A FILE in the
 * environment, INGERO_CALLERS, is for calls before main() and behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "callers.h"
#include "program.h"

static const struct callers_row *const lists[] = {
	callers_plain_kept, callers_plain_omitted, callers_signals, callers_stacks,
	callers_processes,  callers_libraries,	   callers_debian,  callers_cxx,
};

/* Before main() and behind it */

static bool is_early;

static CALLERS_NOINLINE void call_outside(const char *shape)
{
	callers_shape(shape, CALLERS_COMPLETE, 0);
	CALLERS_CALL();
	CALLERS_STAYS();
}

static __attribute__((constructor)) void before_main(void)
{
	const char *path = getenv("INGERO_CALLERS");

	is_early = path != NULL;
	if (!is_early)
		return;
	callers_open(path, false);
	call_outside("constructor");
}

static __attribute__((destructor)) void behind_main(void)
{
	if (is_early)
		call_outside("destructor");
}

static void at_exit(void)
{
	if (is_early)
		call_outside("atexit");
}

/* In main() */

struct asked {
	const char *report;
	unsigned int rounds, pause_ms; /* between rounds */
	bool is_checked, is_list, is_waiting;
	char **shapes; /* NULL: all */
};

static bool is_asked(const struct asked *asked, const char *name)
{
	bool is_one = !*asked->shapes;

	for (char **shape = asked->shapes; *shape; shape++)
		is_one |= strcmp(*shape, name) == 0;
	return is_one;
}

static unsigned int run_all(const struct asked *asked)
{
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const struct callers_row *row = lists[i]; row->name; row++) {
			if (asked->is_list)
				puts(row->name);
			if (asked->is_list || !is_asked(asked, row->name))
				continue;
			callers_shape(row->name, row->rule, row->least);
			row->run();
			n++;
		}
	}
	return n;
}

static int parse(int argc, char **argv, struct asked *asked)
{
	int i;

	for (i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--list") == 0)
			asked->is_list = true;
		else if (strcmp(argv[i], "--check") == 0)
			asked->is_checked = true;
		else if (strcmp(argv[i], "--wait-for-stdin") == 0)
			asked->is_waiting = true;
		else if (strcmp(argv[i], "--report") == 0 && i + 1 < argc)
			asked->report = argv[++i];
		else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
			asked->rounds = (unsigned int)atoi(argv[++i]);
		else if (strcmp(argv[i], "--pause-ms") == 0 && i + 1 < argc)
			asked->pause_ms = (unsigned int)atoi(argv[++i]);
		else
			return -1;
	}
	asked->shapes = argv + i;
	return asked->report || asked->is_list ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct asked asked = { .rounds = 1 };

	if (parse(argc, argv, &asked) < 0) {
		fprintf(stderr, "usage: callers --report FILE [--rounds N] [--pause-ms N] [--check] [--wait-for-stdin] "
				"[SHAPE...] | --list\n");
		return 2;
	}
	if (asked.is_list)
		return run_all(&asked) ? 1 : 0;
	callers_open(asked.report, asked.is_checked);
	(void)atexit(at_exit);
	if (asked.is_waiting) {
		program_ready();
		program_wait_for_line();
	}
	for (unsigned int i = 0; i < asked.rounds; i++) {
		if (i && asked.pause_ms)
			program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + asked.pause_ms * NSEC_PER_MSEC);
		if (run_all(&asked) == 0) {
			fprintf(stderr, "callers: no such shape: see --list\n");
			return 2;
		}
	}
	return callers_end();
}
