// SPDX-License-Identifier: Apache-2.0
/*
 * The account of a thread: the parts into which its wall clock falls. Their sum is that clock, always: what is
 * measured of no class is a part, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"

enum account_where {
	ACCOUNT_BETWEEN,   /* calls */
	ACCOUNT_IN,	   /* a call at depth 0 */
	ACCOUNT_NOT_KNOWN, /* the scheduler's clock and ours differ, or nobody looked: class BLAME_OTHER */
	ACCOUNT_WHERE_COUNT
};

/** account_where_name() - as JSON and SQL have it: between, in, not_known */
const char *account_where_name(enum account_where where);

struct account_part {
	uint64_t ns;
	uint32_t op; /* ACCOUNT_IN: its id, 0: several that found no place; else 0 */
	uint8_t where;
	uint8_t class; /* enum blame_class, ON_CPU too */
};

/* One thread, in a tick or since its first call. */
struct account {
	uint32_t tid;	  /* 0: of several threads that are not told apart, a sum of their times */
	bool is_driving;  /* what it loses the process loses: it made a fifth of the calls or more */
	uint64_t calls;	  /* at depth 0 */
	uint64_t wall_ns; /* sum of the parts */
	char comm[RECORD_COMM_BYTES];
	ARRAY(struct account_part) parts; /* none of 0 ns; by where, op, class: each once */
};

/* What a thread waited for: of its account, in a tick or since its first call. */
struct account_wait {
	uint64_t ns;
	uint64_t max_ns;
	uint64_t count;
	uint64_t resource;
	uint32_t device;
	uint32_t tid;
	uint32_t op; /* 0: between calls */
	uint32_t waker_tgid;
	uint32_t waker_tid;
	uint32_t waker_uid;
	uint8_t class;
	uint8_t kind; /* enum resource_kind */
	char waker_comm[RECORD_COMM_BYTES];
	char name[RESOURCE_NAME_BYTES];
};
