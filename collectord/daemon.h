// SPDX-License-Identifier: Apache-2.0
/*
 * Owns every part; the order of starting and stopping is written in daemon.c once.
 */
#pragma once

#include <stdint.h>

#include "probes/probe_set.h"
#include "store/store.h"

struct daemon_options {
	int private_fd;		 /* serve this connected socket and end with it; -1: listen */
	const char *socket_path; /* when listening */
	enum probe_back_end back_end;
	/* --capture, --record: a lease of the daemon's own on everybody's processes */
	bool captures_everyone;
	bool record_all;
	bool record_none;
	struct store_options db; /* path NULL: nothing is kept */
	const char *read_path;	 /* answer from this file and capture nothing; NULL: capture */
	uint64_t ring_bytes;	 /* 0: default */
	const char *demo;	 /* play this scenario instead of capturing; NULL: capture */
	double demo_speed;
};

/** daemon_run() - serve until told to stop or, privately, until the client is gone. Return: 0 or -errno, logged */
int daemon_run(const struct daemon_options *options);
