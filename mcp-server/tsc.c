// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/tsc.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mcp-server/tree.h"

#define COLUMNS_MAX 64
#define PATH_MAX_KEYS 4
#define TABLE_ROWS_MIN 2

static const struct {
	const char *name, *text;
} shorts[] = {
#define SHORT(name_, short_) { #name_, #short_ },
#include "mcp-server/tsc.def"
};

/* Values that members are named together for, and the key that names them. */
static const struct {
	const char *text, *key;
} commons[] = {
	{ "0", "0" }, { "\"\"", "''" }, { "[]", "[]" }, { "{}", "{}" }, { "null", "null" }, { "false", "false" },
};

static void value_shorten(const struct tree *tree, uint32_t i, struct buf *out);

static const struct node *node_at(const struct tree *tree, uint32_t i)
{
	return &tree->nodes.items[i];
}

/* Text of a value as it is written, with quotes. */
static const char *value_text_of(const struct tree *tree, uint32_t i, size_t *ret_n)
{
	const struct node *node = node_at(tree, i);
	size_t quote = node->kind == NODE_STRING;

	*ret_n = node->end - node->begin + 2 * quote;
	return tree->text + node->begin - quote;
}

static bool is_written(const struct tree *tree, uint32_t i, const char *text)
{
	size_t n;
	const char *found = value_text_of(tree, i, &n);

	return n == strlen(text) && memcmp(found, text, n) == 0;
}

static bool is_equal(const struct tree *tree, uint32_t a, uint32_t b)
{
	size_t n_a, n_b;
	const char *text_a = value_text_of(tree, a, &n_a), *text_b = value_text_of(tree, b, &n_b);

	return n_a == n_b && memcmp(text_a, text_b, n_a) == 0;
}

/* Without quotes. Names of members are ours: they need no escapes. */
static void short_name_append(const struct tree *tree, uint32_t key, struct buf *out)
{
	const struct node *node = node_at(tree, key);

	for (size_t i = 0; i < ARRAY_SIZE(shorts); i++)
		if (tree_is(tree, key, shorts[i].name)) {
			(void)buf_append_text(out, shorts[i].text);
			return;
		}
	(void)buf_append(out, tree->text + node->begin, node->end - node->begin);
}

static void key_append(const struct tree *tree, uint32_t key, bool *has_one, struct buf *out)
{
	(void)buf_append_text(out, *has_one ? ",\"" : "\"");
	short_name_append(tree, key, out);
	(void)buf_append_text(out, "\":");
	*has_one = true;
}

/* ---- objects ---- */

/* Which of the common values a member has, if another has it, too; ARRAY_SIZE(commons): none */
static size_t common_of(const struct tree *tree, uint32_t value, const size_t *counts)
{
	for (size_t c = 0; c < ARRAY_SIZE(commons); c++)
		if (is_written(tree, value, commons[c].text))
			return counts[c] > 1 ? c : ARRAY_SIZE(commons);
	return ARRAY_SIZE(commons);
}

static void commons_count(const struct tree *tree, uint32_t i, size_t *counts)
{
	uint32_t at = i + 1;

	for (uint32_t k = 0; k < node_at(tree, i)->n; k++, at = node_at(tree, at + 1)->next)
		for (size_t c = 0; c < ARRAY_SIZE(commons); c++)
			counts[c] += is_written(tree, at + 1, commons[c].text);
}

static void commons_append(const struct tree *tree, uint32_t i, const size_t *counts, bool *has_one, struct buf *out)
{
	for (size_t c = 0; c < ARRAY_SIZE(commons); c++) {
		uint32_t at = i + 1;
		bool is_first = true;

		if (counts[c] < 2)
			continue;
		(void)buf_printf(out, "%s\"%s\":\"", *has_one ? "," : "", commons[c].key);
		*has_one = true;
		for (uint32_t k = 0; k < node_at(tree, i)->n; k++, at = node_at(tree, at + 1)->next)
			if (is_written(tree, at + 1, commons[c].text)) {
				(void)buf_append_text(out, is_first ? "" : ",");
				is_first = false;
				short_name_append(tree, at, out);
			}
		(void)buf_append_text(out, "\"");
	}
}

