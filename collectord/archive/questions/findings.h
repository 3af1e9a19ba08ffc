// SPDX-License-Identifier: Apache-2.0
/* Findings of the database, worst first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ingero/v1/finding.pb-c.h"

struct reader_job;

struct findings {
	Ingero__V1__Finding **rows; /* n of them, owned, as long as the process */
	size_t n;
	size_t room;
	size_t n_all; /* number of matching findings, including those left out */
};

/** findings_collect() - collect the `most` worst findings that overlap a window. Return: 0 or -errno */
int findings_collect(struct findings *findings, struct reader_job *job, uint64_t from_unix_ns, uint64_t to_unix_ns,
		     const uint32_t *pids, size_t n_pids, size_t most);
/** findings_find() - find one finding by its id or a prefix of the id. Return: 0, 1 when the error was sent, -errno */
int findings_find(struct findings *findings, struct reader_job *job, const char *id);
/** findings_fail_id() - send the error that a text is not an id. Return: 1 */
int findings_fail_id(const char *id);
