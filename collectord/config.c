// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/parse.h"

#define HELP_COLUMNS 26 /* where the help of an option begins */
#define HELP_WIDTH 80
#define QUOTE_BYTES 60 /* of a value, in a sentence */

static const struct config_option options[] = {
#define OPTION(id, ...) [CONFIG_##id] = { __VA_ARGS__ },
#include "config.def"
};

const struct config_option *config_option_get(size_t id)
{
	return id < ARRAY_SIZE(options) ? &options[id] : NULL;
}

const char *config_text(const struct config *config, enum config_id id)
{
	return config->values[id].text;
}

uint64_t config_number(const struct config *config, enum config_id id)
{
	return config->values[id].number;
}

bool config_is_given(const struct config *config, enum config_id id)
{
	return config->values[id].origin != CONFIG_FROM_DEFAULT;
}

/* ---- refusals ---- */

struct quote {
	char text[QUOTE_BYTES + 8];
};

/* What somebody wrote, on one line and not too much of it. */
static struct quote quote_of(const char *text)
{
	struct quote quote;
	size_t n = 0;

	quote.text[n++] = '\'';
	for (; *text && n <= QUOTE_BYTES; text++)
		quote.text[n++] = (char)((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
	(void)snprintf(quote.text + n, sizeof(quote.text) - n, "%s'", *text ? "..." : "");
	return quote;
}

/* "FILE:LINE:COLUMN: 'max-size'", "'--max-db'" */
static int refuse(const struct config_option *o, const struct config_place *place, const char *text, const char *wants,
		  char *error)
{
	if (place)
		(void)snprintf(error, CONFIG_ERROR_BYTES, "%s:%u:%u: '%s' takes %s, not %s", place->file, place->line,
			       place->column, o->key, wants, quote_of(text).text);
	else
		(void)snprintf(error, CONFIG_ERROR_BYTES, "'--%s' takes %s, not %s", o->option, wants,
			       quote_of(text).text);
	return -EINVAL;
}

/* ---- values ---- */

static int choice_check(const struct config_option *o, const char *text, char *wants, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < CONFIG_CHOICES_MAX && o->choices[i]; i++) {
		bool is_last = i + 1 == CONFIG_CHOICES_MAX || !o->choices[i + 1];

		if (strcmp(o->choices[i], text) == 0)
			return 0;
		if (n < room)
			n += (size_t)snprintf(wants + n, room - n, "%s%s",
					      !i	? ""
					      : is_last ? " or "
							: ", ",
					      o->choices[i]);
	}
	return -EINVAL;
}

struct size_text {
	char text[24];
};

/* In the largest unit that leaves nothing over, as it would be typed. */
static struct size_text size_of(uint64_t bytes)
{
	static const char units[] = "kmgt";
	struct size_text size;
	size_t i = 0;