static void object_shorten(const struct tree *tree, uint32_t i, struct buf *out)
{
	size_t counts[ARRAY_SIZE(commons)] = { 0 };
	bool has_one = false;
	uint32_t at = i + 1;

	commons_count(tree, i, counts);
	(void)buf_append_text(out, "{");
	for (uint32_t k = 0; k < node_at(tree, i)->n; k++, at = node_at(tree, at + 1)->next) {
		if (common_of(tree, at + 1, counts) < ARRAY_SIZE(commons))
			continue;
		key_append(tree, at, &has_one, out);
		value_shorten(tree, at + 1, out);
	}
	commons_append(tree, i, counts, &has_one, out);
	(void)buf_append_text(out, "}");
}

/* ---- tables ---- */

/*
 * A column of a table: the members on the way from a row to a value. Objects that every row has in its own way are
 * spread over columns: "blame_ns.on_cpu".
 */
struct column {
	uint32_t keys[PATH_MAX_KEYS]; /* nodes that have the names */
	size_t n_keys;
	uint32_t n_rows; /* that have it */
	bool is_same;	 /* in all rows */
};

struct columns {
	struct column items[COLUMNS_MAX];
	size_t n;
	uint32_t n_rows;
};

/* Value of the object's member that has the name of this key; 0: none */
static uint32_t member_find(const struct tree *tree, uint32_t object, uint32_t key)
{
	uint32_t at = object + 1;

	if (node_at(tree, object)->kind != NODE_OBJECT)
		return 0;
	for (uint32_t k = 0; k < node_at(tree, object)->n; k++, at = node_at(tree, at + 1)->next)
		if (is_equal(tree, at, key))
			return at + 1;
	return 0;
}

static uint32_t cell_find(const struct tree *tree, uint32_t row, const struct column *column)
{
	for (size_t k = 0; row && k < column->n_keys; k++)
		row = member_find(tree, row, column->keys[k]);
	return row;
}

static bool path_is_equal(const struct tree *tree, const struct column *a, const struct column *b)
{
	if (a->n_keys != b->n_keys)
		return false;
	for (size_t k = 0; k < a->n_keys; k++)
		if (!is_equal(tree, a->keys[k], b->keys[k]))
			return false;
	return true;
}

static bool table_cell_add(const struct tree *tree, const struct column *column, struct columns *columns)
{
	for (size_t c = 0; c < columns->n; c++)
		if (path_is_equal(tree, &columns->items[c], column)) {
			columns->items[c].n_rows++;
			return true;
		}
	if (columns->n == COLUMNS_MAX)
		return false;
	columns->items[columns->n] = *column;
	columns->items[columns->n++].n_rows = 1;
	return true;
}

/*
 * Adds the members of an object at the end of a path. A null would be read as no member, a point in a name as a step of
 * a path.
 */
static bool members_add(const struct tree *tree, uint32_t object, struct column path, struct columns *columns)
{
	uint32_t at = object + 1;

	if (path.n_keys == PATH_MAX_KEYS)
		return false;
	path.n_keys++;
	for (uint32_t k = 0; k < node_at(tree, object)->n; k++, at = node_at(tree, at + 1)->next) {
		const struct node *key = node_at(tree, at), *value = node_at(tree, at + 1);
		bool is_object = value->kind == NODE_OBJECT && value->n && path.n_keys < PATH_MAX_KEYS;

		path.keys[path.n_keys - 1] = at;
		if (is_written(tree, at + 1, "null") || memchr(tree->text + key->begin, '.', key->end - key->begin))
			return false;
		if (is_object ? !members_add(tree, at + 1, path, columns) : !table_cell_add(tree, &path, columns))
			return false;
	}
	return true;
}

/* Whether a path leads through the value of another: an object in one row, no object in the other. */
static bool paths_cross(const struct tree *tree, const struct columns *columns)
{
	for (size_t a = 0; a < columns->n; a++)
		for (size_t b = 0; b < columns->n; b++) {
			struct column beginning = columns->items[b];

			beginning.n_keys = columns->items[a].n_keys;
			if (beginning.n_keys < columns->items[b].n_keys &&
			    path_is_equal(tree, &beginning, &columns->items[a]))
				return true;
		}
	return false;
}

static void sameness_find(const struct tree *tree, uint32_t array, struct columns *columns)
{
	for (size_t c = 0; c < columns->n; c++) {
		struct column *column = &columns->items[c];
		uint32_t row = array + 1, first = cell_find(tree, row, column);

		column->is_same = column->n_rows == columns->n_rows;
		for (uint32_t r = 1; column->is_same && r < columns->n_rows; r++) {
			row = node_at(tree, row)->next;
			column->is_same = is_equal(tree, cell_find(tree, row, column), first);
		}
	}
}

