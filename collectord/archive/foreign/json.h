// SPDX-License-Identifier: Apache-2.0
/*
 * The JSON that foreign files keep in texts: an array of strings, or of flat objects.
 *
 * Reads hostile text in one pass without recursion or memory of its own. Values that are
 * themselves arrays or objects are refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "archive/foreign/foreign.h"

#define FOREIGN_JSON_FIELDS 8

/* One element: an object's members, or a string as the value of the only member, called "". */
struct foreign_json_element {
	size_t n;
	struct {
		char key[16];
		char value[FOREIGN_TEXT_BYTES]; /* of a string, or as a number is written; "" for null, true, false */
	} fields[FOREIGN_JSON_FIELDS];		/* of more members the first ones */
};

/** foreign_json_value() - "" where there is no such member */
const char *foreign_json_value(const struct foreign_json_element *element, const char *key);

struct foreign_json {
	const char *at;
	const char *end;
	bool has_begun;
};

/** foreign_json_next() - Return: 1; 0 at the end of the array, or of what could be read of it */
int foreign_json_next(struct foreign_json *json, struct foreign_json_element *ret_element);
