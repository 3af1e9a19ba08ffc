// SPDX-License-Identifier: Apache-2.0
/*
 * Owns every part; the order of starting and stopping is written in daemon.c once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "archive/write/store.h"
#include "probes/probe_set.h"
#include "recording.h"
#include "serve.h"

struct daemon_options {
	struct serve_options serve;
	struct recording_wish policy; /* whom to record unasked */
	const char *user;	      /* whom to become, and what the service may not do; NULL: stay */
	bool is_service;	      /* the machine's, not somebody's own */
	enum probe_back_end back_end;
	uint64_t query_cpu_ns;	 /* that questions of one user may use at once; 0: no limit */
	const char *fault;	 /* serve without capture and give this as the reason; NULL: capture */
	struct store_options db; /* path NULL: nothing is kept */
	const char *read_path;	 /* answer from this file and capture nothing; NULL: capture */
	uint64_t ring_bytes;	 /* of call records; 0: default */
	const char *demo;	 /* play this scenario instead of capturing; NULL: capture */
	double demo_speed;
};

/**
 * daemon_run() - serve until told to stop or, privately, until the client is gone
 * @why: why_bytes; what could not be started, one sentence; may be NULL
 * Return: 0 or -errno, logged
 */
int daemon_run(const struct daemon_options *options, char *why, size_t why_bytes);
