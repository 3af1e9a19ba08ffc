// SPDX-License-Identifier: Apache-2.0
/*
 * Options are rows: one line in a command's table is its parsing, its range, its
 * help and its place in the manual.
 *
 * Rows are bound to fields of a struct that belongs to the command; a field keeps
 * its default until the option is given. Whatever is refused is one sentence that
 * names the thing and the way out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "cli/time.h"
#include "libingero/render/text.h"

enum option_kind {
	OPTION_FLAG,	 /* bool: true when given */
	OPTION_CONSTANT, /* const char *: becomes .constant when given */
	OPTION_CHOICE,	 /* const char *: one of .choices */
	OPTION_NUMBER,	 /* uint64_t */
	OPTION_DURATION, /* uint64_t, ns: "30s" */
	OPTION_SIZE,	 /* uint64_t, bytes: "64k" */
	OPTION_TIME,	 /* struct clock_time: "14:03", "2026-01-31 14:03" */
	OPTION_TEXT,	 /* const char *: as it was typed, but not empty */
	OPTION_PIDS,	 /* struct option_ids: repeatable, comma lists */
	OPTION_USERS,	 /* struct option_ids: names or numbers, repeatable, comma lists */
};

struct option_ids {
	uint32_t *items;
	size_t n;
	size_t room;
};

struct option {
	const char *name; /* without the dashes */
	char letter;	  /* 0: none */
	enum option_kind kind;
	const char *value;	    /* what --help calls the value: "SIZE" */
	const char *help;	    /* one or two sentences without the final stop */
	size_t field;		    /* offsetof() in the command's struct */
	uint64_t min, max;	    /* NUMBER, SIZE; max 0: no limit */
	const char *const *choices; /* NULL-terminated */
	const char *constant;
};

struct option_table {
	const char *command; /* in sentences: "trace" */
	const struct option *rows;
	size_t n;
	const char *takes; /* arguments beside options: "program", taken behind --; NULL: none; "topic": a word */
	size_t takes_most; /* so many words; 0: one */
	const char *const *words; /* what the first may be, NULL-terminated; a file may follow; NULL: anything */
	bool takes_program;
};

struct options_rest {
	char **argv; /* borrowed from the caller's argv: the program behind --, or the words */
	size_t argc;
};

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_MISUSED };

#define OPTIONS_ERROR_BYTES 512

/**
 * options_parse() - read a command's arguments
 * @argv:   argc arguments, the command's own name not among them
 * @fields: the command's struct, holding its defaults; release with options_done()
 * @error:  OPTIONS_ERROR_BYTES; one sentence for OPTIONS_MISUSED
 */
enum options_result options_parse(const struct option_table *table, int argc, char **argv, void *fields,
				  struct options_rest *ret_rest, char *error);
/** options_done() - release what the fields own */
void options_done(const struct option_table *table, void *fields);
/** options_help() - the rows as --help shows them, with --help itself */
void options_help(const struct option_table *table, const struct text_style *style, struct buf *out);

struct option_quote {
	char text[128];
};

/** option_quote() - what a user typed, in quotes, without control characters, cut when long */
struct option_quote option_quote(const char *text);
