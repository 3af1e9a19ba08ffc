// SPDX-License-Identifier: Apache-2.0
/*
 * Command lines: long options, letters, words, and a program behind --.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/option.h"
#include "base/parse.h"

#define ROWS_MAX 64 /* maximum rows of one table for suggestions */
#define LABEL_BYTES 64

static const struct option help_row = { .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "Show this text" };

/* State of parsing a line. */
struct reader {
	const struct option_table *table;
	const struct option_dialect *dialect;
	char *const *argv;
	int argc;
	int at; /* next argument */
	void *fields;
	char *error;
};

const struct option *option_table_row(const struct option_table *table, size_t i)
{
	return i < table->n ? &table->rows[i] : i == table->n ? &help_row : NULL;
}

static const struct option *option_row_find(const struct option_table *table, const char *name, char letter)
{
	size_t n_name = name ? strcspn(name, "=") : 0;
	const struct option *row;

	for (size_t i = 0; (row = option_table_row(table, i)); i++)
		if (name ? strlen(row->name) == n_name && memcmp(row->name, name, n_name) == 0 : row->letter == letter)
			return row;
	return NULL;
}

/* ---- unknown options ---- */

static const char *way_out_find(const struct reader *reader, const char *name, size_t n_name)
{
	const struct option_dialect *dialect = reader->dialect;

	return dialect && dialect->absent ? dialect->absent(reader->table->command, name, n_name) : NULL;
}

static enum options_result option_refuse_unknown(const struct reader *reader, const char *argument)
{
	const char *command = reader->table->command, *names[ROWS_MAX] = { NULL }, *nearest, *way_out;
	char typed[NAME_MAX_BYTES + 2], of_command[NAME_MAX_BYTES] = "", list[NAME_MAX_BYTES + 16] = "--help";
	const struct option *row;
	size_t dashes;

	(void)snprintf(typed, sizeof(typed), "%.*s", (int)MIN(strcspn(argument, "="), sizeof(typed) - 1), argument);
	for (size_t i = 0; i < ROWS_MAX && (row = option_table_row(reader->table, i)); i++)
		names[i] = row->name;
	nearest = strncmp(typed, "--", 2) == 0 ? name_nearest(typed + 2, names, ROWS_MAX) : NULL;
	dashes = MIN(strspn(typed, "-"), 2);
	way_out = way_out_find(reader, typed + dashes, strlen(typed + dashes));
	if (command) {
		(void)snprintf(of_command, sizeof(of_command), " for %s", command);
		(void)snprintf(list, sizeof(list), "ingero help %s", command);
	}
	if (way_out)
		(void)option_refuse(reader->error, "%s is not supported; %s", option_quote(typed).text, way_out);
	else if (nearest)
		(void)option_refuse(reader->error, "unknown option %s%s; did you mean '--%s'?",
				    option_quote(typed).text, of_command, nearest);
	else
		(void)option_refuse(reader->error, "unknown option %s%s; '%s' lists %s", option_quote(typed).text,
				    of_command, list, command ? "them" : "the options");
	return OPTIONS_MISUSED;
}

/* A value of a choice that Ingero has and this program does not; for any other the usual sentence stays. */
static void choice_absent_refuse(const struct reader *reader, const struct option *row, const char *text)
{
	CLEANUP(buf_done) struct buf typed = BUF_INIT;
	const char *way_out;

	(void)buf_printf(&typed, "--%s=%s", row->name, text);
	if (typed.n < 2)
		return; /* no memory: the usual sentence is right, too */
	way_out = way_out_find(reader, buf_text(&typed) + 2, typed.n - 2);
	if (way_out)
		(void)option_refuse(reader->error, "%s is not supported; %s", option_quote(buf_text(&typed)).text,
				    way_out);
}

/* ---- values ---- */

static bool id_is_listed(const struct option_ids *ids, uint32_t id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->items[i] == id)
			return true;
	return false;
}

/* One user, by name first: a name may consist of digits. */
static int user_parse(const char *text, uint32_t *ret_uid)
{
	const struct passwd *user = getpwnam(text);
	uint64_t uid;

	if (user)
		uid = user->pw_uid;
	else if (parse_u64(text, UINT32_MAX - 1, &uid) < 0)
		return -ENOENT;

	*ret_uid = (uint32_t)uid;
	return 0;
}

