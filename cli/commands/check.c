// SPDX-License-Identifier: Apache-2.0
/* `ingero check`: verify that this machine has what Ingero needs, and name the action for each problem. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/check/check.h"
#include "cli/command.h"
#include "cli/config_reader.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libingero/connect/caller.h"
#include "libingero/connect/database.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define STATUS_MS 30000 /* deadline; visiting every process of a busy machine takes time */
#define CHECKS_MAX 64

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

/* Creates the smallest map and closes it: no smaller request needs the same permission. Return: 0 or errno */
static int bpf_error(void)
{
	CLEANUP(closep) int fd = -1;
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(uint32_t);
	attr.max_entries = 1;
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

static int daemon_ask(bool is_all, struct check_daemon *daemon, ProtobufCMessage **ret_status)
{
	Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
	const struct ingero_connect_wish wish = {
		.kind = INGERO_CONNECT_LOOK,
		.is_all = is_all,
		.command = "check",
		.program = "ingero-cli " INGERO_VERSION,
	};
	struct ingero *ingero = NULL;

	request.look = true;
	daemon->error = ingero_connect(&wish, daemon->sentence, sizeof(daemon->sentence), &ingero, &daemon->is_private);
	if (daemon->error == 0) {
		daemon->error = ingero_call(ingero, "ingero.v1.Query.Status", &request.base, STATUS_MS, ret_status);
		if (daemon->error < 0)
			(void)snprintf(daemon->sentence, sizeof(daemon->sentence), "it does not answer: %s",
				       ingero_why(ingero, daemon->error));
		ingero_close(ingero);
	}
	daemon->status = (const Ingero__V1__StatusReply *)*ret_status;
	return daemon->error;
}

static void configuration_ask(struct check_configuration *configuration)
{
	CLEANUP(closep) int fd = config_reader_open(CONFIG_PATH);

	configuration->path = CONFIG_PATH;
	configuration->error = fd < 0 ? fd : 0;
	if (fd >= 0 && config_reader_run("--config-check", CONFIG_PATH, fd, configuration->sentence,
					 sizeof(configuration->sentence)))
		configuration->error = -EINVAL;
}

static int check_run_all(const void *fields, const struct options_rest *rest)
{
	const struct check_fields *wish = fields;
	struct caller caller = caller_get();
	CLEANUP(closep) int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct check_world world = { .root = root,
				     .uid = caller.uid,
				     .is_root = caller.is_root,
				     .bpf_error = bpf_error(),
				     .nvml = NVML_LIBRARY };
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct text_style style = output_style(STDOUT_FILENO, wish->no_color);
	struct check_result results[CHECKS_MAX];
	size_t n = MIN(check_count(), ARRAY_SIZE(results));
	ProtobufCMessage *status = NULL;
	struct database database;
	bool has_failed = false;

	(void)rest;
	if (daemon_ask(wish->is_all, &world.daemon, &status) == -EPERM) {
		output_error("%s", world.daemon.sentence);
		return COMMAND_FAILED;
	}
	configuration_ask(&world.configuration);
	if (database_look(&caller, &database) == 0)
		world.database = &database;

	for (size_t i = 0; i < n; i++) {
		check_run(i, &world, &results[i]);
		has_failed |= results[i].level == CHECK_LEVEL_FAIL;
	}
	if (wish->is_json)
		has_failed |= check_json_append(results, n, &out.buf) < 0;
	else
		check_report_append(results, n, &style, &out.buf);

	for (size_t i = 0; i < n; i++)
		check_result_done(&results[i]);
	if (status)
		protobuf_c_message_free_unpacked(status, NULL);
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
