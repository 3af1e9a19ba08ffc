// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define HELP_COLUMNS 26 /* column of an option's help */
#define HELP_WIDTH 80
#define LABEL_BYTES 256

static const struct option options[] = {
#define OPTION(id, ...) [CONFIG_##id] = { __VA_ARGS__ },
#include "base/daemon_options.def"
};

const struct option *config_option_get(size_t id)
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

/* ---- values ---- */

/* A copy of all values, the new one last. Return: NULL without memory */
static char *texts_append(const struct config_value *before, const char *text, uint64_t *ret_bytes)
{
	size_t n_before = before->text ? before->number + 1 : 0, n = strlen(text);
	char *all = malloc(n_before + n + 1);

	if (!all)
		return NULL;
	if (n_before)
		memcpy(all, before->text, n_before);
	memcpy(all + n_before, text, n + 1);
	*ret_bytes = n_before + n;
	return all;
}

int config_set(struct config *config, enum config_id id, const char *text, const struct config_place *place,
	       char *error)
{
	const struct option *o = &options[id];
	struct config_value *v = &config->values[id];
	enum config_origin origin = place ? CONFIG_FROM_FILE : CONFIG_FROM_COMMAND_LINE;
	char label[LABEL_BYTES];
	uint64_t number = 0;
	char *copy;
	int r;

	if (place)
		(void)snprintf(label, sizeof(label), "%s:%u:%u: '%s'", place->file, place->line, place->column, o->key);
	else
		(void)snprintf(label, sizeof(label), "'--%s'", o->name);
	r = option_check(o, label, text, &number, error);
	if (r < 0)
		return r;
	copy = o->kind == OPTION_TEXTS ? texts_append(v, text, &number) : strdup(text);
	if (!copy) {
		(void)snprintf(error, CONFIG_ERROR_BYTES, "no memory for the options");
		return -ENOMEM;
	}
	if (origin < v->origin) { /* valid, but overruled */
		free(copy);
		return 0;
	}
	free(v->text);
	*v = (struct config_value){ .text = copy, .number = number, .origin = origin, .line = place ? place->line : 0 };
	return 0;
}

int config_init(struct config *config)
{
	char error[CONFIG_ERROR_BYTES];

	*config = (struct config){ 0 };
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		struct config_value *v = &config->values[i];

		if (!options[i].initial)
			continue;
		/* A default that is no valid value is "": unset. */
		(void)option_check(&options[i], "", options[i].initial, &v->number, error);
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

static int line_set(const struct option *row, const char *text, void *config, char *error)
{
	return config_set(config, (enum config_id)(row - options), text, NULL, error);
}

int config_read_line(struct config *config, int argc, char *const *argv, char *error)
{
	static const struct option_table table = { .rows = options, .n = CONFIG_COUNT, .set = line_set };
	struct options_rest rest;

	return option_line_read(&table, NULL, argc, argv, config, &rest, error) == OPTIONS_OK ? 0 : -EINVAL;
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

/* ---- output ---- */

/* Wraps text at the width; lines after the first begin with the same blanks, or with `start`. */
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
		const struct option *o = &options[i];

		(void)snprintf(first, sizeof(first), "  --%s%s%s", o->name, o->value ? " " : "",
			       o->value ? o->value : "");
		if (strlen(first) >= HELP_COLUMNS)
			(void)buf_printf(out, "%s\n%s", first, blanks);
		else
			(void)buf_printf(out, "%-*s", HELP_COLUMNS, first);
		wrap_append(out, blanks, HELP_COLUMNS, o->help);
	}
}

static void value_append(const struct option *o, const struct config_value *v, struct buf *out)
{
	if (!v->text || !*v->text)
		(void)buf_append_text(out, "''");
	else if (o->kind == OPTION_WHOM && strchr(v->text, ','))
		(void)buf_printf(out, "[%s]", v->text);
	else if (o->kind == OPTION_TEXT) {
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

	(void)buf_printf(out, "# %s: a commented line shows the default value\n", name);
	for (size_t i = 0; i < CONFIG_COUNT && options[i].key; i++) {
		const struct option *o = &options[i];
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
