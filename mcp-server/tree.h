// SPDX-License-Identifier: Apache-2.0
/*
 * The JSON of an answer as nodes over its text, in the order of the text. Numbers stay as they were written: jansson
 * has none of 64 unsigned bits, and answers have such numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"

#define TREE_BYTES_MAX (64u << 20)
#define TREE_DEPTH_MAX 32

enum node_kind { NODE_OBJECT, NODE_ARRAY, NODE_STRING, NODE_OTHER };

/* Of an object, its keys and values follow in turn, each with its descendants. */
struct node {
	uint32_t begin, end; /* in the text; of a string without its quotes */
	uint32_t next;	     /* index behind the last descendant */
	uint32_t n;	     /* members or elements */
	enum node_kind kind;
};

struct tree {
	const char *text; /* borrowed */
	ARRAY(struct node) nodes;
};

#define TREE_INIT                                                                                                      \
	{                                                                                                              \
		.text = NULL                                                                                           \
	}

void tree_done(struct tree *tree);
/**
 * tree_build() - read a text of our own making
 * Return: 0, -ENOMEM, -E2BIG, or -EPROTO: no JSON, or deeper than TREE_DEPTH_MAX
 */
int tree_build(struct tree *tree, const char *text, size_t n);
/** tree_is() - whether a string has this text, without escapes */
bool tree_is(const struct tree *tree, uint32_t i, const char *text);
/** tree_find() - value of a member of the object at index i. Return: its index; 0: no such member */
uint32_t tree_find(const struct tree *tree, uint32_t i, const char *key);
/** tree_string_append() - append a string without escapes */
void tree_string_append(const struct tree *tree, uint32_t i, struct buf *out);
