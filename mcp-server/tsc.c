// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/tsc.h"

#include <errno.h>
#include <string.h>

#include "mcp-server/tsc_parts.h"

/* Values that members are named together for, and the key that names them. */
static const struct {
	const char *text, *key;
} commons[] = {
	{ "0", "0" }, { "\"\"", "''" }, { "[]", "[]" }, { "{}", "{}" }, { "null", "null" }, { "false", "false" },
};

/* Whether a member has this common value. What has defaults says itself that it has no member at all. */
static bool has_common(const struct tree *tree, const struct tsc_member *member, size_t common)
{
	return tsc_is_written(tree, member->value, commons[common].text) &&
	       (tsc_node(tree, member->value)->kind != NODE_OBJECT ||
		!tsc_has_defaults(tree, member->keys[member->n_keys - 1]));
}

/* Whether a member has a common value that another has, too. */
static bool is_shared(const struct tree *tree, const struct tsc_member *member, const size_t *counts)
{
	for (size_t c = 0; c < ARRAY_SIZE(commons); c++)
		if (counts[c] > 1 && has_common(tree, member, c))
			return true;
	return false;
}

static void commons_append(const struct tree *tree, const struct tsc_member *members, size_t n, const size_t *counts,
			   bool *has_one, struct buf *out)
{
	for (size_t c = 0; c < ARRAY_SIZE(commons); c++) {
		bool is_first = true;

		if (counts[c] < 2)
			continue;
		(void)buf_printf(out, "%s\"%s\":\"", *has_one ? "," : "", commons[c].key);
		*has_one = true;
		for (size_t m = 0; m < n; m++)
			if (has_common(tree, &members[m], c)) {
				(void)buf_append_text(out, is_first ? "" : ",");
				is_first = false;
				tsc_path_append(tree, members[m].keys, members[m].n_keys, members[m].is_as_named, out);
			}
		(void)buf_append_text(out, "\"");
	}
}

/* Rows of cells, as a table where they can be one. */
static void cells_append(const struct tree *tree, const struct tsc_member *member, struct buf *out)
{
	CLEANUP(tsc_items_done) struct tsc_items rows = { .n = 0 };

	if (tsc_items_find(tree, member->value, &rows) < 0)
		out->failed = true;
	else if (!tsc_table_append(tree, &rows, member->names, out))
		tsc_value_append(tree, 0, member->value, out);
}

bool tsc_members_append(const struct tree *tree, const struct tsc_member *members, size_t n, struct buf *out)
{
	size_t counts[ARRAY_SIZE(commons)] = { 0 };
	bool has_one = false;

	for (size_t m = 0; m < n; m++)
		for (size_t c = 0; c < ARRAY_SIZE(commons); c++)
			counts[c] += has_common(tree, &members[m], c);
	for (size_t m = 0; m < n; m++) {
		if (is_shared(tree, &members[m], counts))
			continue;
		(void)buf_append_text(out, has_one ? ",\"" : "\"");
		has_one = true;
		tsc_path_append(tree, members[m].keys, members[m].n_keys, members[m].is_as_named, out);
		(void)buf_append_text(out, "\":");
		if (members[m].names)
			cells_append(tree, &members[m], out);
		else
			tsc_value_append(tree, members[m].keys[members[m].n_keys - 1], members[m].value, out);
	}
	commons_append(tree, members, n, counts, &has_one, out);
	return has_one;
}

/* Members "columns" and "data" of an object are the names of columns and rows of cells. Return: the names; 0: they are
 * not */
static uint32_t names_find(const struct tree *tree, uint32_t object)
{
	uint32_t names = tree_find(tree, object, "columns"), data = tree_find(tree, object, "data"), row, cell;

	if (!names || !data || tsc_node(tree, names)->kind != NODE_ARRAY || tsc_node(tree, data)->kind != NODE_ARRAY)
		return 0;
	row = data + 1;
	for (uint32_t r = 0; r < tsc_node(tree, data)->n; r++, row = tsc_node(tree, row)->next) {
		if (tsc_node(tree, row)->kind != NODE_ARRAY || tsc_node(tree, row)->n != tsc_node(tree, names)->n)
			return 0;
		cell = row + 1;
		for (uint32_t k = 0; k < tsc_node(tree, row)->n; k++, cell = tsc_node(tree, cell)->next)
			if (tsc_node(tree, cell)->kind == NODE_OBJECT || tsc_node(tree, cell)->kind == NODE_ARRAY)
				return 0;
	}
	return names;
}

