// SPDX-License-Identifier: Apache-2.0
/* Results as text and as JSON. */
#include <errno.h>
#include <string.h>

#include "libingero/check/check.h"
#include "libingero/render/json.h"

#define VALUE_COLUMN "                           " /* column of details */

static const enum text_tone tones[] = { TEXT_PLAIN, TEXT_BOLD, TEXT_LOUD };

static size_t level_count(const struct check_result *results, size_t n, enum check_level level)
{
	size_t n_of_it = 0;

	for (size_t i = 0; i < n; i++)
		n_of_it += results[i].level == level;
	return n_of_it;
}

static void lines_append(struct buf *out, const struct text_style *style, const char *lines)
{
	while (*lines) {
		CLEANUP(buf_done) struct buf line = BUF_INIT;
		size_t n = strcspn(lines, "\n");

		(void)buf_append(&line, lines, n);
		text_paragraph(out, style, VALUE_COLUMN, buf_text(&line));
		lines += n + (lines[n] == '\n');
	}
}

void check_report_append(struct check_result *results, size_t n, const struct text_style *style, struct buf *out)
{
	size_t n_fail = level_count(results, n, CHECK_LEVEL_FAIL), n_warn = level_count(results, n, CHECK_LEVEL_WARN);

	for (size_t i = 0; i < n; i++) {
		struct check_result *result = &results[i];
		char first[64];

		(void)snprintf(first, sizeof(first), "%-5s%-*s", check_level_name(result->level),
			       (int)strlen(VALUE_COLUMN) - 5, result->name);
		text_tone(out, style, tones[result->level]);
		text_paragraph(out, style, first, buf_text(&result->value));
		text_tone(out, style, TEXT_PLAIN);
		lines_append(out, style, buf_text(&result->detail));
		if (result->way_out.n)
			text_paragraph(out, style, VALUE_COLUMN "→ ", buf_text(&result->way_out));
	}
	if (n_fail)
		text_line(out, style, TEXT_LOUD, "%zu of %zu checks fail: mend them before you trace", n_fail, n);
	else if (n_warn)
		text_line(out, style, TEXT_PLAIN, "no failures; %zu of %zu checks need attention", n_warn, n);
	else
		text_line(out, style, TEXT_PLAIN, "all is well");
}

/* A warning is no failure of what is needed; the worst result of an optional check is a warning. */
static bool result_passes(const struct check_result *result)
{
	return result->level == CHECK_LEVEL_OK || (result->level == CHECK_LEVEL_WARN && !result->is_optional);
}

static json_t *result_json(struct check_result *result)
{
	return json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:o}", "name", result->name, "level",
			 check_level_name(result->level), "pass", result_passes(result), "optional",
			 result->is_optional, "value", json_text(buf_text(&result->value)), "detail",
			 json_text(buf_text(&result->detail)), "recommendation", json_text(buf_text(&result->way_out)));
}

int check_json_append(struct check_result *results, size_t n, struct buf *out)
{
	json_t *checks = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(checks, result_json(&results[i])) < 0) {
			json_decref(checks);
			return -ENOMEM;
		}
	return json_line(out, json_pack("{s:s, s:b, s:o}", "type", "check", "all_passed",
					!level_count(results, n, CHECK_LEVEL_FAIL), "checks", checks));
}
