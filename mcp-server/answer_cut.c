// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/answer_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcp-server/tsc.h"

/* Bytes of the clean object for each token of a budget: a longer one is not shortened at first, and cannot fit at all.
 */
#define LIKELY_BYTES 12
#define TRIED_BYTES 20
#define INNER_USEFUL 5u /* elements of a list in a list below which its own elements go first */
#define LIST_GUESSES 4	/* how many tries may trust the sizes of those before, until the middle is tried */

/* Text of the nodes from first to last as it is written, with the quotes of strings. */
static void nodes_append(const struct tree *tree, uint32_t first, uint32_t last, struct buf *out)
{
	const struct node *a = &tree->nodes.items[first], *b = &tree->nodes.items[last];
	size_t begin = a->begin - (a->kind == NODE_STRING), end = b->end + (b->kind == NODE_STRING);

	(void)buf_append(out, tree->text + begin, end - begin);
}

/* A list may be cut. Return: its row in the shape; n_lists: the member is none */
static size_t list_of(const struct view *v, uint32_t key)
{
	const struct node *value = &v->clean_tree.nodes.items[key + 1];
	size_t list = value->kind == NODE_ARRAY ? 0 : v->shape->n_lists;

	while (list < v->shape->n_lists && !tree_is(&v->clean_tree, key, v->shape->lists[list].name))
		list++;
	return list;
}

/* The first elements of an array. */
static void array_cut(struct view *v, uint32_t array, uint32_t n_most)
{
	const struct node *nodes = v->clean_tree.nodes.items;
	uint32_t n = MIN(nodes[array].n, n_most), last = array + 1;

	for (uint32_t k = 1; k < n; k++)
		last = nodes[last].next;
	(void)buf_append_text(&v->cut, "[");
	if (n)
		nodes_append(&v->clean_tree, array + 1, last, &v->cut);
	(void)buf_append_text(&v->cut, "]");
}

/* An element of a list whose own list is cut, too. */
static void element_cut(struct view *v, size_t list, uint32_t element)
{
	const struct node *nodes = v->clean_tree.nodes.items;
	uint32_t key = element + 1;

	(void)buf_append_text(&v->cut, "{");
	for (uint32_t k = 0; k < nodes[element].n; k++, key = nodes[key + 1].next) {
		(void)buf_append_text(&v->cut, k ? "," : "");
		nodes_append(&v->clean_tree, key, key, &v->cut);
		(void)buf_append_text(&v->cut, ":");
		if (nodes[key + 1].kind == NODE_ARRAY && tree_is(&v->clean_tree, key, v->shape->lists[list].inner))
			array_cut(v, key + 1, v->cut_at.inner_most[list]);
		else
			nodes_append(&v->clean_tree, key + 1, key + 1, &v->cut);
	}
	(void)buf_append_text(&v->cut, "}");
}

static void list_cut(struct view *v, size_t list, uint32_t array)
{
	const struct node *nodes = v->clean_tree.nodes.items;
	uint32_t from = MIN(v->from[list], nodes[array].n), n = MIN(nodes[array].n - from, v->cut_at.kept[list]);
	uint32_t element = array + 1;

	for (uint32_t k = 0; k < from; k++)
		element = nodes[element].next;
	(void)buf_append_text(&v->cut, "[");
	for (uint32_t k = 0; k < n; k++, element = nodes[element].next) {
		(void)buf_append_text(&v->cut, k ? "," : "");
		if (v->shape->lists[list].inner && nodes[element].kind == NODE_OBJECT)
			element_cut(v, list, element);
		else
			nodes_append(&v->clean_tree, element, element, &v->cut);
	}
	(void)buf_append_text(&v->cut, "]");
}

/* A member that goes before the last list is cut. */
static bool is_spare(const struct view *v, uint32_t key)
{
	for (size_t i = 0; v->shape->spare && v->shape->spare[i]; i++)
		if (tree_is(&v->clean_tree, key, v->shape->spare[i]))
			return true;
	return false;
}

