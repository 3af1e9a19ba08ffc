// SPDX-License-Identifier: Apache-2.0
#include "libingero/check/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ingero/connect.h"
#include "libingero/connect/caller.h"
#include "libingero/connect/config_reader.h"
#include "libingero/connect/database.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define STATUS_MS 30000 /* deadline; visiting every process of a busy machine takes time */

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

static int daemon_ask(bool is_all, const char *program, struct check_daemon *daemon, ProtobufCMessage **ret_status)
{
	Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
	const struct ingero_connect_wish wish = {
		.kind = INGERO_CONNECT_LOOK,
		.is_all = is_all,
		.command = "check",
		.program = program,
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
	if (fd >= 0 && config_reader_run("--config-check", CONFIG_PATH, fd, /* is_quiet= */ true,
					 configuration->sentence, sizeof(configuration->sentence)))
		configuration->error = -EINVAL;
}

int check_ask(const struct check_wish *wish, char *error, struct check_answer *ret)
{
	struct caller caller = caller_get();
	CLEANUP(closep) int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct check_world world = { .root = root,
				     .uid = caller.uid,
				     .is_root = caller.is_root,
				     .bpf_error = bpf_error(),
				     .nvml = NVML_LIBRARY,
				     .files = wish->files,
				     .files_problem = wish->files_problem };
	ProtobufCMessage *status = NULL;
	struct database database;

	if (daemon_ask(wish->is_all, wish->program, &world.daemon, &status) == -EPERM) {
		(void)snprintf(error, CHECK_ERROR_BYTES, "%s", world.daemon.sentence);
		return -EPERM;
	}
	configuration_ask(&world.configuration);
	if (database_look(&caller, &database) == 0)
		world.database = &database;

	ret->n = MIN(check_count(), ARRAY_SIZE(ret->results));
	for (size_t i = 0; i < ret->n; i++) {
		check_run(i, &world, &ret->results[i]);
		ret->has_failed |= ret->results[i].level == CHECK_LEVEL_FAIL;
	}
	if (status)
		protobuf_c_message_free_unpacked(status, NULL);
	return 0;
}

void check_answer_done(struct check_answer *answer)
{
	for (size_t i = 0; i < answer->n; i++)
		check_result_done(&answer->results[i]);
	answer->n = 0;
}
