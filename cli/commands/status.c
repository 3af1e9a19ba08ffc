// SPDX-License-Identifier: Apache-2.0
/* `ingero status`: what the daemon does now, and what can be measured here. */
#include <errno.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libingero/answers/status.h"
#include "libingero/render/pb_json.h"

struct status_fields {
	bool is_all;
	bool is_json;
};

#define FIELDS struct status_fields
static const struct option status_options[] = {
	ALL_OPTION(is_all),
	JSON_OPTION(is_json, "Print one JSON object (docs/schema/status.schema.json)"),
};

static int status_run(const void *fields, const struct options_rest *rest)
{
	const struct status_fields *wish = fields;
	struct ingero_connect_wish connect = { .command = "status",
					       .kind = INGERO_CONNECT_LOOK,
					       .is_all = wish->is_all };
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct text_style style = output_style(STDOUT_FILENO, /* no_color= */ false);
	Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	struct ingero *ingero = NULL;
	bool is_private;
	int r;

	(void)rest;
	request.look = true;
	r = connect_open(&connect, &ingero, &is_private);
	if (r < 0)
		return COMMAND_FAILED;

	r = ingero_call(ingero, "ingero.v1.Query.Status", &request.base, /* deadline_ms= */ 0, &reply);
	if (r < 0)
		output_error("no status: %s", ingero_why(ingero, r));
	else if (wish->is_json)
		r = pb_json_line(&out.buf, "status", reply, NULL);
	else
		status_append((const Ingero__V1__StatusReply *)reply, is_private, &style, &out.buf);

	if (reply)
		protobuf_c_message_free_unpacked(reply, NULL);
	ingero_close(ingero);
	if (r < 0 || output_flush(&out) < 0)
		return COMMAND_FAILED;
	return COMMAND_OK;
}

static const char *const status_paragraphs[] = {
	"Queries the service; where no service runs, root gets the status of a private daemon.",
	NULL,
};

const struct command command_status = {
	.name = "status",
	.summary = "show what the daemon does and what can be measured here",
	.usage = "[options]",
	.paragraphs = status_paragraphs,
	.options = { .command = "status", .rows = status_options, .n = ARRAY_SIZE(status_options) },
	.fields_bytes = sizeof(struct status_fields),
	.run = status_run,
};
