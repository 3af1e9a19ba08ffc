// SPDX-License-Identifier: Apache-2.0
#include "base/option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/troff.h"
#include "base/utf8.h"

#define QUOTE_CHARACTERS 40
#define ELLIPSIS "\xe2\x80\xa6"

struct option_quote option_quote(const char *text)
{
	struct option_quote quote;
	size_t n = strlen(text), used = 0;
	uint32_t code;

	for (int i = 0; i < QUOTE_CHARACTERS && used < n; i++) {
		size_t taken = utf8_decode(text + used, n - used, &code);

		if (used + taken + sizeof("'" ELLIPSIS "'") > sizeof(quote.text))
			break;
		used += taken;
	}
	(void)snprintf(quote.text, sizeof(quote.text), "'%.*s%s'", (int)used, text, used < n ? ELLIPSIS : "");
	(void)utf8_scrub(quote.text);
	return quote;
}

int option_refuse(char *error, const char *fmt, ...)
{
	FORMAT_INTO(error, OPTIONS_ERROR_BYTES, fmt);
	return -EINVAL;
}

bool option_has_value(const struct option *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_CONSTANT;
}

/* ---- descriptions of valid values ---- */

static void option_choices_append(const struct option *row, struct buf *out)
{
	for (size_t i = 0; row->choices[i]; i++)
		(void)buf_printf(out, "%s%s", i == 0 ? "" : row->choices[i + 1] ? ", " : " or ", row->choices[i]);
}

/* A size in the largest unit without a remainder, as a user would type it. */
static void bound_append(const struct option *row, uint64_t value, struct buf *out)
{
	static const char units[] = "kmgt";
	size_t i = 0;

	if (row->kind == OPTION_SIZE)
		for (; i < strlen(units) && value && !(value & 1023); i++)
			value >>= 10;
	(void)buf_printf(out, "%llu%.*s", (unsigned long long)value, i ? 1 : 0, &units[i ? i - 1 : 0]);
}

/* "4k to 1g", "4m or more" */
static void range_append(const struct option *row, struct buf *out)
{
	bound_append(row, row->min, out);
	(void)buf_append_text(out, row->max ? " to " : " or more");
	if (row->max)
		bound_append(row, row->max, out);
}

static void number_append(const struct option *row, bool is_number, struct buf *out)
{
	static const struct {
		const char *what, *examples;
	} kinds[] = {
		[OPTION_NUMBER] = { "a whole number", NULL },
		[OPTION_SIZE] = { "a size", "256k, 8m or 1g" },
		[OPTION_DURATION] = { "a time with its unit", "30s, 5m or 1h30m" },
	};
	const char *example = row->example ? row->example : kinds[row->kind].examples;

	if (is_number && !row->example) {
		range_append(row, out);
		return;
	}
	(void)buf_append_text(out, row->is_power_of_two ? "a power of two" : kinds[row->kind].what);
	if (example)
		(void)buf_printf(out, " such as %s", example);
	if (row->example && row->kind == OPTION_SIZE && (row->min || row->max)) {
		(void)buf_append_text(out, row->max ? ", from " : ", ");
		range_append(row, out);
	}
	if (row->zero_is_none)
		(void)buf_append_text(out, ", or 0");
}

static bool number_is_right(const struct option *row, uint64_t value)
{
	return (value == 0 && row->zero_is_none) || (value >= row->min && (!row->max || value <= row->max) &&
						     (!row->is_power_of_two || (value && !(value & (value - 1)))));
}

/* ---- values ---- */

static int refuse_value(const char *label, struct buf *wants, const char *text, char *error)
{
	return option_refuse(error, "%s takes %s, not %s", label, buf_text(wants), option_quote(text).text);
}

static int number_check(const struct option *row, const char *label, const char *text, uint64_t *ret_number,
			char *error)
{
	CLEANUP(buf_done) struct buf wants = BUF_INIT;
	uint64_t value = 0;
	int r = row->kind == OPTION_SIZE       ? parse_size(text, &value)
		: row->kind == OPTION_DURATION ? parse_duration(text, &value)
					       : parse_u64(text, UINT64_MAX, &value);

	if (r == -ERANGE && row->kind == OPTION_DURATION)
		return option_refuse(error, "%s %s is longer than any clock runs", label, option_quote(text).text);
	if (r == 0 && value == 0 && row->zero_way_out)
		return option_refuse(error, "%s takes more than 0; %s", label, row->zero_way_out);
	if (r < 0 || !number_is_right(row, value)) {
		number_append(row, r == 0, &wants);
		return refuse_value(label, &wants, text, error);
	}
	if (ret_number)
		*ret_number = value;
	return 0;
}

static int choice_check(const struct option *row, const char *label, const char *text, char *error)
{
	CLEANUP(buf_done) struct buf wants = BUF_INIT;

	const char *nearest;
	size_t n = 0;

	for (; row->choices[n]; n++)
		if (strcmp(row->choices[n], text) == 0)
			return 0;
	option_choices_append(row, &wants);
	nearest = name_nearest(text, row->choices, n);
	if (nearest)
		return option_refuse(error, "%s takes %s, not %s; did you mean '%s'?", label, buf_text(&wants),
				     option_quote(text).text, nearest);
	return refuse_value(label, &wants, text, error);
}

/* Whether the users exist is checked where they are needed: a file can be checked on another machine. */
static int whom_check(const char *label, const char *text, char *error)
{
	static const char *const words[] = { "auto", "everyone", "nobody" };
	size_t n_items = 0;
	bool has_word = false, is_right = true;

	for (const char *item = text; item; n_items++) {
		size_t n = strcspn(item, ",");

		is_right &= n > 0 && strcspn(item, " \t:/") >= n;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			has_word |= strlen(words[i]) == n && memcmp(item, words[i], n) == 0;
		item = item[n] ? item + n + 1 : NULL;
	}
	if (is_right && (!has_word || n_items == 1))
		return 0;
	return option_refuse(error, "%s takes auto, everyone, nobody, or users such as alice,1001, not %s", label,
			     option_quote(text).text);
}

int option_check(const struct option *row, const char *label, const char *text, uint64_t *ret_number, char *error)
{
	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_CONSTANT:
	case OPTION_TIME:
	case OPTION_PIDS:
	case OPTION_USERS:
		return 0;
	case OPTION_TEXT:
	case OPTION_TEXTS:
		return *text ? 0 : option_refuse(error, "%s takes %s, not ''", label, row->value);
	case OPTION_CHOICE:
		return choice_check(row, label, text, error);
	case OPTION_NUMBER:
	case OPTION_SIZE:
	case OPTION_DURATION:
		return number_check(row, label, text, ret_number, error);
	case OPTION_WHOM:
		return whom_check(label, text, error);
	}
	return -EINVAL;
}

/* ---- the manual ---- */

static void font_append(struct buf *out, const char *font, const char *text)
{
	(void)buf_printf(out, "\\f%s", font);
	troff_append(out, text);
	(void)buf_append_text(out, "\\fR");
}

void option_manual_append(struct buf *out, const struct option *row)
{
	(void)buf_append_text(out, ".TP\n\\fB");
	if (row->letter)
		(void)buf_printf(out, "\\-%c\\fR, \\fB", row->letter);
	(void)buf_append_text(out, "\\-\\-");
	troff_append(out, row->name);
	(void)buf_append_text(out, "\\fR");
	if (row->value) {
		(void)buf_append_text(out, " ");
		font_append(out, "I", row->value);
	}
	(void)buf_append_text(out, "\n");
	troff_append(out, row->help);
	(void)buf_append_text(out, ".\n");
}