/* Return: 0 or -ENOMEM */
static int body_cut(struct view *v)
{
	const struct node *nodes = v->clean_tree.nodes.items;
	bool has_one = false;
	uint32_t key = 1;

	v->cut.n = 0;
	(void)buf_append_text(&v->cut, "{");
	for (uint32_t k = 0; k < nodes[0].n; k++, key = nodes[key + 1].next) {
		size_t list = list_of(v, key);

		if (v->cut_at.is_spare_out && is_spare(v, key))
			continue;
		(void)buf_append_text(&v->cut, has_one ? "," : "");
		has_one = true;
		nodes_append(&v->clean_tree, key, key, &v->cut);
		(void)buf_append_text(&v->cut, ":");
		if (list < v->shape->n_lists)
			list_cut(v, list, key + 1);
		else
			nodes_append(&v->clean_tree, key + 1, key + 1, &v->cut);
	}
	(void)buf_append_text(&v->cut, "}");
	return v->cut.failed ? -ENOMEM : 0;
}

/* Most cuts are tried before they are made. */
static bool is_shown(const struct view *v)
{
	const struct view_cut *a = &v->cut_at, *b = &v->shown_at;

	return v->shown.n && a->is_spare_out == b->is_spare_out && memcmp(a->kept, b->kept, sizeof(a->kept)) == 0 &&
	       memcmp(a->inner_most, b->inner_most, sizeof(a->inner_most)) == 0;
}

/* Return: 0, -ENOMEM, -E2BIG: longer than bytes_most, and then it is not shown */
static int body_show(struct view *v, size_t bytes_most)
{
	int r;

	if (is_shown(v))
		return v->cut.n > bytes_most ? -E2BIG : 0;
	r = body_cut(v);
	v->shown.n = 0;
	v->shown_at = v->cut_at;
	if (r < 0)
		return r;
	if (v->cut.n > bytes_most)
		return -E2BIG;
	if (v->is_verbose)
		return buf_append(&v->shown, v->cut.data, v->cut.n);
	return tsc_append(&v->shown, buf_text(&v->cut), v->cut.n);
}

uint32_t view_list_length(const struct view *v, size_t list)
{
	uint32_t i = tree_find(v->tree, 0, v->shape->lists[list].name);

	return i && v->tree->nodes.items[i].kind == NODE_ARRAY ? v->tree->nodes.items[i].n : 0;
}

uint32_t view_list_more(const struct view *v, size_t list)
{
	const char *name = v->shape->lists[list].more;
	uint32_t i = name ? tree_find(v->tree, 0, name) : 0;

	return i ? (uint32_t)strtoul(v->tree->text + v->tree->nodes.items[i].begin, NULL, 10) : 0;
}

static bool view_fits(struct view *v, uint64_t tokens_max, uint64_t token_bytes_most)
{
	return body_show(v, tokens_max * token_bytes_most) == 0 && answer_tokens(v->shown.n) <= tokens_max;
}

/*
 * The most elements of a list that fit, at least `least`; v->cut has all of them. Elements are much alike, so that the
 * size of one try tells nearly how many fit.
 */
static uint32_t list_fit(struct view *v, size_t list, uint32_t least, uint32_t all, uint64_t tokens_max)
{
	uint32_t low = least, high = all + 1; /* low fits, high does not */
	size_t all_bytes = v->cut.n;
	double base, each, guess;

	v->cut_at.kept[list] = least;
	if (least == all || !view_fits(v, tokens_max, TRIED_BYTES))
		return least;
	base = (double)v->shown.n;
	each = (double)(all_bytes - v->cut.n) / (all - least) / (v->is_verbose ? 1 : 2);
	for (int tries = 0; low + 1 < high; tries++) {
		guess = least + ((double)tokens_max * TOKEN_BYTES - base) / MAX(each, 1);
		v->cut_at.kept[list] =
			tries < LIST_GUESSES ? (uint32_t)MAX(MIN(guess, high - 1), low + 1) : low + (high - low) / 2;
		if (view_fits(v, tokens_max, TRIED_BYTES))
			low = v->cut_at.kept[list];
		else
			high = v->cut_at.kept[list];
		if (v->shown.n)
			each = ((double)v->shown.n - base) / (v->cut_at.kept[list] - least);
	}
	return low;
}

