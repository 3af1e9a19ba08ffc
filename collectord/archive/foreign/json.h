// SPDX-License-Identifier: Apache-2.0
/*
 * JSON in texts of foreign files: an array of strings, or of flat objects.
 *
 * Reads untrusted text in one pass without recursion and without allocations. Nested arrays or objects are refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "archive/foreign/foreign.h"

#define FOREIGN_JSON_FIELDS 8

/* One element: the members of an object; or a string, stored as one member with the key "". */
struct foreign_json_element {
	size_t n;
	struct {
		char key[16];
		char value[FOREIGN_TEXT_BYTES]; /* string, or text of a number; "" for null, true, false */
	} fields[FOREIGN_JSON_FIELDS];		/* further members are left out */
};

/** foreign_json_value() - value of a member; "" if the element has no such member */
const char *foreign_json_value(const struct foreign_json_element *element, const char *key);

struct foreign_json {
	const char *at;
	const char *end;
	bool has_begun;
};

/** foreign_json_next() - read the next element. Return: 1; 0 at the end of the array, or of its readable part */
int foreign_json_next(struct foreign_json *json, struct foreign_json_element *ret_element);
