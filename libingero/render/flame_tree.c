// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/flame_tree.h"

#include <errno.h>
#include <string.h>

void flame_tree_done(struct flame_tree *tree)
{
	ARRAY_DONE(&tree->nodes);
}

static int flame_stack_compare(const void *a, const void *b, void *data)
{
	const struct flame *flame = data;
	const struct flame_stack *x = &flame->stacks.items[*(const uint32_t *)a],
				 *y = &flame->stacks.items[*(const uint32_t *)b];

	for (uint32_t i = 0; i < MIN(x->n, y->n); i++) {
		uint32_t p = flame->places.items[x->first + i], q = flame->places.items[y->first + i];

		if (p != q)
			return p < q ? -1 : 1;
	}
	return (x->n > y->n) - (x->n < y->n);
}

/* Frames that two stacks have in common, from the outermost on. */
static uint32_t common_frames(const struct flame *flame, const struct flame_stack *a, const struct flame_stack *b)
{
	uint32_t n = 0;

	while (n < MIN(a->n, b->n) && flame->places.items[a->first + n] == flame->places.items[b->first + n])
		n++;
	return n;
}

static uint64_t sum_capped(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static int flame_node_add(struct flame_tree *tree, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	struct flame_node node = {
		.frame = frame, .parent = parent, .first_child = FLAME_NODE_NONE, .next = FLAME_NODE_NONE
	};
	struct flame_node *above = parent == FLAME_NODE_NONE ? NULL : &tree->nodes.items[parent];

	if (above) {
		node.depth = above->depth + 1;
		node.next = above->first_child;
	}
	if (ARRAY_PUSH(&tree->nodes, node) < 0)
		return -ENOMEM;
	*ret = (uint32_t)tree->nodes.n - 1;
	if (parent != FLAME_NODE_NONE)
		tree->nodes.items[parent].first_child = *ret;
	return 0;
}

/* Stacks in order: each begins with nodes of the one before, `path`. */
static int stack_insert(const struct flame *flame, const struct flame_stack *stack, uint32_t n_common, uint64_t weight,
			uint64_t before, uint32_t *path, struct flame_tree *tree)
{
	int r = 0;

	for (uint32_t i = n_common; i < stack->n && r == 0; i++)
		r = flame_node_add(tree, path[i], flame->places.items[stack->first + i], &path[i + 1]);
	for (uint32_t i = 0; i <= stack->n && r == 0; i++) {
		struct flame_node *node = &tree->nodes.items[path[i]];

		node->weight = sum_capped(node->weight, weight);
		node->before = sum_capped(node->before, before);
	}
	return r;
}

struct node_order {
	const struct flame *flame;
	const struct flame_tree *tree;
};

static int node_compare(const void *a, const void *b, void *data)
{
	const struct node_order *order = data;
	const struct flame_node *x = &order->tree->nodes.items[*(const uint32_t *)a],
				*y = &order->tree->nodes.items[*(const uint32_t *)b];
	int names;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	names = strcmp(flame_text(order->flame, order->flame->frames.items[x->frame].name),
		       flame_text(order->flame, order->flame->frames.items[y->frame].name));
	return names ? names : (x->frame > y->frame) - (x->frame < y->frame);
}

/* Puts the children of each node in order, and says where each begins. Parents have smaller indexes. */
static int nodes_arrange(const struct flame *flame, struct flame_tree *tree)
{
	struct node_order order = { .flame = flame, .tree = tree };
	CLEANUP(freep) uint32_t *children = calloc(tree->nodes.n, sizeof(*children));

	if (!children)
		return -ENOMEM;
	for (size_t i = 0; i < tree->nodes.n; i++) {
		struct flame_node *node = &tree->nodes.items[i];
		uint64_t at = node->start;
		size_t n = 0;

		for (uint32_t k = node->first_child; k != FLAME_NODE_NONE; k = tree->nodes.items[k].next)
			children[n++] = k;
		if (n > 1)
			qsort_r(children, n, sizeof(*children), node_compare, &order);
		for (size_t k = 0; k < n; k++) {
			tree->nodes.items[children[k]].next = k + 1 < n ? children[k + 1] : FLAME_NODE_NONE;
			tree->nodes.items[children[k]].start = at;
			at = sum_capped(at, tree->nodes.items[children[k]].weight);
		}
		node->first_child = n ? children[0] : FLAME_NODE_NONE;
	}
	return 0;
}

static int stacks_insert(const struct flame *flame, const uint32_t *order, size_t value, size_t before,
			 struct flame_tree *tree)
{
	CLEANUP(freep) uint32_t *path = calloc(FLAME_DEPTH_MAX + 1, sizeof(*path));
	int r = path ? flame_node_add(tree, FLAME_NODE_NONE, FLAME_NODE_NONE, &path[0]) : -ENOMEM;

	for (size_t i = 0; i < flame->stacks.n && r == 0; i++) {
		const struct flame_stack *stack = &flame->stacks.items[order[i]];
		uint32_t n_common = i ? common_frames(flame, &flame->stacks.items[order[i - 1]], stack) : 0;

		r = stack_insert(flame, stack, n_common, flame_weight(flame, order[i], value),
				 before == FLAME_NONE ? 0 : flame_weight(flame, order[i], before), path, tree);
	}
	return r;
}

int flame_tree_build(const struct flame *flame, size_t value, size_t before, struct flame_tree *ret)
{
	CLEANUP(flame_tree_done) struct flame_tree tree = FLAME_TREE_INIT;
	CLEANUP(freep) uint32_t *order = calloc(flame->stacks.n + 1, sizeof(*order));
	int r;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < flame->stacks.n; i++)
		order[i] = (uint32_t)i;
	if (flame->stacks.n)
		qsort_r(order, flame->stacks.n, sizeof(*order), flame_stack_compare, (void *)(uintptr_t)flame);
	r = stacks_insert(flame, order, value, before, &tree);
	if (r == 0)
		r = nodes_arrange(flame, &tree);
	if (r < 0)
		return r;

	*ret = tree;
	tree = (struct flame_tree)FLAME_TREE_INIT;
	return 0;
}

uint32_t flame_tree_next(const struct flame_tree *tree, uint32_t node, bool enters)
{
	const struct flame_node *nodes = tree->nodes.items;

	if (enters && nodes[node].first_child != FLAME_NODE_NONE)
		return nodes[node].first_child;
	while (node != FLAME_NODE_NONE && nodes[node].next == FLAME_NODE_NONE)
		node = nodes[node].parent;
	return node == FLAME_NODE_NONE ? node : nodes[node].next;
}
