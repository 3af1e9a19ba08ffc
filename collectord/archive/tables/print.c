// SPDX-License-Identifier: Apache-2.0
#include "archive/tables/print.h"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define FLAGS "-+ 0#!,"
#define SPEC_BYTES 40

struct printing {
	sqlite3_str *out;
	sqlite3_value **values;
	int n_values;
	int next;
	char error[80]; /* "": no error */
};

/* One directive, with flags and numbers as passed to SQLite. */
struct directive {
	char head[SPEC_BYTES];
	char letter;
};

static sqlite3_value *value_next(struct printing *p)
{
	return p->next < p->n_values ? p->values[p->next++] : NULL;
}

static sqlite3_int64 integer_next(struct printing *p)
{
	sqlite3_value *value = value_next(p);

	return value ? sqlite3_value_int64(value) : 0;
}

/* Parses digits or '*'. Return: position after them; NULL: the number is too large */
static const char *number_parse(struct printing *p, const char *at, sqlite3_int64 *ret)
{
	sqlite3_int64 n = 0;

	if (*at == '*') {
		n = integer_next(p);
		at++;
	}
	for (; isdigit((unsigned char)*at) && n <= PRINT_WIDTH_MAX; at++)
		n = n * 10 + (*at - '0');
	if (n < -PRINT_WIDTH_MAX || n > PRINT_WIDTH_MAX) {
		(void)snprintf(p->error, sizeof(p->error), "a width in printf() is at most %d", PRINT_WIDTH_MAX);
		return NULL;
	}
	*ret = n;
	return at;
}

static const char *directive_parse(struct printing *p, const char *at, struct directive *d)
{
	size_t n = strspn(at, FLAGS);
	sqlite3_int64 width = 0, precision = 0;
	bool has_width, has_precision = false;

	if (n > 8) {
		(void)snprintf(p->error, sizeof(p->error), "too many flags in printf()");
		return NULL;
	}
	(void)snprintf(d->head, sizeof(d->head), "%%%.*s", (int)n, at);
	at += n;
	has_width = *at == '*' || isdigit((unsigned char)*at);
	at = number_parse(p, at, &width);
	if (at && *at == '.') {
		has_precision = true;
		at = number_parse(p, at + 1, &precision);
	}
	if (!at)
		return NULL;
	n = strlen(d->head);
	if (has_width)
		n += (size_t)snprintf(d->head + n, sizeof(d->head) - n, "%lld", (long long)width);
	if (has_precision)
		(void)snprintf(d->head + n, sizeof(d->head) - n, ".%lld", (long long)(precision < 0 ? 0 : precision));
	while (*at == 'l')
		at++;
	d->letter = *at;
	return *at ? at + 1 : at;
}

static void text_append(struct printing *p, const struct directive *d, bool is_character)
{
	sqlite3_value *value = value_next(p);
	const char *text = value ? (const char *)sqlite3_value_text(value) : NULL;
	char spec[SPEC_BYTES + 2], character[8] = "";
	size_t n = 1;

	if (is_character && text && *text) {
		while (n < sizeof(character) - 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n++;
		(void)snprintf(character, sizeof(character), "%.*s", (int)n, text);
	}
	(void)snprintf(spec, sizeof(spec), "%s%c", d->head, is_character ? 's' : d->letter);
	sqlite3_str_appendf(p->out, spec, is_character ? character : text);
}

static void directive_append(struct printing *p, const struct directive *d)
{
	char spec[SPEC_BYTES + 4];
	sqlite3_value *value;

	switch (d->letter) {
	case '%':
		sqlite3_str_appendall(p->out, "%");
		return;
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		(void)snprintf(spec, sizeof(spec), "%sll%c", d->head, d->letter);
		sqlite3_str_appendf(p->out, spec, (long long)integer_next(p));
		return;
	case 'f':
	case 'e':
	case 'E':
	case 'g':
	case 'G':
		value = value_next(p);
		(void)snprintf(spec, sizeof(spec), "%s%c", d->head, d->letter);
		sqlite3_str_appendf(p->out, spec, value ? sqlite3_value_double(value) : 0.0);
		return;
	case 's':
	case 'q':
	case 'Q':
	case 'w':
	case 'c':
		text_append(p, d, d->letter == 'c');
		return;
	default:
		(void)snprintf(p->error, sizeof(p->error),
			       "printf() knows %%d %%u %%x %%o %%f %%e %%g %%s %%c %%q %%Q %%w %%%%");
	}
}

static void sql_print(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct printing p = { .values = argv, .n_values = argc, .next = 1 };
	const char *at = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	int r;

	if (!at)
		return; /* SQL NULL */
	p.out = sqlite3_str_new(sqlite3_context_db_handle(result));
	while (*at && !p.error[0]) {
		size_t n = strcspn(at, "%");
		struct directive d;

		sqlite3_str_append(p.out, at, (int)n);
		at += n;
		if (!*at)
			break;
		at = directive_parse(&p, at + 1, &d);
		if (!at)
			break;
		directive_append(&p, &d);
	}
	r = sqlite3_str_errcode(p.out);
	if (p.error[0])
		sqlite3_result_error(result, p.error, -1);
	else if (r == SQLITE_TOOBIG)
		sqlite3_result_error_toobig(result);
	else if (r != SQLITE_OK)
		sqlite3_result_error_nomem(result);
	if (p.error[0] || r != SQLITE_OK) {
		sqlite3_free(sqlite3_str_finish(p.out));
		return;
	}
	r = sqlite3_str_length(p.out);
	if (r == 0) {
		sqlite3_free(sqlite3_str_finish(p.out));
		sqlite3_result_text(result, "", 0, SQLITE_STATIC);
		return;
	}
	sqlite3_result_text(result, sqlite3_str_finish(p.out), r, sqlite3_free);
}

int print_install(struct sqlite3 *db)
{
	static const char *const names[] = { "printf", "format" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (sqlite3_create_function_v2(db, names[i], -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					       NULL, sql_print, NULL, NULL, NULL) != SQLITE_OK)
			return -ENOMEM;
	return 0;
}
