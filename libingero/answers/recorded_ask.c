// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/recorded.h"

int recorded_ask(struct ingero *ingero, struct ingero_explanation *ret)
{
	const struct ingero_explain_wish wish = {
		.is_whole = true,
		.per_process = true,
		.without_kept = true,
		.without_accounts = true,
	};

	return ingero_explain(ingero, &wish, ret);
}
