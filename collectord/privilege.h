// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

struct privilege_need {
	bool late_perf; /* perf events are opened later: only CAP_SYS_ADMIN may */
	bool continues; /* processes of any user and session are let go on after a hold */
	bool nothing;	/* nothing is captured: no capability at all */
};

/**
 * privilege_seal() - give up every capability but those of the service, for ever and for children too
 * Return: 0 or -errno
 */
int privilege_seal(const struct privilege_need *need);
