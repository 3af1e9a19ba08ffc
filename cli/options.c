// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/parse.h"
#include "cli/absent.h"

const char *option_file(const char *word)
{
	static const char ending[] = ".db";
	static char way_out[OPTIONS_ERROR_BYTES];
	size_t n = strlen(word);
	struct stat st;

	if ((n < sizeof(ending) || strcmp(word + n - (sizeof(ending) - 1), ending) != 0) &&
	    (stat(word, &st) < 0 || !S_ISREG(st.st_mode)))
		return NULL;
	(void)snprintf(way_out, sizeof(way_out), "to read that file: --db %s", option_quote(word).text);
	return way_out;
}

/* Only the --db of commands that read can be repeated: that of a trace is written. */
static const char *option_word(const struct option_table *table, const char *word)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].kind == OPTION_TEXTS && strcmp(table->rows[i].name, "db") == 0)
			return option_file(word);
	return NULL;
}

enum options_result options_parse(const struct option_table *table, int argc, char **argv, void *fields,
				  struct options_rest *ret_rest, char *error)
{
	static const struct option_dialect dialect = { .absent = option_absent,
						       .other = option_other,
						       .word = option_word };

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
