// SPDX-License-Identifier: Apache-2.0
/* Calls of a process that failed: of each operation and code the first one, and those of a tick. */
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
	struct finding_call ever; /* the first one */
	struct finding_call call; /* the first one of this tick */
	uint64_t count;		  /* kept calls of this tick; 0: none failed in it */
	uint64_t bytes;		  /* that .call asked for; 0: its operation has no size */
	int32_t code;		  /* not 0 */
	bool is_retried;	  /* the operation succeeded later with as many bytes or more */
};

struct failed_calls {
	struct failed_call items[FAILED_MAX];
	size_t n;
};

/** typedef failed_func - whether a failed call is of some kind. @op: not NULL */
typedef bool (*failed_func)(const struct op *op, int32_t code);

/**
 * failed_calls_first() - the one of a kind that began first in this tick: a call of the driver is inside one of the
 * runtime
 * Return: NULL: none
 */
const struct failed_call *failed_calls_first(const struct failed_calls *failed, failed_func is_one);
/** failed_calls_ever() - likewise, of all ticks */
const struct failed_call *failed_calls_ever(const struct failed_calls *failed, failed_func is_one);
/** failed_calls_pass() - the tick is over */
void failed_calls_pass(struct failed_calls *failed);
/** failed_calls_note() - note one kept call, in the order of their ends; also those that did not fail */
void failed_calls_note(struct failed_calls *failed, const struct event *event);
