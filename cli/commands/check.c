// SPDX-License-Identifier: Apache-2.0
/* `ingero check`: verify that this machine has what Ingero needs, and name the action for each problem. */
#include "cli/command.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libingero/check/ask.h"

struct check_fields {
	bool is_all;
	bool is_json;
	bool no_color;
};

#define FIELDS struct check_fields
static const struct option check_options[] = {
	ALL_OPTION(is_all),
	JSON_OPTION(is_json, "Print one JSON object (docs/schema/check.schema.json)"),
	NO_COLOR_OPTION(no_color),
};

static int check_run_all(const void *fields, const struct options_rest *rest)
{
	const struct check_fields *wish = fields;
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct text_style style = output_style(STDOUT_FILENO, wish->no_color);
	CLEANUP(check_answer_done) struct check_answer answer = CHECK_ANSWER_INIT;
	char error[CHECK_ERROR_BYTES];
	const struct check_wish what = { .is_all = wish->is_all, .program = "ingero-cli " INGERO_VERSION };
	bool has_failed;

	(void)rest;
	if (check_ask(&what, error, &answer) < 0) {
		output_error("%s", error);
		return COMMAND_FAILED;
	}
	has_failed = answer.has_failed;
	if (wish->is_json)
		has_failed |= check_json_append(answer.results, answer.n, &out.buf) < 0;
	else
		check_report_append(answer.results, answer.n, &style, &out.buf);
	return output_flush(&out) < 0 || has_failed ? COMMAND_FAILED : COMMAND_OK;
}

static const char *const check_paragraphs[] = {
	"Checks the kernel, the caller's permissions, the service and its configuration, the database, the GPU and "
	"CUDA's libraries, and names the action for each problem. Without privilege it checks your own processes; "
	"the service, or under sudo a private daemon, reports the rest.",
	"Exits with 0 without failures (warnings are no failures), 1 with failures, 2 when misused.",
	NULL,
};

const struct command command_check = {
	.name = "check",
	.summary = "check that this machine is ready",
	.usage = "[options]",
	.paragraphs = check_paragraphs,
	.options = { .command = "check", .rows = check_options, .n = ARRAY_SIZE(check_options) },
	.fields_bytes = sizeof(struct check_fields),
	.run = check_run_all,
};
