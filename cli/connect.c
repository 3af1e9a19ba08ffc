// SPDX-License-Identifier: Apache-2.0
#include "cli/connect.h"

#include "cli/output.h"

#define ERROR_BYTES 512

const char *connect_databases(const struct option_texts *names, struct buf *room)
{
	if (names->n < 2)
		return names->items[0];
	for (size_t i = 0; i < names->n; i++)
		(void)buf_printf(room, "%s%s", i ? "\n" : "", names->items[i]);
	return buf_text(room);
}

int connect_open(const struct ingero_connect_wish *wish, struct ingero **ret_ingero, bool *ret_is_private)
{
	struct ingero_connect_wish ours = *wish;
	char error[ERROR_BYTES];
	int r;

	ours.program = "ingero-cli " INGERO_VERSION;
	r = ingero_connect(&ours, error, sizeof(error), ret_ingero, ret_is_private);
	if (r < 0)
		output_error("%s", error);
	return r;
}
