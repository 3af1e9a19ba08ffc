// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <string.h>

int array_grow(void *items, size_t n, size_t *room, size_t size)
{
	size_t want;
	void *p, *old;

	if (n < *room)
		return 0;

	want = *room ? *room * 2 : 8;
	if (want > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&old, items, sizeof(old)); /* any object pointer; all have one size here */
	p = realloc(old, want * size);
	if (!p)
		return -ENOMEM;

	memcpy(items, &p, sizeof(p));
	*room = want;
	return 0;
}
