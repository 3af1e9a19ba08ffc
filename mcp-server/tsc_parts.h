// SPDX-License-Identifier: Apache-2.0
/* What the parts of the short form (mcp-server/tsc.h) share. */
#pragma once

#include "mcp-server/tree.h"

#define TSC_KEYS_MAX 4

/* A member of an object, or of objects within it: "blame_ns.on_cpu". */
struct tsc_member {
	uint32_t keys[TSC_KEYS_MAX]; /* nodes that have the names */
	size_t n_keys;
	uint32_t value;
	bool is_as_named; /* it has no short name: a column of rows of cells */
	uint32_t names;	  /* the names of the columns, where the value is rows of cells; 0: it is not */
};

/* Nodes of values. */
struct tsc_items {
	uint32_t *items;
	size_t n, room;
};

static inline const struct node *tsc_node(const struct tree *tree, uint32_t i)
{
	return &tree->nodes.items[i];
}

/** tsc_text_of() - text of a value as it is written, with quotes */
const char *tsc_text_of(const struct tree *tree, uint32_t i, size_t *ret_n);
bool tsc_is_written(const struct tree *tree, uint32_t i, const char *text);
bool tsc_is_equal(const struct tree *tree, uint32_t a, uint32_t b);
/** tsc_find() - value of the object's member that has the name of this key. Return: its index; 0: none */
uint32_t tsc_find(const struct tree *tree, uint32_t object, uint32_t key);
/** tsc_can_be_column() - whether a name can stand among names that commas part, as a step of a path */
bool tsc_can_be_column(const struct tree *tree, uint32_t key);
/** tsc_is_plain() - whether a name that a stranger chose is read back as itself */
bool tsc_is_plain(const struct tree *tree, uint32_t key);
/** tsc_name_append() - append the short name of a member, without quotes */
void tsc_name_append(const struct tree *tree, uint32_t key, struct buf *out);
/** tsc_path_append() - append names with points between; @is_as_named: without short names */
void tsc_path_append(const struct tree *tree, const uint32_t *keys, size_t n_keys, bool is_as_named, struct buf *out);

/** tsc_has_defaults() - whether objects that are members of this name leave out members that are 0 */
bool tsc_has_defaults(const struct tree *tree, uint32_t key);
/** tsc_is_default() - whether a member of such an object has its default, and is left out */
bool tsc_is_default(const struct tree *tree, uint32_t key, uint32_t member, uint32_t value);
/**
 * tsc_lacking_append() - append the names of members that have a default and are not in the object, with commas
 * Return: whether there are any
 */
bool tsc_lacking_append(const struct tree *tree, uint32_t key, uint32_t object, struct buf *out);

/** tsc_value_append() - append a value in its short form; @key: of the member that it is, or of its array; 0: none */
void tsc_value_append(const struct tree *tree, uint32_t key, uint32_t i, struct buf *out);
/** tsc_members_append() - append members in their short form. Return: whether there are any now */
bool tsc_members_append(const struct tree *tree, const struct tsc_member *members, size_t n, struct buf *out);
/** tsc_items_find() - add the elements of an array. Return: 0 or -ENOMEM */
int tsc_items_find(const struct tree *tree, uint32_t array, struct tsc_items *ret);
void tsc_items_done(struct tsc_items *items);
/** tsc_items_append() - append an array of these values in its short form */
void tsc_items_append(const struct tree *tree, const struct tsc_items *items, struct buf *out);
/**
 * tsc_table_append() - append an array of these values as a table
 * @names: the names of the columns, where values are rows of cells; 0: values are objects
 * Return: whether they can be one, else nothing was appended
 */
bool tsc_table_append(const struct tree *tree, const struct tsc_items *rows, uint32_t names, struct buf *out);
/** tsc_figures_append() - append figures of different names as one object. Return: whether the array is that */
bool tsc_figures_append(const struct tree *tree, uint32_t array, struct buf *out);
/**
 * tsc_times_append() - append the text with its times as seconds behind the first of them
 * @n: bytes of the text
 * Return: whether that was possible
 */
bool tsc_times_append(const struct tree *tree, size_t n, struct buf *out);
