// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/whose.h"

#include "libingero/render/user.h"

void whose_append(const struct ingero *ingero, const uint32_t *pids, size_t n_pids, bool is_file, struct buf *out)
{
	const Ingero__V1__HelloReply *hello = ingero_hello(ingero);

	if (n_pids) {
		(void)buf_printf(out, "of pid%s ", n_pids > 1 ? "s" : "");
		for (size_t i = 0; i < n_pids; i++)
			(void)buf_printf(out, "%s%u", i ? ", " : "", pids[i]);
	} else if (is_file || hello->can_read_all) {
		(void)buf_append_text(out, "of any user");
	} else {
		(void)buf_printf(out, "of %s", user_name(hello->caller_uid).text);
	}
}
