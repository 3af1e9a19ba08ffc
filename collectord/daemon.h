// SPDX-License-Identifier: Apache-2.0
/*
 * Owns every part; the order of starting and stopping is written in daemon.c once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/probe_set.h"
#include "archive/write/store.h"

/* Whose calls are captured though nobody asks: a lease of the daemon's own. */
struct daemon_policy {
	bool everyone;
	const uint32_t *uids; /* or these users' */
	size_t n_uids;
	bool record_all; /* single calls: every one; default: slow ones and a sample */
	bool record_none;
};

/** typedef daemon_reload_func - what the configuration says now; uids live until the next. Return: 0; -errno, said */
typedef int (*daemon_reload_func)(struct daemon_policy *ret_policy, uint64_t *ret_idle_ns, void *data);

struct daemon_options {
	int private_fd;		 /* serve this connected socket and end with it; -1: listen */
	int socket_fd;		 /* that listens already, borrowed; negative: there is none */
	const char *socket_path; /* where to listen otherwise */
	const char *user;	 /* whom to become, and what the service may not do; NULL: stay */
	bool is_service;	 /* the machine's, not somebody's own */
	enum probe_back_end back_end;
	struct daemon_policy policy;
	uint64_t query_cpu_ns; /* that questions of one user may use at once; 0: no limit */
	uint64_t idle_ns;      /* with a socket passed and nothing to record: leave when idle for so long; 0: stay */
	daemon_reload_func reload; /* NULL: nothing to read again */
	void *reload_data;
	const char *fault;	 /* serve without capture and give this as the reason; NULL: capture */
	struct store_options db; /* path NULL: nothing is kept */
	const char *read_path;	 /* answer from this file and capture nothing; NULL: capture */
	uint64_t ring_bytes;	 /* 0: default */
	const char *demo;	 /* play this scenario instead of capturing; NULL: capture */
	double demo_speed;
};

/**
 * daemon_run() - serve until told to stop or, privately, until the client is gone
 * @why: why_bytes; what could not be started, one sentence; may be NULL
 * Return: 0 or -errno, logged
 */
int daemon_run(const struct daemon_options *options, char *why, size_t why_bytes);