/* Those that most rows have first: what a row lacks at its end is not written. */
static int column_compare(const void *a, const void *b)
{
	const struct column *one = a, *other = b;

	if (one->n_rows != other->n_rows)
		return one->n_rows > other->n_rows ? -1 : 1;
	return (one->keys[one->n_keys - 1] > other->keys[other->n_keys - 1]) -
	       (one->keys[one->n_keys - 1] < other->keys[other->n_keys - 1]);
}

/* Whether the array can be a table. */
static bool columns_find(const struct tree *tree, uint32_t array, struct columns *columns)
{
	const struct column no_path = { .n_keys = 0 };
	uint32_t row = array + 1;

	columns->n_rows = node_at(tree, array)->n;
	if (columns->n_rows < TABLE_ROWS_MIN)
		return false;
	for (uint32_t r = 0; r < columns->n_rows; r++, row = node_at(tree, row)->next)
		if (node_at(tree, row)->kind != NODE_OBJECT || !members_add(tree, row, no_path, columns))
			return false;
	if (!columns->n || paths_cross(tree, columns))
		return false;
	sameness_find(tree, array, columns);
	qsort(columns->items, columns->n, sizeof(columns->items[0]), column_compare);
	return true;
}

static void path_append(const struct tree *tree, const struct column *column, struct buf *out)
{
	for (size_t k = 0; k < column->n_keys; k++) {
		(void)buf_append_text(out, k ? "." : "");
		short_name_append(tree, column->keys[k], out);
	}
}

static void row_shorten(const struct tree *tree, uint32_t row, const struct columns *columns, struct buf *out)
{
	size_t n = columns->n;
	bool is_first = true;

	while (n && (columns->items[n - 1].is_same || !cell_find(tree, row, &columns->items[n - 1])))
		n--;
	(void)buf_append_text(out, "[");
	for (size_t c = 0; c < n; c++) {
		uint32_t value = cell_find(tree, row, &columns->items[c]);

		if (columns->items[c].is_same)
			continue;
		(void)buf_append_text(out, is_first ? "" : ",");
		is_first = false;
		if (value)
			value_shorten(tree, value, out);
		else
			(void)buf_append_text(out, "null");
	}
	(void)buf_append_text(out, "]");
}

/* What is the same in all rows: an object, in its short form. */
static void same_shorten(const struct tree *tree, uint32_t row, const struct columns *columns, struct buf *out)
{
	size_t counts[ARRAY_SIZE(commons)] = { 0 };
	bool has_one = false;

	for (size_t c = 0; c < columns->n; c++)
		for (size_t i = 0; columns->items[c].is_same && i < ARRAY_SIZE(commons); i++)
			counts[i] += is_written(tree, cell_find(tree, row, &columns->items[c]), commons[i].text);
	for (size_t c = 0; c < columns->n; c++) {
		uint32_t value = columns->items[c].is_same ? cell_find(tree, row, &columns->items[c]) : 0;

		if (!value || common_of(tree, value, counts) < ARRAY_SIZE(commons))
			continue;
		(void)buf_append_text(out, has_one ? ",\"" : "\"");
		has_one = true;
		path_append(tree, &columns->items[c], out);
		(void)buf_append_text(out, "\":");
		value_shorten(tree, value, out);
	}
	for (size_t i = 0; i < ARRAY_SIZE(commons); i++) {
		bool is_first = true;

		if (counts[i] < 2)
			continue;
		(void)buf_printf(out, "%s\"%s\":\"", has_one ? "," : "", commons[i].key);
		has_one = true;
		for (size_t c = 0; c < columns->n; c++) {
			if (!columns->items[c].is_same ||
			    !is_written(tree, cell_find(tree, row, &columns->items[c]), commons[i].text))
				continue;
			(void)buf_append_text(out, is_first ? "" : ",");
			is_first = false;
			path_append(tree, &columns->items[c], out);
		}
		(void)buf_append_text(out, "\"");
	}
}

static void table_shorten(const struct tree *tree, uint32_t array, const struct columns *columns, struct buf *out)
{
	uint32_t row = array + 1;
	bool has_one = false;

	(void)buf_append_text(out, "{\"c\":{");
	same_shorten(tree, row, columns, out);
	(void)buf_append_text(out, "},\"k\":[");
	for (size_t c = 0; c < columns->n; c++)
		if (!columns->items[c].is_same) {
			(void)buf_append_text(out, has_one ? ",\"" : "\"");
			has_one = true;
			path_append(tree, &columns->items[c], out);
			(void)buf_append_text(out, "\"");
		}
	(void)buf_append_text(out, "],\"r\":[");
	for (uint32_t r = 0; r < columns->n_rows; r++, row = node_at(tree, row)->next) {
		(void)buf_append_text(out, r ? "," : "");
		row_shorten(tree, row, columns, out);
	}
	(void)buf_append_text(out, "]}");
}

