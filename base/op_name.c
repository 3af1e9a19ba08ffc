// SPDX-License-Identifier: Apache-2.0
#include "base/op_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define LONG_END "Synchronize"
#define SHORT_END "Sync"

/* A name in normal form, for comparison: these three parts, in lower case. */
struct spelling {
	const char *parts[3];
	size_t bytes[3];
};

static bool op_name_begins_with(const char *name, size_t n, const char *what)
{
	return n >= strlen(what) && strncasecmp(name, what, strlen(what)) == 0;
}

static bool ends_with(const char *name, size_t n, const char *what)
{
	return n >= strlen(what) && strncasecmp(name + n - strlen(what), what, strlen(what)) == 0;
}

static struct spelling spelling_of(const char *name, size_t n)
{
	struct spelling s = { .parts = { "cuda", name, &LONG_END[sizeof(SHORT_END) - 1] }, .bytes = { 0, n, 0 } };

	if (op_name_begins_with(name, n, "graph"))
		s.bytes[0] = strlen(s.parts[0]);
	if (ends_with(name, n, SHORT_END) &&
	    !ends_with(name, n, "A" SHORT_END)) /* in cudaMemcpyAsync it is no suffix */
		s.bytes[2] = strlen(s.parts[2]);
	return s;
}

/* The next letter; -1 after the last. */
static int letter_next(struct spelling *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->parts); i++) {
		unsigned char c;

		if (!s->bytes[i])
			continue;
		c = (unsigned char)*s->parts[i]++;
		s->bytes[i]--;
		return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
	}
	return -1;
}

int op_name_compare(const char *a, size_t n_a, const char *b, size_t n_b)
{
	struct spelling x, y;
	int c, d;

	if (n_a == n_b && memcmp(a, b, n_a) == 0) /* the most frequent case of sorting */
		return 0;
	x = spelling_of(a, n_a);
	y = spelling_of(b, n_b);
	do {
		c = letter_next(&x);
		d = letter_next(&y);
	} while (c == d && c >= 0);
	return c - d;
}

bool op_name_is_same(const char *a, const char *b)
{
	return op_name_compare(a, strlen(a), b, strlen(b)) == 0;
}

void op_name_short(const char *name, char *ret, size_t room)
{
	size_t n = strlen(name), n_end = strlen(LONG_END);

	if (n > n_end && strcmp(name + n - n_end, LONG_END) == 0)
		(void)snprintf(ret, room, "%.*s" SHORT_END, (int)MIN(n - n_end, room > 5 ? room - 5 : 0), name);
	else
		(void)snprintf(ret, room, "%s", name);
}
