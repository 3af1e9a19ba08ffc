// SPDX-License-Identifier: Apache-2.0
/* A profile as a tree: stacks that begin alike share the nodes of their beginning. */
#pragma once

#include "libingero/render/flame.h"

#define FLAME_NODE_NONE UINT32_MAX

struct flame_node {
	uint32_t frame;			    /* in the profile; FLAME_NODE_NONE: the root, which is all stacks */
	uint32_t parent, first_child, next; /* nodes; FLAME_NODE_NONE: none */
	uint32_t depth;			    /* of the root: 0 */
	uint64_t start;			    /* weight of what is left of it */
	uint64_t weight;		    /* of all stacks through it; a sum stops at UINT64_MAX */
	uint64_t before;		    /* the same of the measure to compare with */
};

struct flame_tree {
	ARRAY(struct flame_node) nodes; /* the root first */
};

#define FLAME_TREE_INIT                                                                                                \
	{                                                                                                              \
		.nodes = {.items = NULL }                                                                              \
	}

void flame_tree_done(struct flame_tree *tree);
/**
 * flame_tree_build() - make the tree of two measures; children with most weight come first
 * @before: FLAME_NONE: none
 * Return: 0 or -ENOMEM
 */
int flame_tree_build(const struct flame *flame, size_t value, size_t before, struct flame_tree *ret);
/**
 * flame_tree_next() - the node to draw after this one: parents before children, from left to right
 * @enters: whether the children of the node are wanted
 * Return: FLAME_NODE_NONE after the last
 */
uint32_t flame_tree_next(const struct flame_tree *tree, uint32_t node, bool enters);
