// SPDX-License-Identifier: Apache-2.0
#include "cli/op_names.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/op_name.h"

#define OP(id, layer, name, short_name, arguments, traits, tier) { #name, short_name },
static const char *const ops[][2] = {
#include "bpf/ops.def"
};
#undef OP

void op_names_append(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		char shown[64];

		op_name_short(ops[i][0], shown, sizeof(shown));
		(void)buf_printf(out, "%s\n", ops[i][0]);
		if (strcmp(shown, ops[i][0]) != 0)
			(void)buf_printf(out, "%s\n", shown);
		if (strcmp(ops[i][1], ops[i][0]) != 0 && strcmp(ops[i][1], shown) != 0)
			(void)buf_printf(out, "%s\n", ops[i][1]);
	}
}
