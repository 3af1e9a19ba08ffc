// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>

#include "base/nearest.h"
#include "base/parse.h"
#include "cli/absent.h"
#include "libingero/render/units.h"

#define PID_MAX 4194304u /* proc(5): the most that pid_max may be on 64-bit kernels */
#define HELP_COLUMNS 30	 /* where the help of an option begins */
#define OPTIONS_MAX 64	 /* rows of one table that --help and suggestions look at */

static const struct option help_row = { .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "Show this text" };

struct option_quote option_quote(const char *text)
{
	static const struct text_style style = { .is_utf8 = true, .columns = 40 };
	CLEANUP(buf_done) struct buf clean = BUF_INIT;
	struct option_quote quote;

	(void)text_append(&clean, &style, text, style.columns);
	(void)snprintf(quote.text, sizeof(quote.text), "'%s'", buf_text(&clean));
	return quote;
}

static void refuse(char *error, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void refuse(char *error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(error, OPTIONS_ERROR_BYTES, fmt, ap);
	va_end(ap);
}

static const struct option *row_get(const struct option_table *table, size_t i)
{
	return i < table->n ? &table->rows[i] : &help_row;
}

static const struct option *row_find(const struct option_table *table, const char *name, size_t n_name, char letter)
{
	for (size_t i = 0; i <= table->n; i++) {
		const struct option *row = row_get(table, i);

		if (name ? strlen(row->name) == n_name && memcmp(row->name, name, n_name) == 0 : row->letter == letter)
			return row;
	}
	return NULL;
}

static void refuse_unknown(const struct option_table *table, const char *argument, char *error)
{
	const char *names[OPTIONS_MAX] = { NULL }, *nearest, *way_out = NULL;
	char typed[NAME_MAX_BYTES + 2];
	size_t dashes;

	(void)snprintf(typed, sizeof(typed), "%.*s", (int)MIN(strcspn(argument, "="), sizeof(typed) - 1), argument);
	for (size_t i = 0; i <= table->n && i < OPTIONS_MAX; i++)
		names[i] = row_get(table, i)->name;
	nearest = strncmp(typed, "--", 2) == 0 ? name_nearest(typed + 2, names, OPTIONS_MAX) : NULL;

	dashes = MIN(strspn(typed, "-"), 2);
	way_out = option_absent(table->command, typed + dashes, strlen(typed + dashes));

	if (way_out)
		refuse(error, "%s is not built in this version; %s", option_quote(typed).text, way_out);
	else if (nearest)
		refuse(error, "unknown option %s for %s; did you mean '--%s'?", option_quote(typed).text,
		       table->command, nearest);
	else
		refuse(error, "unknown option %s for %s; 'ingero help %s' lists them", option_quote(typed).text,
		       table->command, table->command);
}

/* A choice that Ingero's users know and this version does not have; `error` stays as it is for any other. */
static void choice_absent_refuse(const struct option_table *table, const struct option *row, const char *text,
				 char *error)
{
	CLEANUP(buf_done) struct buf typed = BUF_INIT;
	const char *way_out;

	(void)buf_printf(&typed, "--%s=%s", row->name, text);
	if (typed.n < 2)
		return; /* no memory: the other sentence is right, too */
	way_out = option_absent(table->command, buf_text(&typed) + 2, typed.n - 2);
	if (way_out)
		refuse(error, "%s is not built in this version; %s", option_quote(buf_text(&typed)).text, way_out);
}

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

static int ids_parse(const struct option *row, const char *text, struct option_ids *ids, char *error)
{
	CLEANUP(freep) char *copy = strdup(text);
	char *rest = copy, *item;

	if (!copy) {
		refuse(error, "no memory for the options");
		return -ENOMEM;
	}
	while ((item = strsep(&rest, ","))) {
		uint64_t pid = 0;
		uint32_t id = 0;

		if (row->kind == OPTION_PIDS) {
			if (parse_u64(item, PID_MAX, &pid) < 0 || pid == 0) {
				refuse(error, "%s is not a process id; '--%s' takes numbers such as 4711 or 4711,4712",
				       option_quote(item).text, row->name);
				return -EINVAL;
			}
			id = (uint32_t)pid;
		} else if (user_parse(item, &id) < 0) {
			refuse(error, "there is no user %s; '--%s' takes names or numeric user ids",
			       option_quote(item).text, row->name);
			return -EINVAL;
		}
		if (!id_is_listed(ids, id) && ARRAY_PUSH(ids, id) < 0) {
			refuse(error, "no memory for the options");
			return -ENOMEM;
		}
	}
	return 0;
}

static int choice_parse(const struct option *row, const char *text, const char **field, char *error)
{
	CLEANUP(buf_done) struct buf list = BUF_INIT;

	for (size_t i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], text) == 0) {
			*field = row->choices[i];
			return 0;
		}
		(void)buf_printf(&list, "%s%s", i == 0 ? "" : row->choices[i + 1] ? ", " : " or ", row->choices[i]);
	}
	refuse(error, "'--%s' takes %s, not %s", row->name, buf_text(&list), option_quote(text).text);
	return -EINVAL;
}

