// SPDX-License-Identifier: Apache-2.0
#include "io/io_pattern.h"

#include <errno.h>
#include <string.h>

static void bit_on(uint64_t words[IO_PATTERN_WORDS], unsigned int i)
{
	words[i / 64] |= 1ull << i % 64;
}

/* "a-z]": from behind the bracket. Return: behind the set; NULL: it has no end, so that the bracket is itself */
static const char *set_parse(struct io_pattern *p, const char *text)
{
	bool is_negated = *text == '!' || *text == '^', is_in[256] = {};
	const unsigned char *at = (const unsigned char *)text + is_negated, *first = at;

	for (; *at && (*at != ']' || at == first); at++) {
		unsigned char from = *at == '\\' && at[1] ? *++at : *at, to = from;

		if (at[1] == '-' && at[2] && at[2] != ']') {
			at += 2;
			to = *at == '\\' && at[1] ? *++at : *at;
		}
		for (unsigned int c = from; c <= to; c++)
			is_in[c] = true;
	}
	if (!*at)
		return NULL;
	for (unsigned int c = 1; c < 256; c++)
		if (is_in[c] != is_negated)
			bit_on(p->takes[c], p->n);
	return (const char *)at + 1;
}

int io_pattern_parse(struct io_pattern *p, const char *text)
{
	*p = (struct io_pattern){ .n = 0 };
	while (*text) {
		const char *behind = *text == '[' && p->n < IO_PATTERN_MOST ? set_parse(p, text + 1) : NULL;

		if (*text == '*') {
			bit_on(p->stays, p->n);
			text++;
			continue;
		}
		if (p->n == IO_PATTERN_MOST)
			return -E2BIG;
		if (*text == '?') {
			for (unsigned int c = 1; c < 256; c++)
				bit_on(p->takes[c], p->n);
		} else if (!behind) {
			text += *text == '\\' && text[1];
			bit_on(p->takes[(unsigned char)*text], p->n);
		}
		text = behind ? behind : text + 1;
		p->n++;
	}
	return 0;
}

bool io_pattern_takes(const struct io_pattern *p, const char *path)
{
	uint64_t at[IO_PATTERN_WORDS] = { 1 };

	for (; *path; path++) {
		const uint64_t *takes = p->takes[(unsigned char)*path];
		uint64_t carry = 0, any = 0;

		for (unsigned int i = 0; i < IO_PATTERN_WORDS; i++) {
			uint64_t passed = at[i] & takes[i];

			at[i] = passed << 1 | carry | (at[i] & p->stays[i]);
			carry = passed >> 63;
			any |= at[i];
		}
		if (!any)
			return false;
	}
	return at[p->n / 64] >> p->n % 64 & 1;
}
