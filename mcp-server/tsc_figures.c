// SPDX-License-Identifier: Apache-2.0
/* Arrays of figures in telegraphic answers. */
#include <string.h>

#include "mcp-server/tsc_parts.h"

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

	if (tsc_node(tree, object)->kind != NODE_OBJECT || tsc_node(tree, object)->n != 3)
		return false;
	name = tsc_node(tree, key + 1);
	n = name->end - name->begin;
	if (!tree_is(tree, key, "name") || name->kind != NODE_STRING || memchr(tree->text + name->begin, '\\', n))
		return false;
	key = name->next;
	if (!tree_is(tree, key, "value") || tsc_node(tree, key + 1)->kind != NODE_OTHER)
		return false;
	key = tsc_node(tree, key + 1)->next;
	return tree_is(tree, key, "unit") && tree_is(tree, key + 1, figure_unit_of(tree->text + name->begin, n));
}

bool tsc_figures_append(const struct tree *tree, uint32_t array, struct buf *out)
{
	uint32_t n = tsc_node(tree, array)->n, at = array + 1, other;

	for (uint32_t k = 0; k < n; k++, at = tsc_node(tree, at)->next) {
		if (!is_figure(tree, at))
			return false;
		other = array + 1;
		for (uint32_t before = 0; before < k; before++, other = tsc_node(tree, other)->next)
			if (tsc_is_equal(tree, at + 2, other + 2))
				return false;
	}
	if (!n)
		return false;
	(void)buf_append_text(out, "{\"=\":{");
	at = array + 1;
	for (uint32_t k = 0; k < n; k++, at = tsc_node(tree, at)->next) {
		uint32_t value = tsc_node(tree, at + 2)->next + 1;
		const char *text;
		size_t n_text;

		text = tsc_text_of(tree, at + 2, &n_text);
		(void)buf_append_text(out, k ? "," : "");
		(void)buf_append(out, text, n_text);
		(void)buf_append_text(out, ":");
		text = tsc_text_of(tree, value, &n_text);
		(void)buf_append(out, text, n_text);
	}
	(void)buf_append_text(out, "}}");
	return true;
}