static int number_parse(const struct option *row, const char *text, uint64_t *field, char *error)
{
	uint64_t max = row->max ? row->max : UINT64_MAX, value;
	int r;

	switch (row->kind) {
	case OPTION_DURATION:
		r = parse_duration(text, &value);
		if (r < 0)
			refuse(error,
			       r == -ERANGE ? "'--%s' %s is longer than any clock runs"
					    : "'--%s' takes a time with its unit such as 30s, 5m or 1h30m, not %s",
			       row->name, option_quote(text).text);
		break;
	case OPTION_SIZE:
		r = parse_size(text, &value);
		if (r < 0)
			refuse(error, "'--%s' takes a size such as 256k, 8m or 1g, not %s", row->name,
			       option_quote(text).text);
		break;
	default:
		r = parse_u64(text, UINT64_MAX, &value);
		if (r < 0)
			refuse(error, "'--%s' takes a whole number, not %s", row->name, option_quote(text).text);
		break;
	}
	if (r < 0)
		return r;

	if (value < row->min || value > max) {
		if (row->kind == OPTION_SIZE)
			refuse(error, "'--%s' takes %s to %s, not %s", row->name, units_bytes(row->min).text,
			       units_bytes(max).text, option_quote(text).text);
		else if (!row->max)
			refuse(error, "'--%s' takes %" PRIu64 " or more, not %s", row->name, row->min,
			       option_quote(text).text);
		else
			refuse(error, "'--%s' takes %" PRIu64 " to %" PRIu64 ", not %s", row->name, row->min, max,
			       option_quote(text).text);
		return -ERANGE;
	}
	*field = value;
	return 0;
}

static int time_option_parse(const struct option *row, const char *text, struct clock_time *field, char *error)
{
	int r = clock_parse(text, clock_now_unix_ns(), field);
	uint64_t duration_ns;

	if (r == -ERANGE)
		refuse(error, "'--%s' %s: there is no such day or hour", row->name, option_quote(text).text);
	else if (r < 0 && parse_duration(text, &duration_ns) == 0)
		refuse(error, "'--%s' takes a clock time, not the duration %s; how far back goes with '--since'",
		       row->name, option_quote(text).text);
	else if (r < 0)
		refuse(error,
		       "'--%s' takes a clock time such as 14:03, '2026-01-31 14:03:21', 2026-01-31T14:03:21Z or now, "
		       "not "
		       "%s",
		       row->name, option_quote(text).text);
	return r;
}

static int text_parse(const struct option *row, const char *text, const char **field, char *error)
{
	if (!*text) {
		refuse(error, "'--%s' needs a value: --%s %s", row->name, row->name, row->value);
		return -EINVAL;
	}
	*field = text;
	return 0;
}

static bool row_has_value(const struct option *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_CONSTANT;
}

static int row_apply(const struct option *row, const char *text, void *fields, char *error)
{
	void *field = (uint8_t *)fields + row->field;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_CONSTANT:
		*(const char **)field = row->constant;
		return 0;
	case OPTION_CHOICE:
		return choice_parse(row, text, field, error);
	case OPTION_NUMBER:
	case OPTION_DURATION:
	case OPTION_SIZE:
		return number_parse(row, text, field, error);
	case OPTION_TIME:
		return time_option_parse(row, text, field, error);
	case OPTION_TEXT:
		return text_parse(row, text, field, error);
	case OPTION_PIDS:
	case OPTION_USERS:
		return ids_parse(row, text, field, error);
	}
	return -EINVAL;
}

/* What is read so far; one per parse. */
struct reader {
	const struct option_table *table;
	char **argv;
	int argc;
	int at; /* next argument */
	void *fields;
	char *error;
};

static enum options_result value_take(struct reader *reader, const struct option *row, const char *attached)
{
	const char *value = attached;

	if (!value) {
		if (reader->at >= reader->argc || strcmp(reader->argv[reader->at], "--") == 0) {
			refuse(reader->error, "'--%s' needs a value: --%s %s", row->name, row->name, row->value);
			return OPTIONS_MISUSED;
		}
		value = reader->argv[reader->at++];
	}
	if (row_apply(row, value, reader->fields, reader->error) == 0)
		return OPTIONS_OK;
	if (row->kind == OPTION_CHOICE)
		choice_absent_refuse(reader->table, row, value, reader->error);
	return OPTIONS_MISUSED;
}

static const struct option *row_find_long(const struct option_table *table, const char *name)
{
	return row_find(table, name, strcspn(name, "="), /* letter= */ 0);
}

