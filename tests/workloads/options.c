// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"

int options_take_count(const struct workload_option *option, char *text)
{
	uint64_t n = 0;
	int r = parse_u64(text, option->max, &n);

	if (r == 0 && n < option->min)
		r = -ERANGE;
	if (r == 0)
		*(uint64_t *)option->into = n;
	return r;
}

int options_take_duration(const struct workload_option *option, char *text)
{
	return parse_duration(text, option->into);
}

int options_take_text(const struct workload_option *option, char *text)
{
	*(const char **)option->into = text;
	return 0;
}

int options_take_flag(const struct workload_option *option, char *text)
{
	(void)text;
	*(bool *)option->into = true;
	return 0;
}

static void help_print(const char *program, const char *after, const struct workload_option *options, size_t n)
{
	size_t width = 0;

	for (size_t i = 0; i < n; i++)
		width = MAX(width,
			    strlen(options[i].name) + (options[i].argument ? 1 + strlen(options[i].argument) : 0));
	printf("%s\n", program);
	for (size_t i = 0; i < n; i++) {
		const char *argument = options[i].argument ? options[i].argument : "";
		int used = printf("  --%s%s%s", options[i].name, *argument ? " " : "", argument);

		printf("%*s%s\n", (int)width + 6 - used, "", options[i].help);
	}
	if (after)
		printf("%s\n", after);
}

/* The part of `program` that is its name. */
static int name_length(const char *program)
{
	return (int)strcspn(program, ":");
}

void options_parse(const char *program, const char *after, const struct workload_option *options, size_t n, int argc,
		   char **argv)
{
	struct option longs[OPTIONS_MAX + 2] = { 0 };
	int at = 0, which;

	if (n > OPTIONS_MAX)
		abort();
	for (size_t i = 0; i < n; i++)
		longs[i] = (struct option){ options[i].name, options[i].argument ? required_argument : no_argument,
					    NULL, 1 };
	longs[n] = (struct option){ "help", no_argument, NULL, 2 };
	while ((which = getopt_long(argc, argv, "", longs, &at)) != -1) {
		if (which == 2) {
			help_print(program, after, options, n);
			exit(0);
		}
		if (which != 1) /* getopt has said why */
			exit(2);
		if (options[at].take(&options[at], optarg) < 0) {
			fprintf(stderr, "%.*s: --%s: cannot use '%s'; --help lists what is known\n",
				name_length(program), program, options[at].name, optarg ? optarg : "");
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "%.*s: '%s' is no option; --help lists them\n", name_length(program), program,
			argv[optind]);
		exit(2);
	}
}
