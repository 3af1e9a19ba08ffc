// SPDX-License-Identifier: Apache-2.0
/* The methods, one row each: the eras that have it, and whether it asks the daemon. */
#pragma once

#include "mcp-server/rpc.h"

struct method {
	const char *name;
	unsigned int eras; /* of enum rpc_era */
	bool is_slow;
	bool is_cacheable; /* modern results say how long they hold, and for whom */
	bool is_public;	   /* ... for everybody: it does not depend on who asks */
	bool is_live;	   /* ... for no time at all: data goes on */
	/* Appends the members of the result. Return: 0, or rpc_fail() */
	int (*run)(struct rpc_call *call, struct writer *result);
};

/** method_find() - Return: the row, or NULL */
const struct method *method_find(const char *name);

/* Revisions of the protocol, the newest first; a date. */
extern const char *const revisions[];
extern const char *const revisions_modern[];
/** revision_is() - whether a list of revisions has it */
bool revision_is(const char *const *list, const char *revision);

int method_initialize(struct rpc_call *call, struct writer *result);
int method_discover(struct rpc_call *call, struct writer *result);
int method_ping(struct rpc_call *call, struct writer *result);
int method_tools_list(struct rpc_call *call, struct writer *result);
int method_tools_call(struct rpc_call *call, struct writer *result);
int method_prompts_list(struct rpc_call *call, struct writer *result);
int method_prompts_get(struct rpc_call *call, struct writer *result);
int method_resources_list(struct rpc_call *call, struct writer *result);
int method_resources_templates(struct rpc_call *call, struct writer *result);
int method_resources_read(struct rpc_call *call, struct writer *result);
int method_complete(struct rpc_call *call, struct writer *result);
