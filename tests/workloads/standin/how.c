// SPDX-License-Identifier: Apache-2.0
/*
 * See how.h.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "how.h"

static const char *const words[] = {
	[INGERO_STANDIN_SPIN] = "spin",	  [INGERO_STANDIN_BLOCK] = "block", [INGERO_STANDIN_POLL] = "poll",
	[INGERO_STANDIN_SLEEP] = "sleep", [INGERO_STANDIN_YIELD] = "yield",
};
_Static_assert(ARRAY_SIZE(words) == INGERO_STANDIN_HOW_COUNT, "every way of waiting has a word");

int how_parse(const char *text, enum ingero_standin_how *ret_how)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			*ret_how = i;
			return 0;
		}
	}
	return -EINVAL;
}
