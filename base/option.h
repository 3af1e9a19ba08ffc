// SPDX-License-Identifier: Apache-2.0
/*
 * Options are rows: one line of a table defines an option's parsing, range, help, and place in the manual, the
 * configuration and the shells' completions. The command lines of client and daemon and the daemon's file share kinds,
 * ranges and sentences.
 *
 * A command binds rows to the fields of a struct of its own; a field keeps its default until the option is given. A
 * refusal is one sentence that names the thing and the way out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"

enum option_kind {
	OPTION_FLAG,	 /* bool: true when given */
	OPTION_CONSTANT, /* const char *: becomes .constant when given */
	OPTION_CHOICE,	 /* const char *: one of .choices */
	OPTION_NUMBER,	 /* uint64_t */
	OPTION_DURATION, /* uint64_t, ns: "30s" */
	OPTION_SIZE,	 /* uint64_t, bytes: "64k" */
	OPTION_TIME,	 /* by .parse: "14:03", "2026-01-31 14:03" */
	OPTION_TEXT,	 /* const char *: as it was typed, but not empty */
	OPTION_TEXTS,	 /* struct option_texts: repeatable, each as it was typed */
	OPTION_PIDS,	 /* struct option_ids: repeatable, comma lists */
	OPTION_USERS,	 /* struct option_ids: names or numbers, repeatable, comma lists */
	OPTION_WHOM,	 /* const char *: everyone, nobody, auto, or names and numbers of users with commas between */
};

#define OPTION_TEXTS_MAX 16

struct option_texts {
	const char *items[OPTION_TEXTS_MAX + 1]; /* NULL-terminated */
	size_t n;
};

struct option_ids {
	uint32_t *items;
	size_t n;
	size_t room;
};

struct option {
	const char *name; /* name on the command line, without the dashes */
	char letter;	  /* 0: none */
	enum option_kind kind;
	const char *value; /* placeholder of the value in --help: "SIZE" */
	const char *help;  /* one or two sentences without the final stop */
	size_t field;	   /* offsetof() in the struct of the options' owner */
	bool keeps_text;   /* the field is a const char *: the typed text, once it is found valid */
	uint64_t min, max; /* NUMBER, SIZE, DURATION; max 0: no limit */
	bool zero_is_none; /* 0 is valid, too, whatever the minimum */
	const char
		*zero_way_out; /* 0 is refused; the way out ends the sentence of the refusal; NULL: as other values */
	bool is_power_of_two;  /* SIZE */
	const char *const *choices; /* CHOICE; NULL-terminated */
	const char *bare; /* CHOICE: its value when it is given without one; the next word is a value only if it is a
			     choice */
	const char *constant;
	const char *example; /* examples of valid values, for refusals; NULL: those of the kind */
	/* Parser of a kind that this engine does not read. Return: 0 or -errno, with the sentence in `error` */
	int (*parse)(const struct option *row, const char *text, void *field, char *error);
	/* ---- of an option of the file ---- */
	const char *key;     /* "section.name"; NULL: only on the command line */
	const char *initial; /* value of an absent option; NULL: stays absent */
	bool is_live;	     /* a reload applies it; others wait for the next start */
};

/* A row of a command whose fields are a struct FIELDS: the common members; the rest follows. */
#define OPTION_ROW(kind_, name_, member, help_, ...)                                                                   \
	{                                                                                                              \
		.name = name_, .kind = OPTION_##kind_, .field = offsetof(FIELDS, member), .help = help_, __VA_ARGS__   \
	}

#define OPTION_CHOICES(...)                                                                                            \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

#define OPTIONS_ERROR_BYTES 512

struct option_quote {
	char text[128];
};

/** option_quote() - a user's text in quotes, without control characters, cut when long */
struct option_quote option_quote(const char *text);
/** option_refuse() - put a sentence into `error`, OPTIONS_ERROR_BYTES. Return: -EINVAL */
int option_refuse(char *error, const char *fmt, ...) PRINTF_LIKE(2, 3);
/** option_has_value() - whether a value follows the name */
bool option_has_value(const struct option *row);

/**
 * option_check() - check a value
 * @label:      name of the option in sentences: "'--max-db'", "FILE:2:13: 'database.max-size'"
 * @ret_number: value of a NUMBER, SIZE, DURATION; NULL: not needed
 * Return: 0; -EINVAL, -ENOMEM, with the sentence in `error`
 */
int option_check(const struct option *row, const char *label, const char *text, uint64_t *ret_number, char *error);

/* ---- command lines ---- */

struct option_table {
	const char *command; /* name in sentences: "trace"; NULL: the program itself */
	const struct option *rows;
	size_t n;
	const char *takes;	  /* arguments beside options: "program", after --; NULL: none; "topic": a word */
	size_t takes_most;	  /* maximum number of words; 0: one */
	const char *const *words; /* valid first words, NULL-terminated; a file may follow; NULL: any word */
	bool takes_program;
	/* Takes a value instead of the field; "yes" of a flag. Return: 0 or -errno, with the sentence in `error` */
	int (*set)(const struct option *row, const char *text, void *fields, char *error);
};

/* Options and words that users may type and the table does not have; each member may be NULL. @name: without its
 * dashes. */
struct option_dialect {
	/* Return: the way out, as the end of a sentence, or NULL */
	const char *(*absent)(const char *command, const char *name, size_t n_name);
	/*
	 * Return: the option that it stands for, "" where there is nothing to do, or NULL. @name: with "=VALUE" if
	 * typed
	 */
	const char *(*other)(const char *command, const char *name);
	/* Of a word that the command does not take. Return: the way out, as the end of a sentence, or NULL */
	const char *(*word)(const struct option_table *table, const char *word);
};

struct options_rest {
	char **argv; /* borrowed from the caller's argv: the program after --, or the words */
	size_t argc;
};

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_MISUSED };

/**
 * option_line_read() - read a command line
 * @argv:   argc arguments, without the command's own name
 * @fields: the struct that the rows are bound to, with its defaults; release with options_done()
 * @error:  OPTIONS_ERROR_BYTES; one sentence for OPTIONS_MISUSED
 */
enum options_result option_line_read(const struct option_table *table, const struct option_dialect *dialect, int argc,
				     char *const *argv, void *fields, struct options_rest *ret_rest, char *error);
/** options_done() - release what the fields own */
void options_done(const struct option_table *table, void *fields);
/** option_table_row() - the i-th row, after the last that of --help; then NULL */
const struct option *option_table_row(const struct option_table *table, size_t i);
/** option_manual_append() - append an option to a manual page, for troff: its form, and its help */
void option_manual_append(struct buf *out, const struct option *row);
