// SPDX-License-Identifier: Apache-2.0
#include "cli/connect.h"

#include "cli/output.h"
#include "libingero/render/user.h"

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

void connect_whose(const struct ingero *ingero, const struct option_ids *pids, const char *db_path, struct buf *out)
{
	const Ingero__V1__HelloReply *hello = ingero_hello(ingero);

	if (pids->n) {
		(void)buf_printf(out, "of pid%s ", pids->n > 1 ? "s" : "");
		for (size_t i = 0; i < pids->n; i++)
			(void)buf_printf(out, "%s%u", i ? ", " : "", pids->items[i]);
	} else if (db_path || hello->can_read_all) {
		(void)buf_append_text(out, "of any user");
	} else {
		(void)buf_printf(out, "of %s", user_name(hello->caller_uid).text);
	}
}
