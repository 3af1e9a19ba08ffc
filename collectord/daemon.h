// SPDX-License-Identifier: Apache-2.0
/* Owner of every part; daemon.c has the order of starting and stopping. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recording.h"
#include "serve.h"
#include "source_start.h"

struct daemon_options {
	struct serve_options serve;
	struct recording_wish policy; /* whom to record unasked */
	const char *user;	      /* whom to become, and what the service may not do; NULL: stay */
	bool is_service;	      /* the machine's, not somebody's own */
	uint64_t query_cpu_ns;	      /* that questions of one user may use at once; 0: no limit */
	struct source_options source;
};

/**
 * daemon_run() - serve until it is stopped or, privately, until the client is gone
 * @why: why_bytes; the error of a failed start, one sentence; may be NULL
 * Return: 0 or -errno, logged
 */
int daemon_run(const struct daemon_options *options, char *why, size_t why_bytes);
