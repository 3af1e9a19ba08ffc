// SPDX-License-Identifier: Apache-2.0
/* `ingero version`: version and commit. */
#include <errno.h>

#include "cli/command.h"
#include "libingero/render/json.h"
#include "cli/output.h"
#include "ingero_commit.h" /* generated at build time */

struct version_fields {
	bool is_json;
};

#define FIELDS struct version_fields
static const struct option version_options[] = {
	JSON_OPTION(is_json, "Print one JSON object"),
};

static int version_run(const void *fields, const struct options_rest *rest)
{
	const struct version_fields *version = fields;
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);

	(void)rest;
	if (version->is_json)
		(void)json_line(&out.buf, json_pack("{s:s, s:s, s:s, s:s}", "type", "version", "version",
						    INGERO_VERSION, "commit", INGERO_COMMIT, "license", "Apache-2.0"));
	else
		(void)buf_append_text(&out.buf, "ingero " INGERO_VERSION " (commit " INGERO_COMMIT ")\n"
						"Apache-2.0; programs for the kernel: GPL-2.0 OR BSD-3-Clause\n");
	return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

const struct command command_version = {
	.name = "version",
	.summary = "show version, commit and licence",
	.usage = "[options]",
	.options = { .command = "version", .rows = version_options, .n = ARRAY_SIZE(version_options) },
	.fields_bytes = sizeof(struct version_fields),
	.run = version_run,
};
