// SPDX-License-Identifier: Apache-2.0
/*
 * Command lines of workloads, from one table each: what is taken, what is refused, and --help.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX 16 /* of one program */

struct workload_option {
	const char *name;     /* without its dashes */
	const char *argument; /* what --help calls it; NULL: takes none */
	const char *help;
	/* text may be written to; it is NULL without an argument. Return: 0 or -errno */
	int (*take)(const struct workload_option *option, char *text);
	void *into;
	uint64_t min, max; /* of options_take_count() */
};

/** options_take_count() - a number from min to max into a uint64_t */
int options_take_count(const struct workload_option *option, char *text);
/** options_take_duration() - nanoseconds into a uint64_t */
int options_take_duration(const struct workload_option *option, char *text);
/** options_take_text() - borrowed, into a const char * */
int options_take_text(const struct workload_option *option, char *text);
/** options_take_flag() - true into a bool */
int options_take_flag(const struct workload_option *option, char *text);

/**
 * options_parse() - the whole command line, in order
 * @program: its name, and after a colon what it is
 * @after:   what --help says last; may be NULL
 *
 * Ends the program: with 0 after --help, with 2 and one sentence when something cannot be used.
 */
void options_parse(const char *program, const char *after, const struct workload_option *options, size_t n, int argc,
		   char **argv);