/* ---- figures ---- */

/* Units that names end in; what ends in none is a count. */
static const char *const units[] = { "ns", "bytes", "ratio" };

static const char *figure_unit_of(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n_unit = strlen(units[i]);

		if (n > n_unit && name[n - n_unit - 1] == '_' && memcmp(name + n - n_unit, units[i], n_unit) == 0)
			return units[i];
	}
	return "count";
}

/* Whether an object is a figure: {"name":"lost_ns","value":5,"unit":"ns"}, where the unit follows from the name. */
static bool is_figure(const struct tree *tree, uint32_t object)
{
	uint32_t key = object + 1;
	const struct node *name;
	size_t n;

	if (node_at(tree, object)->kind != NODE_OBJECT || node_at(tree, object)->n != 3)
		return false;
	name = node_at(tree, key + 1);
	n = name->end - name->begin;
	if (!tree_is(tree, key, "name") || name->kind != NODE_STRING || memchr(tree->text + name->begin, '\\', n))
		return false;
	key = name->next;
	if (!tree_is(tree, key, "value") || node_at(tree, key + 1)->kind != NODE_OTHER)
		return false;
	key = node_at(tree, key + 1)->next;
	return tree_is(tree, key, "unit") && tree_is(tree, key + 1, figure_unit_of(tree->text + name->begin, n));
}

/* Figures of different names, as one object: {"=":{"lost_ns":5}}. Return: whether the array is that */
static bool figures_shorten(const struct tree *tree, uint32_t array, struct buf *out)
{
	uint32_t n = node_at(tree, array)->n, at = array + 1, other;

	for (uint32_t k = 0; k < n; k++, at = node_at(tree, at)->next) {
		if (!is_figure(tree, at))
			return false;
		other = array + 1;
		for (uint32_t before = 0; before < k; before++, other = node_at(tree, other)->next)
			if (is_equal(tree, at + 2, other + 2))
				return false;
	}
	if (!n)
		return false;
	(void)buf_append_text(out, "{\"=\":{");
	at = array + 1;
	for (uint32_t k = 0; k < n; k++, at = node_at(tree, at)->next) {
		uint32_t value = node_at(tree, at + 2)->next + 1;
		const char *text;
		size_t n_text;

		text = value_text_of(tree, at + 2, &n_text);
		(void)buf_append_text(out, k ? "," : "");
		(void)buf_append(out, text, n_text);
		(void)buf_append_text(out, ":");
		text = value_text_of(tree, value, &n_text);
		(void)buf_append(out, text, n_text);
	}
	(void)buf_append_text(out, "}}");
	return true;
}

static void array_shorten(const struct tree *tree, uint32_t i, struct buf *out)
{
	struct columns columns = { .n = 0 };
	uint32_t at = i + 1;

	if (figures_shorten(tree, i, out))
		return;
	if (columns_find(tree, i, &columns)) {
		table_shorten(tree, i, &columns, out);
		return;
	}
	(void)buf_append_text(out, "[");
	for (uint32_t k = 0; k < node_at(tree, i)->n; k++, at = node_at(tree, at)->next) {
		(void)buf_append_text(out, k ? "," : "");
		value_shorten(tree, at, out);
	}
	(void)buf_append_text(out, "]");
}

/* The depth is bounded: TREE_DEPTH_MAX */
static void value_shorten(const struct tree *tree, uint32_t i, struct buf *out)
{
	const char *text;
	size_t n;

	switch (node_at(tree, i)->kind) {
	case NODE_OBJECT:
		object_shorten(tree, i, out);
		return;
	case NODE_ARRAY:
		array_shorten(tree, i, out);
		return;
	case NODE_STRING:
	case NODE_OTHER:
		text = value_text_of(tree, i, &n);
		(void)buf_append(out, text, n);
		return;
	}
}

/* ---- times ---- */

#define TIME_BYTES 30 /* "2026-01-31T14:03:21.123456789Z" */

