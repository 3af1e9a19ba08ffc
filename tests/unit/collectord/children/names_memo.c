// SPDX-License-Identifier: Apache-2.0
/* Names that were found are found again while they grow in number; when there are too many, all are forgotten. */
#include "children/names_memo.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define ADDRESS(i) (0x400000 + 16 * (uint64_t)(i))

static void added_check(struct names_memo *memo, size_t i)
{
	const struct memo_name name = { .address = ADDRESS(i), .offset = i, .line = (uint32_t)i + 1 };
	char text[2][32];
	const struct memo_name *got;

	(void)snprintf(text[0], sizeof(text[0]), "function_%zu", i);
	(void)snprintf(text[1], sizeof(text[1]), "file_%zu.c", i);
	got = names_memo_add(memo, &name, text[0], text[1]);
	CHECK("added", got);
	if (!got)
		return;
	CHECK_INT_EQ("added", got->address, name.address);
	CHECK_STR_EQ("added", names_memo_text(memo, got->symbol), text[0]);
	CHECK_STR_EQ("added", names_memo_text(memo, got->file), text[1]);
}

static void found_check(const struct names_memo *memo, size_t i)
{
	const struct memo_name *got = names_memo_find(memo, ADDRESS(i));
	char text[32];

	(void)snprintf(text, sizeof(text), "function_%zu", i);
	CHECK("found", got);
	if (!got)
		return;
	CHECK_INT_EQ("found", got->offset, i);
	CHECK_INT_EQ("found", got->line, i + 1);
	CHECK_STR_EQ("found", names_memo_text(memo, got->symbol), text);
}

static void many_check(void)
{
	struct names_memo memo = NAMES_MEMO_INIT;

	CHECK("nothing yet", !names_memo_find(&memo, ADDRESS(0)));
	for (size_t i = 0; i < NAMES_MEMO_MAX; i++) {
		added_check(&memo, i);
		if (i == 1000)
			for (size_t k = 0; k <= i; k++)
				found_check(&memo, k);
	}
	for (size_t i = 0; i < NAMES_MEMO_MAX; i++)
		found_check(&memo, i);
	CHECK("another address", !names_memo_find(&memo, ADDRESS(0) + 1));
	CHECK_INT_IN("bytes", names_memo_bytes(&memo), NAMES_MEMO_MAX * sizeof(struct memo_name), 16 << 20);
	added_check(&memo, NAMES_MEMO_MAX);
	CHECK("full: forgotten", !names_memo_find(&memo, ADDRESS(0)));
	found_check(&memo, NAMES_MEMO_MAX);
	names_memo_done(&memo);
	CHECK("done", !names_memo_find(&memo, ADDRESS(NAMES_MEMO_MAX)));
}

/* Long texts fill it before many names do. */
static void texts_check(void)
{
	struct names_memo memo = NAMES_MEMO_INIT;
	static char longest[500];
	size_t n = NAMES_MEMO_TEXT_BYTES_MAX / sizeof(longest) + 10;

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < n; i++) {
		const struct memo_name name = { .address = ADDRESS(i) };

		CHECK("long", names_memo_add(&memo, &name, longest, ""));
		CHECK_INT_IN("long", memo.texts.n, sizeof(longest), NAMES_MEMO_TEXT_BYTES_MAX);
	}
	CHECK("the first is forgotten", !names_memo_find(&memo, ADDRESS(0)));
	CHECK("the last is not", names_memo_find(&memo, ADDRESS(n - 1)));
	names_memo_done(&memo);
}

int main(void)
{
	many_check();
	texts_check();
	return check_result();
}
