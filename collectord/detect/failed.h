// SPDX-License-Identifier: Apache-2.0
/* Calls of a process that failed in a tick: the first of each operation and code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/finding.h"

struct event;
struct op;

/* More are left out: programs that test what a device supports get several codes. */
#define FAILED_MAX 16

struct failed_call {
	const struct op *op;
	struct finding_call call;
	uint64_t count;	 /* of this operation and code, among the kept calls */
	uint64_t bytes;	 /* that it asked for; 0: its operation has no size */
	int32_t code;	 /* not 0 */
	bool is_retried; /* the operation succeeded later with as many bytes or more */
};

struct failed_calls {
	struct failed_call items[FAILED_MAX];
	size_t n;
};

/** typedef failed_func - whether a failed call is of some kind. @op: not NULL */
typedef bool (*failed_func)(const struct op *op, int32_t code);

/**
 * failed_calls_first() - the one of a kind that began first: a call of the driver is inside one of the runtime
 * Return: NULL: none
 */
const struct failed_call *failed_calls_first(const struct failed_calls *failed, failed_func is_one);
/** failed_calls_note() - note one kept call, in the order of their ends; also those that did not fail */
void failed_calls_note(struct failed_calls *failed, const struct event *event);