/* Return: whether the string is such a time, with its ns since 1970 */
static bool time_read(const struct tree *tree, uint32_t i, int64_t *ret_ns)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
	const struct node *node = node_at(tree, i);
	const char *text = tree->text + node->begin;
	struct tm time = { .tm_isdst = 0 };
	int64_t fraction_ns = 0, whole_s;
	int day;

	if (node->kind != NODE_STRING || node->end - node->begin != TIME_BYTES)
		return false;
	for (size_t k = 0; k < TIME_BYTES; k++)
		if (form[k] == 'd' ? !isdigit((unsigned char)text[k]) : text[k] != form[k])
			return false;
	time.tm_year = (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0' - 1900;
	time.tm_mon = (text[5] - '0') * 10 + text[6] - '0' - 1;
	time.tm_mday = (text[8] - '0') * 10 + text[9] - '0';
	time.tm_hour = (text[11] - '0') * 10 + text[12] - '0';
	time.tm_min = (text[14] - '0') * 10 + text[15] - '0';
	time.tm_sec = (text[17] - '0') * 10 + text[18] - '0';
	for (size_t k = 20; k < TIME_BYTES - 1; k++)
		fraction_ns = fraction_ns * 10 + text[k] - '0';
	if (time.tm_year < 70 || time.tm_year > 300 || time.tm_mon > 11 || time.tm_mday < 1 || time.tm_hour > 23 ||
	    time.tm_min > 59 || time.tm_sec > 59)
		return false;
	day = time.tm_mday;
	whole_s = (int64_t)timegm(&time);
	*ret_ns = whole_s * (int64_t)NSEC_PER_SEC + fraction_ns;
	return time.tm_mday == day; /* otherwise the month has no such day */
}

/* "+4.5": what a time is written as. A text that looks like it must not be taken for one. */
static bool looks_like_offset(const struct tree *tree, uint32_t i)
{
	const struct node *node = node_at(tree, i);
	const char *text = tree->text + node->begin;

	return node->kind == NODE_STRING && node->end - node->begin >= 2 && (*text == '+' || *text == '-') &&
	       isdigit((unsigned char)text[1]);
}

static void offset_append(int64_t ns, struct buf *out)
{
	uint64_t left_ns = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char text[48];
	int n = snprintf(text, sizeof(text), "%c%llu.%09llu", ns < 0 ? '-' : '+', left_ns / NSEC_PER_SEC,
			 left_ns % NSEC_PER_SEC);

	while (text[n - 1] == '0')
		n--;
	n -= text[n - 1] == '.';
	(void)buf_append(out, text, (size_t)n);
}

/*
 * Appends the text with its times as seconds behind the first of them, which stands in front as "t0".
 * Return: whether that was possible
 */
static bool times_shorten(const struct tree *tree, size_t n, struct buf *out)
{
	const uint32_t n_nodes = (uint32_t)tree->nodes.n;
	size_t n_times = 0, copied;
	int64_t t0_ns = 0, ns;
	uint32_t first = 0;

	for (uint32_t i = 0; i < n_nodes; i++) {
		if (looks_like_offset(tree, i) || tree_is(tree, i, "t0"))
			return false;
		if (time_read(tree, i, &ns) && n_times++ == 0) {
			t0_ns = ns;
			first = i;
		}
	}
	if (n_times < 2 || node_at(tree, 0)->kind != NODE_OBJECT)
		return false;
	(void)buf_printf(out, "{\"t0\":\"%.*s\",", TIME_BYTES, tree->text + node_at(tree, first)->begin);
	copied = node_at(tree, 0)->begin + 1;
	for (uint32_t i = 0; i < n_nodes; i++) {
		if (!time_read(tree, i, &ns))
			continue;
		(void)buf_append(out, tree->text + copied, node_at(tree, i)->begin - copied);
		offset_append(ns - t0_ns, out);
		copied = node_at(tree, i)->end;
	}
	(void)buf_append(out, tree->text + copied, n - copied);
	return !out->failed;
}

int tsc_append(struct buf *out, const char *json, size_t n)
{
	CLEANUP(tree_done) struct tree tree = TREE_INIT;
	CLEANUP(buf_done) struct buf timed = BUF_INIT;
	int r = tree_build(&tree, json, n);

	if (r < 0)
		return r;
	if (times_shorten(&tree, n, &timed))
		r = tree_build(&tree, buf_text(&timed), timed.n);
	if (r < 0)
		return r;
	value_shorten(&tree, 0, out);
	return out->failed ? -ENOMEM : 0;
}
