// SPDX-License-Identifier: Apache-2.0
/* Texts and names of members in telegraphic answers, and which members are left out where they are 0. */
#include <string.h>

#include "mcp-server/tsc_parts.h"

static const struct {
	const char *name, *text;
} shorts[] = {
#define SHORT(name_, short_) { #name_, #short_ },
#include "mcp-server/tsc.def"
};

static const char *const objects[] = {
#define DEFAULTS(name_, definition_) #name_,
#include "mcp-server/tsc.def"
};

/* From docs/schema, by mcp-server/tsc_defaults.cmake. */
static const struct {
	const char *object, *member;
} defaults[] = {
#define DEFAULT(object_, member_) { #object_, #member_ },
#include "tsc_defaults.def"
};

/* What is no name where names are read: mcp-server/tsc.h */
static const char *const reserved[] = { "0", "''", "[]", "{}", "null", "false", "-" };

const char *tsc_text_of(const struct tree *tree, uint32_t i, size_t *ret_n)
{
	const struct node *node = tsc_node(tree, i);
	size_t quote = node->kind == NODE_STRING;

	*ret_n = node->end - node->begin + 2 * quote;
	return tree->text + node->begin - quote;
}

bool tsc_is_written(const struct tree *tree, uint32_t i, const char *text)
{
	size_t n;
	const char *found = tsc_text_of(tree, i, &n);

	return n == strlen(text) && memcmp(found, text, n) == 0;
}

bool tsc_is_equal(const struct tree *tree, uint32_t a, uint32_t b)
{
	size_t n_a, n_b;
	const char *text_a = tsc_text_of(tree, a, &n_a), *text_b = tsc_text_of(tree, b, &n_b);

	return n_a == n_b && memcmp(text_a, text_b, n_a) == 0;
}

uint32_t tsc_find(const struct tree *tree, uint32_t object, uint32_t key)
{
	uint32_t at = object + 1;

	if (tsc_node(tree, object)->kind != NODE_OBJECT)
		return 0;
	for (uint32_t k = 0; k < tsc_node(tree, object)->n; k++, at = tsc_node(tree, at + 1)->next)
		if (tsc_is_equal(tree, at, key))
			return at + 1;
	return 0;
}

bool tsc_can_be_column(const struct tree *tree, uint32_t key)
{
	const struct node *node = tsc_node(tree, key);

	for (uint32_t i = node->begin; i < node->end; i++)
		if (strchr(".,\\", tree->text[i]))
			return false;
	return node->kind == NODE_STRING && node->end > node->begin;
}

bool tsc_is_plain(const struct tree *tree, uint32_t key)
{
	if (!tsc_can_be_column(tree, key) || tsc_has_defaults(tree, key))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (tree_is(tree, key, reserved[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(shorts); i++)
		if (tree_is(tree, key, shorts[i].text))
			return false;
	return true;
}

/* Names of members are ours: they need no escapes. */
void tsc_name_append(const struct tree *tree, uint32_t key, struct buf *out)
{
	const struct node *node = tsc_node(tree, key);

	for (size_t i = 0; i < ARRAY_SIZE(shorts); i++)
		if (tree_is(tree, key, shorts[i].name)) {
			(void)buf_append_text(out, shorts[i].text);
			return;
		}
	(void)buf_append(out, tree->text + node->begin, node->end - node->begin);
}

void tsc_path_append(const struct tree *tree, const uint32_t *keys, size_t n_keys, bool is_as_named, struct buf *out)
{
	for (size_t k = 0; k < n_keys; k++) {
		const struct node *node = tsc_node(tree, keys[k]);

		(void)buf_append_text(out, k ? "." : "");
		if (is_as_named)
			(void)buf_append(out, tree->text + node->begin, node->end - node->begin);
		else
			tsc_name_append(tree, keys[k], out);
	}
}

bool tsc_has_defaults(const struct tree *tree, uint32_t key)
{
	for (size_t i = 0; key && i < ARRAY_SIZE(objects); i++)
		if (tree_is(tree, key, objects[i]))
			return true;
	return false;
}

bool tsc_is_default(const struct tree *tree, uint32_t key, uint32_t member, uint32_t value)
{
	if (!key || !tsc_is_written(tree, value, "0"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
		if (tree_is(tree, member, defaults[i].member) && tree_is(tree, key, defaults[i].object))
			return true;
	return false;
}

bool tsc_lacking_append(const struct tree *tree, uint32_t key, uint32_t object, struct buf *out)
{
	bool has_one = false;

	for (size_t i = 0; key && i < ARRAY_SIZE(defaults); i++) {
		if (!tree_is(tree, key, defaults[i].object) || tree_find(tree, object, defaults[i].member))
			continue;
		(void)buf_append_text(out, has_one ? "," : "");
		(void)buf_append_text(out, defaults[i].member);
		has_one = true;
	}
	return has_one;
}