	for (bytes >>= 10; i + 1 < strlen(units) && !(bytes & 1023); i++)
		bytes >>= 10;
	(void)snprintf(size.text, sizeof(size.text), "%llu%c", (unsigned long long)bytes, units[i]);
	return size;
}

static int number_check(const struct config_option *o, const char *text, uint64_t *ret_value, char *wants, size_t room)
{
	static const char *const names[] = { [CONFIG_KIND_NUMBER] = "a number",
					     [CONFIG_KIND_SIZE] = "a size",
					     [CONFIG_KIND_DURATION] = "a time with its unit" };
	uint64_t value;
	int r = o->kind == CONFIG_KIND_SIZE	  ? parse_size(text, &value)
		: o->kind == CONFIG_KIND_DURATION ? parse_duration(text, &value)
						  : parse_u64(text, UINT64_MAX, &value);
	size_t n;

	if (r == 0 &&
	    ((value == 0 && o->zero_is_none) || (value >= o->min && (!o->max || value <= o->max) &&
						 (!o->is_power_of_two || (value && !(value & (value - 1))))))) {
		*ret_value = value;
		return 0;
	}
	n = (size_t)snprintf(wants, room, "%s such as %s", o->is_power_of_two ? "a power of two" : names[o->kind],
			     o->example);
	if (o->kind == CONFIG_KIND_SIZE && o->min && n < room)
		n += (size_t)snprintf(wants + n, room - n, ", %s%s%s", o->max ? "from " : "", size_of(o->min).text,
				      o->max ? "" : " or more");
	if (o->kind == CONFIG_KIND_SIZE && o->max && n < room)
		n += (size_t)snprintf(wants + n, room - n, " to %s", size_of(o->max).text);
	if (o->zero_is_none && n < room)
		(void)snprintf(wants + n, room - n, ", or 0");
	return -EINVAL;
}

/* Whether such users exist is asked where they are needed: a file can be checked on another machine. */
static int whom_check(const char *text, char *wants, size_t room)
{
	static const char *const words[] = { "auto", "everyone", "nobody" };
	CLEANUP(freep) char *copy = strdup(text);
	char *rest = copy, *item;
	size_t n_items = 0;
	bool has_word = false;

	(void)snprintf(wants, room, "auto, everyone, nobody, or users such as alice,1001");
	if (!copy)
		return -ENOMEM;
	while ((item = strsep(&rest, ","))) {
		if (!*item || item[strcspn(item, " \t:/")])
			return -EINVAL;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			has_word |= strcmp(item, words[i]) == 0;
		n_items++;
	}
	return has_word && n_items > 1 ? -EINVAL : 0;
}

static int value_check(const struct config_option *o, const char *text, uint64_t *ret_number, char *wants, size_t room)
{
	switch (o->kind) {
	case CONFIG_KIND_FLAG:
		return 0;
	case CONFIG_KIND_TEXT:
		(void)snprintf(wants, room, "%s", o->value);
		return *text ? 0 : -EINVAL;
	case CONFIG_KIND_CHOICE:
		return choice_check(o, text, wants, room);
	case CONFIG_KIND_NUMBER:
	case CONFIG_KIND_SIZE:
	case CONFIG_KIND_DURATION:
		return number_check(o, text, ret_number, wants, room);
	case CONFIG_KIND_WHOM:
		return whom_check(text, wants, room);
	}
	return -EINVAL;
}

int config_set(struct config *config, enum config_id id, const char *text, const struct config_place *place,
	       char *error)
{
	const struct config_option *o = &options[id];
	struct config_value *v = &config->values[id];
	enum config_origin origin = place ? CONFIG_FROM_FILE : CONFIG_FROM_COMMAND_LINE;
	char wants[256] = "";
	uint64_t number = 0;
	char *copy;
	int r = value_check(o, text, &number, wants, sizeof(wants));

	if (r == -EINVAL)
		return refuse(o, place, text, wants, error);
	copy = r == 0 ? strdup(text) : NULL;
	if (!copy) {
		(void)snprintf(error, CONFIG_ERROR_BYTES, "no memory for the options");
		return -ENOMEM;
	}
	if (origin < v->origin) { /* right, and overruled */
		free(copy);
		return 0;
	}
	free(v->text);
	*v = (struct config_value){ .text = copy, .number = number, .origin = origin, .line = place ? place->line : 0 };
	return 0;
}

int config_init(struct config *config)
{
	char wants[256];

	*config = (struct config){ 0 };
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		struct config_value *v = &config->values[i];

		if (!options[i].initial)
			continue;
		/* A default that is no right value is "": nothing was said. */
		(void)value_check(&options[i], options[i].initial, &v->number, wants, sizeof(wants));
		v->text = strdup(options[i].initial);
		if (!v->text) {
			config_done(config);
			return -ENOMEM;
		}
	}
	return 0;
}

void config_done(struct config *config)
{
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		free(config->values[i].text);
		config->values[i] = (struct config_value){ 0 };
	}
}

/* ---- the command line ---- */

static int unknown_refuse(const char *argument, char *error)
{
	char typed[NAME_MAX_BYTES + 2];
	const char *names[CONFIG_COUNT], *nearest = NULL;

	if (strncmp(argument, "--", 2) != 0) {
		(void)snprintf(error, CONFIG_ERROR_BYTES, "unexpected argument %s; '--help' lists the options",
			       quote_of(argument).text);
		return -EINVAL;
	}
	for (size_t i = 0; i < CONFIG_COUNT; i++)
		names[i] = options[i].option;
	(void)snprintf(typed, sizeof(typed), "%.*s", (int)MIN(strcspn(argument, "="), sizeof(typed) - 1), argument);
	nearest = name_nearest(typed + 2, names, CONFIG_COUNT);
	if (nearest)
		(void)snprintf(error, CONFIG_ERROR_BYTES, "unknown option %s; did you mean '--%s'?",
			       quote_of(typed).text, nearest);
	else
		(void)snprintf(error, CONFIG_ERROR_BYTES, "unknown option %s; '--help' lists the options",
			       quote_of(typed).text);
	return -EINVAL;
}

