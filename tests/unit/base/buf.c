// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include "tests/support/check.h"

static void grows_and_consumes(void)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT;
	int r = 0;

	CHECK_STR_EQ("empty is text", buf_text(&b), "");
	for (int i = 0; i < 1000; i++)
		r |= buf_printf(&b, "%03d,", i);
	CHECK_INT_EQ("appends", r, 0);
	CHECK_INT_EQ("length", b.n, 4000);
	buf_consume(&b, 3996);
	CHECK_STR_EQ("rest", buf_text(&b), "999,");
	buf_consume(&b, 100);
	CHECK_INT_EQ("more than there is", b.n, 0);
}

/* Texts about as long as the one that is formatted at once. */
static void formats_any_length(void)
{
	for (int n = 0; n < 200; n++)
		for (size_t cap = 0; cap <= 200; cap += 200) {
			CLEANUP(buf_done) struct buf b = { .cap = cap };

			CHECK_INT_EQ("formats", buf_printf(&b, "%0*d", n, 0), 0);
			CHECK_INT_EQ("length", b.n, n ? n : 1);
			CHECK_INT_EQ("ends", strlen(buf_text(&b)), b.n);
			CHECK_INT_EQ("all zeros", strspn(buf_text(&b), "0"), b.n);
		}
}

static void cap_holds(void)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT_CAP(8);

	CHECK_INT_EQ("fits", buf_append_text(&b, "12345678"), 0);
	CHECK_INT_EQ("does not", buf_append_text(&b, "9"), -E2BIG);
	CHECK("is remembered", b.failed);
	CHECK_STR_EQ("is untouched", buf_text(&b), "12345678");
	CHECK("absurd size", !buf_reserve(&b, SIZE_MAX));
}

int main(void)
{
	grows_and_consumes();
	formats_any_length();
	cap_holds();
	return check_result();
}
