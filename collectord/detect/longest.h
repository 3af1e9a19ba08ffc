// SPDX-License-Identifier: Apache-2.0
/* The longest calls of a process that returned in a tick: of each operation one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "detect/finding.h"

struct event;
struct op;

/* More operations are left out. */
#define LONGEST_MAX 8
/* Shorter calls are not noted. (Guess.) */
#define LONGEST_LEAST_NS (2 * NSEC_PER_SEC)

struct longest_call {
	const struct op *op;
	struct finding_call call;
	uint64_t own_ns;	     /* without waits for a CPU */
	uint64_t bytes;		     /* that it copied; 0: not known */
	__u64 blame_ns[BLAME_COUNT]; /* with [BLAME_ON_CPU] */
};

struct longest_calls {
	struct longest_call items[LONGEST_MAX];
	size_t n;
};

/** longest_call_ns() - time of a kept call without waits for a CPU; 0: it is none of these */
uint64_t longest_call_ns(const struct event *event);
/** longest_calls_note() - note one kept call */
void longest_calls_note(struct longest_calls *longest, const struct event *event);