int config_read_line(struct config *config, int argc, char *const *argv, char *error)
{
	for (int i = 0; i < argc; i++) {
		const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "", *equals = strchr(name, '=');
		size_t n_name = equals ? (size_t)(equals - name) : strlen(name), id;
		const char *text = equals ? equals + 1 : NULL;
		int r;

		for (id = 0; id < CONFIG_COUNT; id++)
			if (strlen(options[id].option) == n_name && memcmp(options[id].option, name, n_name) == 0)
				break;
		if (id == CONFIG_COUNT || !n_name)
			return unknown_refuse(argv[i], error);
		if (options[id].kind == CONFIG_KIND_FLAG && text) {
			(void)snprintf(error, CONFIG_ERROR_BYTES, "'--%s' takes no value", options[id].option);
			return -EINVAL;
		}
		if (options[id].kind == CONFIG_KIND_FLAG)
			text = "yes";
		else if (!text && i + 1 < argc)
			text = argv[++i];
		if (!text) {
			(void)snprintf(error, CONFIG_ERROR_BYTES, "'--%s' needs a value: %s", options[id].option,
				       options[id].value);
			return -EINVAL;
		}
		r = config_set(config, (enum config_id)id, text, NULL, error);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the file ---- */

int config_trust(int fd, const char *path, char *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		(void)snprintf(error, CONFIG_ERROR_BYTES, "cannot read '%s': %s", path, strerror(errno));
		return -EIO;
	}
	if (!S_ISREG(st.st_mode)) {
		(void)snprintf(error, CONFIG_ERROR_BYTES, "'%s' is no file", path);
		return -EINVAL;
	}
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & S_IWOTH ||
	    (st.st_mode & S_IWGRP && st.st_gid != 0)) {
		(void)snprintf(error, CONFIG_ERROR_BYTES,
			       "'%s' can be changed by others than root; 'chown root:root' and 'chmod 644' it", path);
		return -EPERM;
	}
	return 0;
}

int config_open(const char *path, char *error)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = fd < 0 ? -errno : config_trust(fd, path, error);

	if (fd < 0 && r != -ENOENT)
		(void)snprintf(error, CONFIG_ERROR_BYTES, "cannot read '%s': %s", path, strerror(-r));
	return r < 0 ? r : TAKE_FD(fd);
}

/* ---- what people read ---- */

/* Words of the text, none beyond the width; lines after the first begin with as many blanks, or with `start`. */
static void wrap_append(struct buf *out, const char *start, size_t column, const char *text)
{
	size_t at = column;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > column && at + 1 + n > HELP_WIDTH) {
			(void)buf_printf(out, "\n%s", start);
			at = column;
		} else if (at > column) {
			(void)buf_append_text(out, " ");
			at++;
		}
		(void)buf_append(out, text, n);
		at += n;
		text += n;
		text += strspn(text, " ");
	}
	(void)buf_append_text(out, "\n");
}

void config_help_append(struct buf *out)
{
	char first[HELP_COLUMNS * 2], blanks[HELP_COLUMNS + 1];

	(void)snprintf(blanks, sizeof(blanks), "%*s", HELP_COLUMNS, "");
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const struct config_option *o = &options[i];

		(void)snprintf(first, sizeof(first), "  --%s%s%s", o->option, o->value ? " " : "",
			       o->value ? o->value : "");
		if (strlen(first) >= HELP_COLUMNS)
			(void)buf_printf(out, "%s\n%s", first, blanks);
		else
			(void)buf_printf(out, "%-*s", HELP_COLUMNS, first);
		wrap_append(out, blanks, HELP_COLUMNS, o->help);
	}
}

static void value_append(const struct config_option *o, const struct config_value *v, struct buf *out)
{
	if (!v->text || !*v->text)
		(void)buf_append_text(out, "''");
	else if (o->kind == CONFIG_KIND_WHOM && strchr(v->text, ','))
		(void)buf_printf(out, "[%s]", v->text);
	else if (o->kind == CONFIG_KIND_TEXT) {
		(void)buf_append_text(out, "'");
		for (const char *p = v->text; *p; p++)
			(void)buf_printf(out, *p == '\'' ? "''" : "%c", *p);
		(void)buf_append_text(out, "'");
	} else
		(void)buf_append_text(out, v->text);
}

void config_show_append(const struct config *config, const char *name, struct buf *out)
{
	size_t n_section = 0;
	const char *section = "";

	(void)buf_printf(out, "# %s: what is not said has the value behind its '#'\n", name);
	for (size_t i = 0; i < CONFIG_COUNT && options[i].key; i++) {
		const struct config_option *o = &options[i];
		const struct config_value *v = &config->values[i];
		const char *dot = strchr(o->key, '.');

		if ((size_t)(dot - o->key) != n_section || strncmp(section, o->key, n_section) != 0) {
			section = o->key;
			n_section = (size_t)(dot - o->key);
			(void)buf_printf(out, "\n%.*s:\n", (int)n_section, section);
		}
		(void)buf_append_text(out, "  # ");
		wrap_append(out, "  # ", 4, o->help);
		(void)buf_printf(out, "  %s%s: ", v->origin == CONFIG_FROM_FILE ? "" : "#", dot + 1);
		value_append(o, v, out);
		if (v->origin == CONFIG_FROM_FILE)
			(void)buf_printf(out, " # line %u", v->line);
		(void)buf_append_text(out, "\n");
	}
}
