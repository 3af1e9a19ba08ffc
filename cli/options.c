// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <errno.h>

#include "base/parse.h"
#include "cli/absent.h"

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
