// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/tree.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct reader {
	struct tree *tree;
	const char *text;
	size_t at, n;
};

static void tree_blanks_skip(struct reader *r)
{
	while (r->at < r->n &&
	       (r->text[r->at] == ' ' || r->text[r->at] == '\n' || r->text[r->at] == '\r' || r->text[r->at] == '\t'))
		r->at++;
}

static bool bracket_take(struct reader *r, char c)
{
	tree_blanks_skip(r);
	if (r->at == r->n || r->text[r->at] != c)
		return false;
	r->at++;
	return true;
}

static int node_add(struct reader *r, enum node_kind kind, uint32_t *ret_i)
{
	struct node node = { .begin = (uint32_t)r->at, .kind = kind };

	*ret_i = (uint32_t)r->tree->nodes.n;
	return ARRAY_PUSH(&r->tree->nodes, node);
}

static void node_end(struct reader *r, uint32_t i, uint32_t n)
{
	struct node *node = &r->tree->nodes.items[i];

	node->end = (uint32_t)r->at;
	node->next = (uint32_t)r->tree->nodes.n;
	node->n = n;
}

static int string_read(struct reader *r)
{
	uint32_t i;
	int rc;

	if (!bracket_take(r, '"'))
		return -EPROTO;
	rc = node_add(r, NODE_STRING, &i);
	if (rc < 0)
		return rc;
	while (r->at < r->n && r->text[r->at] != '"')
		r->at += r->text[r->at] == '\\' ? 2 : 1;
	if (r->at >= r->n)
		return -EPROTO;
	node_end(r, i, 0);
	r->at++;
	return 0;
}

static int literal_read(struct reader *r)
{
	uint32_t i;
	int rc = node_add(r, NODE_OTHER, &i);

	if (rc < 0)
		return rc;
	while (r->at < r->n &&
	       (isalnum((unsigned char)r->text[r->at]) || (r->text[r->at] && strchr("+-.", r->text[r->at]))))
		r->at++;
	node_end(r, i, 0);
	return r->tree->nodes.items[i].end > r->tree->nodes.items[i].begin ? 0 : -EPROTO;
}

static int value_read(struct reader *r, unsigned int depth);

/* One member, or one element. */
static int item_node_read(struct reader *r, bool is_object, unsigned int depth)
{
	if (is_object) {
		int rc = string_read(r);

		if (rc < 0)
			return rc;
		if (!bracket_take(r, ':'))
			return -EPROTO;
	}
	return value_read(r, depth + 1);
}

static int items_read(struct reader *r, bool is_object, unsigned int depth)
{
	char end = is_object ? '}' : ']';
	uint32_t i, n = 0;
	int rc = node_add(r, is_object ? NODE_OBJECT : NODE_ARRAY, &i);

	if (rc < 0)
		return rc;
	r->at++;
	while (!bracket_take(r, end)) {
		if (n && !bracket_take(r, ','))
			return -EPROTO;
		rc = item_node_read(r, is_object, depth);
		if (rc < 0)
			return rc;
		n++;
	}
	node_end(r, i, n);
	return 0;
}

static int value_read(struct reader *r, unsigned int depth)
{
	tree_blanks_skip(r);
	if (r->at == r->n || depth > TREE_DEPTH_MAX)
		return -EPROTO;
	switch (r->text[r->at]) {
	case '{':
		return items_read(r, /* is_object= */ true, depth);
	case '[':
		return items_read(r, /* is_object= */ false, depth);
	case '"':
		return string_read(r);
	default:
		return literal_read(r);
	}
}

int tree_build(struct tree *tree, const char *text, size_t n)
{
	struct reader r = { .tree = tree, .text = text, .n = n };
	int rc;

	if (n > TREE_BYTES_MAX)
		return -E2BIG;
	tree->text = text;
	tree->nodes.n = 0;
	rc = value_read(&r, 0);
	if (rc < 0)
		return rc;
	tree_blanks_skip(&r);
	return r.at == r.n ? 0 : -EPROTO;
}

void tree_done(struct tree *tree)
{
	ARRAY_DONE(&tree->nodes);
}

bool tree_is(const struct tree *tree, uint32_t i, const char *text)
{
	const struct node *node = &tree->nodes.items[i];
	size_t n = node->end - node->begin;

	/* The node may have a NUL, where the text ends. */
	return node->kind == NODE_STRING && strnlen(text, n + 1) == n && memcmp(tree->text + node->begin, text, n) == 0;
}

uint32_t tree_find(const struct tree *tree, uint32_t i, const char *key)
{
	uint32_t at = i + 1;

	if (tree->nodes.items[i].kind != NODE_OBJECT)
		return 0;
	for (uint32_t k = 0; k < tree->nodes.items[i].n; k++) {
		if (tree_is(tree, at, key))
			return at + 1;
		at = tree->nodes.items[at + 1].next;
	}
	return 0;
}

/* ---- escapes ---- */

static uint32_t hex_read(const char *digits)
{
	uint32_t code = 0;

	for (int i = 0; i < 4; i++) {
		char c = digits[i];

		if (!isxdigit((unsigned char)c))
			return 0xfffd;
		code = code * 16 + (uint32_t)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return code;
}

static void character_append(struct buf *out, uint32_t code)
{
	char bytes[4];
	size_t n = 0;

	if (code < 0x80) {
		bytes[n++] = (char)code;
	} else if (code < 0x800) {
		bytes[n++] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		bytes[n++] = (char)(0xe0 | code >> 12);
		bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		bytes[n++] = (char)(0xf0 | code >> 18);
		bytes[n++] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		bytes[n++] = (char)(0x80 | (code & 0x3f));
	(void)buf_append(out, bytes, n);
}

/* What follows "\u". Return: bytes taken */
static size_t unicode_append(struct buf *out, const char *p, size_t n)
{
	uint32_t code = n >= 4 ? hex_read(p) : 0xfffd, low;

	if (code >= 0xd800 && code < 0xdc00 && n >= 10 && p[4] == '\\' && p[5] == 'u') {
		low = hex_read(p + 6);
		if (low >= 0xdc00 && low < 0xe000) {
			character_append(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
			return 10;
		}
	}
	character_append(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
	return n < 4 ? n : 4;
}

void tree_string_append(const struct tree *tree, uint32_t i, struct buf *out)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *p = tree->text + tree->nodes.items[i].begin, *end = tree->text + tree->nodes.items[i].end, *found;

	while (p < end) {
		size_t plain = 0;

		while (p + plain < end && p[plain] != '\\')
			plain++;
		(void)buf_append(out, p, plain);
		p += plain;
		if (p + 1 >= end)
			return;
		p += 2; /* the backslash, and its letter */
		found = p[-1] ? strchr(letters, p[-1]) : NULL;
		if (p[-1] == 'u')
			p += unicode_append(out, p, (size_t)(end - p));
		else if (found)
			(void)buf_append(out, &meant[found - letters], 1);
		else
			(void)buf_append(out, p - 1, 1);
	}
}