/* Of a list of lists: as many elements of each as fit, at least so many. */
static void inner_fit(struct view *v, size_t list, uint32_t least, uint64_t tokens_max)
{
	uint32_t low = least, high = v->inner_longest[list];

	if (!v->shape->lists[list].inner || least >= MIN(high, v->cut_at.inner_most[list]))
		return;
	v->cut_at.inner_most[list] = low;
	if (!view_fits(v, tokens_max, TRIED_BYTES))
		return;
	while (low + 1 < high) {
		v->cut_at.inner_most[list] = low + (high - low) / 2;
		if (view_fits(v, tokens_max, TRIED_BYTES))
			low = v->cut_at.inner_most[list];
		else
			high = v->cut_at.inner_most[list];
	}
	v->cut_at.inner_most[list] = low;
}

uint32_t view_inner_length(const struct view *v, size_t list, uint32_t k)
{
	const struct node *nodes = v->clean_tree.nodes.items;
	uint32_t array = tree_find(&v->clean_tree, 0, v->shape->lists[list].name), element = array + 1, inner;

	if (!array || nodes[array].kind != NODE_ARRAY || k >= nodes[array].n || !v->shape->lists[list].inner)
		return 0;
	for (uint32_t i = 0; i < k; i++)
		element = nodes[element].next;
	inner = nodes[element].kind == NODE_OBJECT ? tree_find(&v->clean_tree, element, v->shape->lists[list].inner)
						   : 0;
	return inner && nodes[inner].kind == NODE_ARRAY ? nodes[inner].n : 0;
}

static void lists_begin(struct view *v, const struct answer *answer)
{
	for (size_t list = 0; list < v->shape->n_lists; list++) {
		uint32_t length = view_list_length(v, list);
		bool is_listed = !answer->has_cursor || list == answer->cursor_list;

		v->from[list] = answer->has_cursor && is_listed ? answer->cursor_at : 0;
		v->cut_at.kept[list] = is_listed ? length - MIN(length, v->from[list]) : 0;
		v->cut_at.inner_most[list] = UINT32_MAX;
		for (uint32_t k = 0; k < v->cut_at.kept[list]; k++)
			v->inner_longest[list] =
				MAX(v->inner_longest[list], view_inner_length(v, list, v->from[list] + k));
	}
}

/* The last list that has elements is the main one: it keeps one. */
static size_t main_list(const struct view *v)
{
	size_t list = v->shape->n_lists;

	while (list && !v->cut_at.kept[list - 1])
		list--;
	return list;
}

/*
 * Cuts the lists, the least important first, of each as little as is needed; spare members go before the main list is
 * cut, which keeps an element. Where one list goes on, it is the only one, and keeps an element.
 */
int view_fit(struct view *v, const struct answer *answer)
{
	uint64_t tokens_max = answer->tokens_max;
	bool fits;
	size_t n;

	lists_begin(v, answer);
	n = main_list(v);
	fits = view_fits(v, tokens_max, LIKELY_BYTES);
	for (size_t list = 0; list < n && !fits; list++) {
		uint32_t least = MIN(v->cut_at.kept[list], list + 1 == n || answer->has_cursor);

		if (list + 1 == n && v->shape->spare) {
			v->cut_at.is_spare_out = true;
			fits = view_fits(v, tokens_max, LIKELY_BYTES);
		}
		if (!fits)
			inner_fit(v, list, INNER_USEFUL, tokens_max);
		if (!fits && !view_fits(v, tokens_max, LIKELY_BYTES))
			v->cut_at.kept[list] = list_fit(v, list, least, v->cut_at.kept[list], tokens_max);
		fits = view_fits(v, tokens_max, LIKELY_BYTES);
	}
	for (size_t list = 0; list < n && !fits; list++) {
		inner_fit(v, list, 1, tokens_max);
		fits = view_fits(v, tokens_max, LIKELY_BYTES);
	}
	return body_show(v, SIZE_MAX);
}
