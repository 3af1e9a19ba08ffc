// SPDX-License-Identifier: Apache-2.0
#include "events/call_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void call_id_format(const struct call_id *id, char *ret_text)
{
	(void)snprintf(ret_text, CALL_ID_BYTES, "%" PRIu32 ".%" PRIx64 ".%" PRIu32, id->boot, id->start_ns, id->tid);
}

int call_id_parse(const char *text, struct call_id *ret_id)
{
	char again[CALL_ID_BYTES], *end = NULL;
	struct call_id id = { .boot = (uint32_t)strtoul(text, &end, 10) };

	if (*end == '.')
		id.start_ns = strtoull(end + 1, &end, 16);
	if (*end == '.')
		id.tid = (uint32_t)strtoul(end + 1, &end, 10);
	/* Only the canonical form: other forms that the library accepts as numbers are refused. */
	call_id_format(&id, again);
	if (strcmp(again, text) != 0)
		return -EINVAL;
	*ret_id = id;
	return 0;
}