static int id_parse(const struct option *row, const char *text, uint32_t *ret_id, char *error)
{
	uint64_t pid;

	if (row->kind == OPTION_USERS)
		return user_parse(text, ret_id) == 0
			       ? 0
			       : option_refuse(error, "there is no user %s; '--%s' takes names or numeric user ids",
					       option_quote(text).text, row->name);
	if (parse_u64(text, PARSE_PID_MAX, &pid) < 0 || pid == 0)
		return option_refuse(error, "%s is not a process id; '--%s' takes numbers such as 4711 or 4711,4712",
				     option_quote(text).text, row->name);
	*ret_id = (uint32_t)pid;
	return 0;
}

static int ids_parse(const struct option *row, const char *text, struct option_ids *ids, char *error)
{
	CLEANUP(freep) char *copy = strdup(text);
	char *rest = copy, *item;

	if (!copy)
		return option_refuse(error, "no memory for the options");
	while ((item = strsep(&rest, ","))) {
		uint32_t id = 0;
		int r = id_parse(row, item, &id, error);

		if (r < 0)
			return r;
		if (!id_is_listed(ids, id) && ARRAY_PUSH(ids, id) < 0)
			return option_refuse(error, "no memory for the options");
	}
	return 0;
}

static int text_add(const struct option *row, const char *text, struct option_texts *texts, char *error)
{
	if (texts->n == OPTION_TEXTS_MAX)
		return option_refuse(error, "'--%s' can be given %d times, not more: leave out some", row->name,
				     OPTION_TEXTS_MAX);
	texts->items[texts->n++] = text;
	return 0;
}

static bool is_number(const struct option *row)
{
	return row->kind == OPTION_NUMBER || row->kind == OPTION_SIZE || row->kind == OPTION_DURATION;
}

static int field_set(const struct option *row, const char *text, void *field, char *error)
{
	char label[LABEL_BYTES];
	uint64_t number = 0;
	int r;

	if (row->parse)
		return row->parse(row, text, field, error);
	if (row->kind == OPTION_PIDS || row->kind == OPTION_USERS)
		return ids_parse(row, text, field, error);
	(void)snprintf(label, sizeof(label), "'--%s'", row->name);
	r = option_check(row, label, text, &number, error);
	if (r < 0)
		return r;
	if (row->kind == OPTION_TEXTS)
		return text_add(row, text, field, error);
	if (row->kind == OPTION_FLAG)
		*(bool *)field = true;
	else if (row->kind == OPTION_CONSTANT)
		*(const char **)field = row->constant;
	else if (!row->keeps_text && is_number(row))
		*(uint64_t *)field = number;
	else
		*(const char **)field = text;
	return 0;
}

static int row_set(const struct reader *reader, const struct option *row, const char *text)
{
	return reader->table->set ? reader->table->set(row, text, reader->fields, reader->error)
				  : field_set(row, text, (uint8_t *)reader->fields + row->field, reader->error);
}

static enum options_result value_missing(const struct reader *reader, const struct option *row)
{
	(void)option_refuse(reader->error, "'--%s' needs a value: --%s %s", row->name, row->name, row->value);
	return OPTIONS_MISUSED;
}

/* Whether the next argument is one of the choices. */
static bool is_choice_next(const struct reader *reader, const struct option *row)
{
	for (size_t i = 0; reader->at < reader->argc && row->choices[i]; i++)
		if (strcmp(row->choices[i], reader->argv[reader->at]) == 0)
			return true;
	return false;
}

static enum options_result value_take(struct reader *reader, const struct option *row, const char *attached)
{
	const char *value = attached;

	if (!value && row->bare && !is_choice_next(reader, row))
		value = row->bare;
	if (!value) {
		if (reader->at >= reader->argc || strcmp(reader->argv[reader->at], "--") == 0)
			return value_missing(reader, row);
		value = reader->argv[reader->at++];
	}
	if (!*value && (row->kind == OPTION_TEXT || row->kind == OPTION_TEXTS))
		return value_missing(reader, row);
	if (row_set(reader, row, value) == 0)
		return OPTIONS_OK;
	if (row->kind == OPTION_CHOICE)
		choice_absent_refuse(reader, row, value);
	return OPTIONS_MISUSED;
}

static enum options_result flag_take(struct reader *reader, const struct option *row)
{
	if (row == &help_row)
		return OPTIONS_HELP;
	return row_set(reader, row, "yes") < 0 ? OPTIONS_MISUSED : OPTIONS_OK;
}

/* ---- arguments ---- */

/* Whether the next argument can be the value of an option. */
static bool is_value_next(const struct reader *reader)
{
	return reader->at < reader->argc && reader->argv[reader->at][0] != '-';
}

