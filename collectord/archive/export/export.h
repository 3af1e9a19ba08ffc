// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that a reader may see as a plain SQLite file of Ingero's tables (user_version 10), for the sqlite3 shell
 * and other tools. Runs in the reader child.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct reader_job;
struct sqlite3;

struct export_request {
	uint64_t from_unix_ns; /* entry of the call; 0: from the beginning */
	uint64_t to_unix_ns;   /* exclusive; 0: to the end */
	const uint32_t *pids;  /* none: all */
	size_t n_pids;
};

/**
 * export_db() - fill an empty database
 * @out: writable; its journal may be off, because a failed file is deleted
 * @ret_events: number of calls written
 * Return: 0; -ENOSPC, -ETIME (interrupted), -errno
 */
int export_db(struct reader_job *job, const struct export_request *request, struct sqlite3 *out, uint64_t *ret_events);