/* Whether the next argument can be the value of an option. */
static bool is_value_next(const struct reader *reader)
{
	return reader->at < reader->argc && reader->argv[reader->at][0] != '-';
}

static enum options_result long_read(struct reader *reader, const char *argument)
{
	const char *name = argument + 2, *equals = strchr(name, '=');
	const char *other = option_other(reader->table->command, name);
	const struct option *row = row_find_long(reader->table, name);

	if (other && (!row || equals || !is_value_next(reader))) {
		if (!*other)
			return OPTIONS_OK;
		equals = strchr(other, '=');
		row = row_find_long(reader->table, other);
	}
	if (!row) {
		refuse_unknown(reader->table, argument, reader->error);
		return OPTIONS_MISUSED;
	}
	if (row_has_value(row))
		return value_take(reader, row, equals ? equals + 1 : NULL);
	if (equals && strcmp(equals, "=false") == 0)
		return OPTIONS_OK;
	if (equals && strcmp(equals, "=true") != 0) {
		refuse(reader->error, "'--%s' takes no value; leave out %s", row->name, option_quote(equals).text);
		return OPTIONS_MISUSED;
	}
	if (row == &help_row)
		return OPTIONS_HELP;
	return row_apply(row, NULL, reader->fields, reader->error) < 0 ? OPTIONS_MISUSED : OPTIONS_OK;
}

/* "-p4711", "-p 4711", and flags in a bundle. */
static enum options_result letters_read(struct reader *reader, const char *argument)
{
	for (const char *p = argument + 1; *p; p++) {
		const struct option *row = row_find(reader->table, NULL, 0, *p);
		char typed[3] = { '-', *p, 0 };

		if (!row || !row->letter) {
			refuse_unknown(reader->table, (unsigned char)*p < 0x80 ? typed : argument, reader->error);
			return OPTIONS_MISUSED;
		}
		if (row_has_value(row))
			return value_take(reader, row, p[1] ? p + 1 : NULL);
		if (row == &help_row)
			return OPTIONS_HELP;
		if (row_apply(row, NULL, reader->fields, reader->error) < 0)
			return OPTIONS_MISUSED;
	}
	return OPTIONS_OK;
}

static enum options_result word_read(struct reader *reader, struct options_rest *rest)
{
	char *word = reader->argv[reader->at - 1];

	if (reader->table->takes_program) {
		refuse(reader->error, "%s takes no argument %s; a program to start goes behind '--': ingero %s -- %s",
		       reader->table->command, option_quote(word).text, reader->table->command, "PROGRAM");
		return OPTIONS_MISUSED;
	}
	/* Words stand together, so that they are a part of argv. */
	if (!reader->table->takes || rest->argc >= MAX(reader->table->takes_most, 1) ||
	    (rest->argc && rest->argv + rest->argc != &reader->argv[reader->at - 1])) {
		refuse(reader->error, "%s takes no argument %s; 'ingero help %s' shows what it takes",
		       reader->table->command, option_quote(word).text, reader->table->command);
		return OPTIONS_MISUSED;
	}
	if (!rest->argc)
		rest->argv = &reader->argv[reader->at - 1];
	rest->argc++;
	return OPTIONS_OK;
}

enum options_result options_parse(const struct option_table *table, int argc, char **argv, void *fields,
				  struct options_rest *ret_rest, char *error)
{
	struct reader reader = { .table = table, .argv = argv, .argc = argc, .fields = fields, .error = error };
	struct options_rest rest = { .argc = 0 };

	while (reader.at < argc) {
		const char *argument = argv[reader.at++];
		enum options_result result;

		if (strcmp(argument, "--") == 0 && table->takes_program) {
			rest.argv = argv + reader.at;
			rest.argc = (size_t)(argc - reader.at);
			if (rest.argc == 0 || !rest.argv[0][0]) {
				refuse(error, "no program behind '--'; write it there: ingero %s -- PROGRAM",
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

void options_help(const struct option_table *table, const struct text_style *style, struct buf *out)
{
	for (size_t i = 0; i <= table->n; i++) {
		const struct option *row = row_get(table, i);
		CLEANUP(buf_done) struct buf line = BUF_INIT;
		CLEANUP(buf_done) struct buf first = BUF_INIT;

		if (row->letter)
			(void)buf_printf(&line, "  -%c, --%s", row->letter, row->name);
		else
			(void)buf_printf(&line, "      --%s", row->name);
		if (row_has_value(row))
			(void)buf_printf(&line, " %s", row->value);
		if (line.n > HELP_COLUMNS - 2) { /* too long to stand beside its help */
			text_line(out, style, TEXT_PLAIN, "%s", buf_text(&line));
			buf_consume(&line, line.n);
		}
		(void)buf_printf(&first, "%-*s", HELP_COLUMNS, buf_text(&line));
		text_paragraph(out, style, buf_text(&first), row->help);
	}
}
