// SPDX-License-Identifier: Apache-2.0
#include "base/troff.h"

void troff_append(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '-')
			(void)buf_append_text(out, "\\-");
		else if (*p == '\\')
			(void)buf_append_text(out, "\\e");
		else if ((*p == '.' || *p == '\'') && p == text)
			(void)buf_printf(out, "\\&%c", *p);
		else
			(void)buf_append(out, p, 1);
	}
}
