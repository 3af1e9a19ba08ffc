// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/option_help.h"

#define HELP_COLUMNS 30 /* column of an option's help */

void option_help_append(const struct option_table *table, const struct text_style *style, struct buf *out)
{
	const struct option *row;

	for (size_t i = 0; (row = option_table_row(table, i)); i++) {
		CLEANUP(buf_done) struct buf line = BUF_INIT;
		CLEANUP(buf_done) struct buf first = BUF_INIT;

		if (row->letter)
			(void)buf_printf(&line, "  -%c, --%s", row->letter, row->name);
		else
			(void)buf_printf(&line, "      --%s", row->name);
		if (option_has_value(row))
			(void)buf_printf(&line, " %s", row->value);
		if (line.n > HELP_COLUMNS - 2) { /* too long for one line with its help */
			text_line(out, style, TEXT_PLAIN, "%s", buf_text(&line));
			buf_consume(&line, line.n);
		}
		(void)buf_printf(&first, "%-*s", HELP_COLUMNS, buf_text(&line));
		text_paragraph(out, style, buf_text(&first), row->help);
	}
}
