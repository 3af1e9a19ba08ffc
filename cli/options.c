// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <errno.h>

#include "base/parse.h"
#include "cli/absent.h"

#define HELP_COLUMNS 30 /* column of an option's help */

enum options_result options_parse(const struct option_table *table, int argc, char **argv, void *fields,
				  struct options_rest *ret_rest, char *error)
{
	static const struct option_dialect dialect = { .absent = option_absent, .other = option_other };

	return option_line_read(table, &dialect, argc, argv, fields, ret_rest, error);
}

int option_time_parse(const struct option *row, const char *text, void *field, char *error)
{
	int r = clock_parse(text, clock_now_unix_ns(), field);
	uint64_t duration_ns;

	if (r == -ERANGE)
		return option_refuse(error, "'--%s' %s: there is no such day or hour", row->name,
				     option_quote(text).text);
	if (r < 0 && parse_duration(text, &duration_ns) == 0)
		return option_refuse(error,
				     "'--%s' takes a clock time, not the duration %s; how far back goes with '--since'",
				     row->name, option_quote(text).text);
	if (r < 0)
		return option_refuse(error,
				     "'--%s' takes a clock time such as 14:03, '2026-01-31 14:03:21', "
				     "2026-01-31T14:03:21Z or now, not %s",
				     row->name, option_quote(text).text);
	return 0;
}

void options_help(const struct option_table *table, const struct text_style *style, struct buf *out)
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