static void object_shorten(const struct tree *tree, uint32_t key, uint32_t i, struct buf *out)
{
	struct {
		ARRAY(struct tsc_member) list;
	} members = { .list = { .n = 0 } };
	CLEANUP(buf_done) struct buf lacking = BUF_INIT;
	uint32_t at = i + 1, names = names_find(tree, i);
	bool has_one;

	for (uint32_t k = 0; k < tsc_node(tree, i)->n; k++, at = tsc_node(tree, at + 1)->next) {
		struct tsc_member member = { .keys = { at }, .n_keys = 1, .value = at + 1 };

		if (tsc_is_default(tree, key, at, at + 1))
			continue;
		if (tree_is(tree, at, "data"))
			member.names = names;
		if (ARRAY_PUSH(&members.list, member) < 0)
			out->failed = true;
	}
	(void)buf_append_text(out, "{");
	has_one = tsc_members_append(tree, members.list.items, members.list.n, out);
	ARRAY_DONE(&members.list);
	if (tsc_lacking_append(tree, key, i, &lacking))
		(void)buf_printf(out, "%s\"-\":\"%s\"", has_one ? "," : "", buf_text(&lacking));
	(void)buf_append_text(out, "}");
}

static void array_shorten(const struct tree *tree, uint32_t i, struct buf *out)
{
	CLEANUP(tsc_items_done) struct tsc_items items = { .n = 0 };

	if (tsc_figures_append(tree, i, out))
		return;
	if (tsc_items_find(tree, i, &items) < 0)
		out->failed = true;
	else
		tsc_items_append(tree, &items, out);
}

int tsc_items_find(const struct tree *tree, uint32_t array, struct tsc_items *ret)
{
	uint32_t at = array + 1;

	for (uint32_t k = 0; k < tsc_node(tree, array)->n; k++, at = tsc_node(tree, at)->next)
		if (ARRAY_PUSH(ret, at) < 0)
			return -ENOMEM;
	return 0;
}

void tsc_items_done(struct tsc_items *items)
{
	ARRAY_DONE(items);
}

void tsc_items_append(const struct tree *tree, const struct tsc_items *items, struct buf *out)
{
	if (tsc_table_append(tree, items, 0, out))
		return;
	(void)buf_append_text(out, "[");
	for (size_t k = 0; k < items->n; k++) {
		(void)buf_append_text(out, k ? "," : "");
		tsc_value_append(tree, 0, items->items[k], out);
	}
	(void)buf_append_text(out, "]");
}

/* The depth is bounded: TREE_DEPTH_MAX */
void tsc_value_append(const struct tree *tree, uint32_t key, uint32_t i, struct buf *out)
{
	const char *text;
	size_t n;

	switch (tsc_node(tree, i)->kind) {
	case NODE_OBJECT:
		object_shorten(tree, tsc_has_defaults(tree, key) ? key : 0, i, out);
		return;
	case NODE_ARRAY:
		array_shorten(tree, i, out);
		return;
	case NODE_STRING:
	case NODE_OTHER:
		text = tsc_text_of(tree, i, &n);
		(void)buf_append(out, text, n);
		return;
	}
}

int tsc_append(struct buf *out, const char *json, size_t n)
{
	CLEANUP(tree_done) struct tree tree = TREE_INIT;
	CLEANUP(buf_done) struct buf timed = BUF_INIT;
	int r = tree_build(&tree, json, n);

	if (r < 0)
		return r;
	if (tsc_times_append(&tree, n, &timed))
		r = tree_build(&tree, buf_text(&timed), timed.n);
	if (r < 0)
		return r;
	tsc_value_append(&tree, 0, 0, out);
	return out->failed ? -ENOMEM : 0;
}
