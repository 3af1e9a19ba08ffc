// SPDX-License-Identifier: Apache-2.0
/* The file, from libyaml's events: sections of keys, and no other part of YAML. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "config.h"

#define KEY_BYTES 128
#define LIST_BYTES 4096 /* maximum for all users together */

enum where {
	AT_TOP,	    /* before the sections */
	IN_FILE,    /* a section's name, or the end */
	AT_SECTION, /* its mapping comes next */
	IN_SECTION, /* a key, or the end of the section */
	AT_VALUE,
	IN_LIST,
};

struct reader {
	struct config *config;
	const char *name;
	char *error;
	enum where where;
	char section[KEY_BYTES];
	size_t id; /* the key whose value comes next */
	struct config_place value_at;
	char list[LIST_BYTES];
	bool is_seen[CONFIG_COUNT];
	unsigned int n_documents;
	struct buf *errors;   /* errors of the whole file; NULL: the first ends it */
	unsigned int n_skips; /* nodes that belong to an error */
	unsigned int depth;   /* depth inside the first of them */
};

static int refuse(struct reader *reader, const yaml_mark_t *mark, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int refuse(struct reader *reader, const yaml_mark_t *mark, const char *fmt, ...)
{
	int n = snprintf(reader->error, CONFIG_ERROR_BYTES, "%s:%zu:%zu: ", reader->name, mark->line + 1,
			 mark->column + 1);
	va_list ap;

	va_start(ap, fmt);
	if (n > 0 && n < CONFIG_ERROR_BYTES)
		(void)vsnprintf(reader->error + n, (size_t)(CONFIG_ERROR_BYTES - n), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A user's text in the form for a sentence. */
static void key_copy(char key[KEY_BYTES], const yaml_event_t *event)
{
	const unsigned char *p = event->data.scalar.value;
	size_t n = MIN(event->data.scalar.length, KEY_BYTES - 1);

	for (size_t i = 0; i < n; i++)
		key[i] = (char)(p[i] < ' ' || p[i] == 0x7f ? '?' : p[i]);
	key[n] = 0;
}

/* Sections and keys are compared with those of the table; the nearest is suggested. */
static int section_begin(struct reader *reader, const yaml_event_t *event)
{
	const char *names[CONFIG_COUNT] = { NULL }, *nearest;
	char texts[CONFIG_COUNT][KEY_BYTES];

	key_copy(reader->section, event);
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const char *key = config_option_get(i)->key;

		if (!key)
			continue;
		(void)snprintf(texts[i], KEY_BYTES, "%.*s", (int)strcspn(key, "."), key);
		names[i] = texts[i];
		if (strcmp(texts[i], reader->section) == 0) {
			reader->where = AT_SECTION;
			return 0;
		}
	}
	nearest = name_nearest(reader->section, names, CONFIG_COUNT);
	if (nearest)
		return refuse(reader, &event->start_mark, "unknown key '%s'; did you mean '%s'?", reader->section,
			      nearest);
	return refuse(reader, &event->start_mark, "unknown key '%s'; 'ingero config show' lists all", reader->section);
}

static int key_begin(struct reader *reader, const yaml_event_t *event)
{
	const char *names[CONFIG_COUNT] = { NULL }, *nearest;
	size_t n = strlen(reader->section);
	char name[KEY_BYTES];

	key_copy(name, event);
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const char *key = config_option_get(i)->key;

		if (!key || strncmp(key, reader->section, n) != 0 || key[n] != '.')
			continue;
		names[i] = key + n + 1;
		if (strcmp(names[i], name) != 0)
			continue;
		if (reader->is_seen[i])
			return refuse(reader, &event->start_mark, "'%s' is there twice; keep one", key);
		reader->is_seen[i] = true;
		reader->id = i;
		reader->where = AT_VALUE;
		return 0;
	}
	nearest = name_nearest(name, names, CONFIG_COUNT);
	if (nearest)
		return refuse(reader, &event->start_mark, "unknown key '%s' in '%s'; did you mean '%s'?", name,
			      reader->section, nearest);
	return refuse(reader, &event->start_mark, "unknown key '%s' in '%s'; 'ingero config show' lists all", name,
		      reader->section);
}

static struct config_place mark_place(const struct reader *reader, const yaml_mark_t *mark)
{
	return (struct config_place){ .file = reader->name,
				      .line = (unsigned int)mark->line + 1,
				      .column = (unsigned int)mark->column + 1 };
}

static int config_value_set(struct reader *reader, const char *text, const struct config_place *place)
{
	reader->where = IN_SECTION;
	return config_set(reader->config, (enum config_id)reader->id, text, place, reader->error);
}

static int list_add(struct reader *reader, const yaml_event_t *event)
{
	const char *item = (const char *)event->data.scalar.value;
	size_t n = strlen(reader->list);

	if (strchr(item, ','))
		return refuse(reader, &event->start_mark, "'%s' takes one user an item",
			      config_option_get(reader->id)->key);
	if (n + strlen(item) + 2 > sizeof(reader->list))
		return refuse(reader, &event->start_mark, "too many users; name fewer, or 'everyone'");
	(void)snprintf(reader->list + n, sizeof(reader->list) - n, "%s%s", n ? "," : "", item);
	return 0;
}

static int scalar(struct reader *reader, const yaml_event_t *event)
{
	struct config_place place = mark_place(reader, &event->start_mark);

	if (memchr(event->data.scalar.value, 0, event->data.scalar.length))
		return refuse(reader, &event->start_mark, "there is a NUL byte in this text");
	switch (reader->where) {
	case AT_TOP:
		if (event->data.scalar.length == 0)
			return 0;
		return refuse(reader, &event->start_mark, "expected sections such as 'record:'");
	case IN_FILE:
		return section_begin(reader, event);
	case AT_SECTION:
		if (event->data.scalar.length == 0) { /* its keys are comments */
			reader->where = IN_FILE;
			return 0;
		}
		return refuse(reader, &event->start_mark, "'%s' takes keys below it, indented", reader->section);
	case IN_SECTION:
		return key_begin(reader, event);
	case AT_VALUE:
		return config_value_set(reader, (const char *)event->data.scalar.value, &place);
	case IN_LIST:
		return list_add(reader, event);
	}
	return -EINVAL;
}

static int mapping_begin(struct reader *reader, const yaml_event_t *event)
{
	if (reader->where == AT_TOP)
		reader->where = IN_FILE;
	else if (reader->where == AT_SECTION)
		reader->where = IN_SECTION;
	else
		return refuse(reader, &event->start_mark, "one value is expected here, not keys");
	return 0;
}

static int list_begin(struct reader *reader, const yaml_event_t *event)
{
	if (reader->where != AT_VALUE || config_option_get(reader->id)->kind != OPTION_WHOM)
		return refuse(reader, &event->start_mark, "no list is expected here");
	reader->where = IN_LIST;
	reader->list[0] = 0;
	reader->value_at = mark_place(reader, &event->start_mark);
	return 0;
}

static bool event_opens(const yaml_event_t *event)
{
	return event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
}

static void event_skip(struct reader *reader, const yaml_event_t *event)
{
	if (event_opens(event))
		reader->depth++;
	else if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
		reader->depth--;
	if (reader->depth == 0)
		reader->n_skips--;
}

/* After an error: continue after its node. @where: the position where the event was expected */
static void error_skip(struct reader *reader, const yaml_event_t *event, enum where where)
{
	(void)buf_printf(reader->errors, "%s\n", reader->error);
	reader->error[0] = 0;
	reader->depth = event_opens(event);
	reader->n_skips = reader->depth + (where == IN_FILE || where == IN_SECTION); /* the value belongs to the key */
	if (where == AT_SECTION)
		reader->where = IN_FILE;
	else if (where == AT_VALUE)
		reader->where = IN_SECTION;
}

static int yaml_event_take(struct reader *reader, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		if (event->data.scalar.anchor)
			return refuse(reader, &event->start_mark, "no anchors are taken: write the value out");
		return scalar(reader, event);
	case YAML_MAPPING_START_EVENT:
		return mapping_begin(reader, event);
	case YAML_MAPPING_END_EVENT:
		reader->where = reader->where == IN_SECTION ? IN_FILE : AT_TOP;
		return 0;
	case YAML_SEQUENCE_START_EVENT:
		return list_begin(reader, event);
	case YAML_SEQUENCE_END_EVENT:
		return config_value_set(reader, reader->list, &reader->value_at);
	case YAML_ALIAS_EVENT:
		return refuse(reader, &event->start_mark, "no aliases are taken: write the value out");
	case YAML_DOCUMENT_START_EVENT:
		if (reader->n_documents++)
			return refuse(reader, &event->start_mark, "a second document begins here; one is enough");
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

/* Return: bytes, or -errno; -EFBIG beyond the most */
static ssize_t config_bytes_read(int fd, unsigned char *bytes, size_t room)
{
	size_t n = 0;

	while (n < room) {
		ssize_t got = read(fd, bytes + n, room - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return (ssize_t)n;
		n += (size_t)got;
	}
	return -EFBIG;
}

/* Where libyaml failed: it gives a position, or the byte offset of invalid text. */
static yaml_mark_t problem_find(const yaml_parser_t *parser, const unsigned char *bytes)
{
	yaml_mark_t mark = { .line = 0 };

	if (parser->error != YAML_READER_ERROR)
		return parser->problem_mark.index ? parser->problem_mark : parser->mark;
	for (size_t i = 0; i < parser->problem_offset; i++) {
		mark.line += bytes[i] == '\n';
		mark.column = bytes[i] == '\n' ? 0 : mark.column + 1;
	}
	return mark;
}

static void parser_done(yaml_parser_t **parser)
{
	yaml_parser_delete(*parser);
}

static int file_take(struct config *config, int fd, const char *name, char *error, struct buf *errors)
{
	CLEANUP(freep) unsigned char *bytes = malloc(CONFIG_FILE_BYTES + 1);
	CLEANUP(freep) struct reader *reader = calloc(1, sizeof(*reader));
	yaml_parser_t parser;
	bool is_over = false, is_wrong = false;
	ssize_t n;
	int r = 0;

	if (!bytes || !reader || !yaml_parser_initialize(&parser)) {
		(void)snprintf(error, CONFIG_ERROR_BYTES, "no memory to read '%s'", name);
		return -ENOMEM;
	}
	CLEANUP(parser_done) yaml_parser_t *owned = &parser;
	n = config_bytes_read(fd, bytes, CONFIG_FILE_BYTES + 1);
	if (n < 0) {
		if (n == -EFBIG)
			(void)snprintf(error, CONFIG_ERROR_BYTES, "'%s' has more than %d KiB", name,
				       CONFIG_FILE_BYTES >> 10);
		else
			(void)snprintf(error, CONFIG_ERROR_BYTES, "cannot read '%s': %s", name, strerror((int)-n));
		return (int)n;
	}
	*reader = (struct reader){ .config = config, .name = name, .error = error, .errors = errors };
	yaml_parser_set_input_string(owned, bytes, (size_t)n);
	while (r == 0 && !is_over) {
		enum where where = reader->where;
		yaml_event_t event;

		if (!yaml_parser_parse(owned, &event)) {
			yaml_mark_t mark = problem_find(owned, bytes);

			return refuse(reader, &mark, "this is no YAML: %s",
				      parser.problem ? parser.problem : "out of memory");
		}
		is_over = event.type == YAML_STREAM_END_EVENT;
		if (reader->n_skips)
			event_skip(reader, &event);
		else
			r = yaml_event_take(reader, &event);
		if (r == -EINVAL && errors && event.type != YAML_DOCUMENT_START_EVENT) {
			error_skip(reader, &event, where);
			is_wrong = true;
			r = 0;
		}
		yaml_event_delete(&event);
	}
	return r == 0 && is_wrong ? -EINVAL : r;
}

int config_read_file(struct config *config, int fd, const char *name, char *error)
{
	return file_take(config, fd, name, error, NULL);
}

int config_check_file(struct config *config, int fd, const char *name, struct buf *ret_errors)
{
	char error[CONFIG_ERROR_BYTES] = "";
	int r = file_take(config, fd, name, error, ret_errors);

	if (error[0]) /* it ended there */
		(void)buf_printf(ret_errors, "%s\n", error);
	return r;
}