static enum options_result long_read(struct reader *reader, const char *argument)
{
	const char *name = argument + 2, *equals = strchr(name, '=');
	const char *other =
		reader->dialect && reader->dialect->other ? reader->dialect->other(reader->table->command, name) : NULL;
	const struct option *row = option_row_find(reader->table, name, /* letter= */ 0);

	if (other && (!row || equals || !is_value_next(reader))) {
		if (!*other)
			return OPTIONS_OK;
		equals = strchr(other, '=');
		row = option_row_find(reader->table, other, /* letter= */ 0);
	}
	if (!row)
		return option_refuse_unknown(reader, argument);
	if (option_has_value(row))
		return value_take(reader, row, equals ? equals + 1 : NULL);
	if (equals && strcmp(equals, "=false") == 0)
		return OPTIONS_OK;
	if (equals && strcmp(equals, "=true") != 0) {
		(void)option_refuse(reader->error, "'--%s' takes no value; leave out %s", row->name,
				    option_quote(equals).text);
		return OPTIONS_MISUSED;
	}
	return flag_take(reader, row);
}

/* "-p4711", "-p 4711", and flags in a bundle. */
static enum options_result letters_read(struct reader *reader, const char *argument)
{
	for (const char *p = argument + 1; *p; p++) {
		const struct option *row = option_row_find(reader->table, NULL, *p);
		char typed[3] = { '-', *p, 0 };
		enum options_result result;

		if (!row)
			return option_refuse_unknown(reader, (unsigned char)*p < 0x80 ? typed : argument);
		if (option_has_value(row))
			return value_take(reader, row, p[1] ? p + 1 : NULL);
		result = flag_take(reader, row);
		if (result != OPTIONS_OK)
			return result;
	}
	return OPTIONS_OK;
}

static enum options_result word_read(struct reader *reader, struct options_rest *rest)
{
	const struct option_table *table = reader->table;
	char *const *word = &reader->argv[reader->at - 1];
	struct option_quote quote = option_quote(*word);
	const char *way_out;

	/* Words are adjacent, so they are a part of argv. */
	if (table->takes && rest->argc < MAX(table->takes_most, 1) &&
	    (!rest->argc || rest->argv + rest->argc == word)) {
		if (!rest->argc)
			rest->argv = (char **)(uintptr_t)word;
		rest->argc++;
		return OPTIONS_OK;
	}
	way_out = reader->dialect && reader->dialect->word ? reader->dialect->word(table, *word) : NULL;
	if (way_out)
		(void)option_refuse(reader->error, "%s takes no argument %s; %s", table->command, quote.text, way_out);
	else if (!table->command)
		(void)option_refuse(reader->error, "unexpected argument %s; '--help' lists the options", quote.text);
	else if (table->takes_program)
		(void)option_refuse(reader->error,
				    "%s takes no argument %s; a program to start goes after '--': ingero %s -- PROGRAM",
				    table->command, quote.text, table->command);
	else
		(void)option_refuse(reader->error, "%s takes no argument %s; 'ingero help %s' shows what it takes",
				    table->command, quote.text, table->command);
	return OPTIONS_MISUSED;
}

enum options_result option_line_read(const struct option_table *table, const struct option_dialect *dialect, int argc,
				     char *const *argv, void *fields, struct options_rest *ret_rest, char *error)
{
	struct reader reader = {
		.table = table, .dialect = dialect, .argv = argv, .argc = argc, .fields = fields, .error = error
	};
	struct options_rest rest = { .argc = 0 };

	while (reader.at < argc) {
		const char *argument = argv[reader.at++];
		enum options_result result;

		if (strcmp(argument, "--") == 0 && table->takes_program) {
			rest.argv = (char **)(uintptr_t)(argv + reader.at);
			rest.argc = (size_t)(argc - reader.at);
			if (rest.argc == 0 || !rest.argv[0][0]) {
				(void)option_refuse(error,
						    "no program after '--'; write it there: ingero %s -- PROGRAM",
						    table->command);
				return OPTIONS_MISUSED;
			}
			break;
		}
		if (strncmp(argument, "--", 2) == 0)
			result = long_read(&reader, argument);
		else if (argument[0] == '-' && argument[1])
			result = letters_read(&reader, argument);
		else
			result = word_read(&reader, &rest);
		if (result != OPTIONS_OK)
			return result;
	}

	*ret_rest = rest;
	return OPTIONS_OK;
}

void options_done(const struct option_table *table, void *fields)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct option *row = &table->rows[i];

		if (row->kind == OPTION_PIDS || row->kind == OPTION_USERS)
			ARRAY_DONE((struct option_ids *)(void *)((uint8_t *)fields + row->field));
	}
}
