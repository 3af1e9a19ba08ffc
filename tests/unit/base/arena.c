// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

int main(void)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	char *texts[2000];
	bool zeroed = true, aligned = true;

	for (int i = 0; i < 2000; i++) {
		char text[32];
		long double *wide = ARENA_NEW(&arena, long double);

		snprintf(text, sizeof(text), "text %d", i);
		texts[i] = arena_copy_text(&arena, text);
		zeroed &= *wide == 0;
		aligned &= (uintptr_t)wide % _Alignof(long double) == 0;
	}
	CHECK("zeroed", zeroed);
	CHECK("aligned", aligned);
	CHECK_STR_EQ("first stays", texts[0], "text 0");
	CHECK_STR_EQ("last", texts[1999], "text 1999");
	CHECK_STR_EQ("a name that its owner chose",
		     arena_copy_name(&arena, "a\xe2\x80\xae"
					     "b\x1b[31m\xff\xc3\xa9"),
		     "a?b?[31m?\xc3\xa9");
	CHECK("larger than a block", arena_alloc(&arena, 1 << 20) != NULL);
	return check_result();
}
