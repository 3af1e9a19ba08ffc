// SPDX-License-Identifier: Apache-2.0
/* Of each operation of a process the code of the last failed call that was recorded. */
#pragma once

#include <stdint.h>

#include "base/array.h"

struct failure {
	uint32_t op; /* id of the operation */
	int32_t code;
	uint64_t time_ns; /* end of the call, on the source's clock */
};

/* At most one entry an operation. */
typedef ARRAY(struct failure) process_failures;

/** failures_note() - note a failed call. Without memory its code stays unknown */
void failures_note(process_failures *failures, uint32_t op, int32_t code, uint64_t time_ns);
/**
 * failures_since() - code of the last recorded failure
 * @op: id of the operation
 * @since_ns: on the source's clock
 * Return: 0 if no failure since then was recorded
 */
int32_t failures_since(const process_failures *failures, uint32_t op, uint64_t since_ns);
void failures_done(process_failures *failures);
