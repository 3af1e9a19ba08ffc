// SPDX-License-Identifier: Apache-2.0
/*
 * The account of a thread: the parts into which its wall clock falls. Their sum is that clock, always: what is
 * measured of no class is a part, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

/** account_done() - release the parts */
void account_done(struct account *account);
/** account_add() - add to the part of the same place, and to the wall clock. Return: 0 or -ENOMEM */
int account_add(struct account *account, const struct account_part *part);
/** account_part_order() - by where, op, class, as memcmp() */
int account_part_order(const struct account_part *a, const struct account_part *b);

/* In calls of ACCOUNT_OPS operations, of the others and of one that has not ended; between calls; not known. */
#define ACCOUNT_PARTS_MOST ((ACCOUNT_OPS + 3) * BLAME_COUNT + 1)

/**
 * account_read() - the parts of a thread's wall clock since its first call
 *
 * On the CPU is what is left of a call, and of the time between calls. What is left beyond the thread's CPU time by
 * more than 10 ms and 0.5 % is not known.
 * @record: one of which account_is_torn() is not true
 * @ret: by account_part_order(), none of 0 ns; their sum is the time from record->account.since_ns to record->now_ns
 * Return: number of parts
 */
size_t account_read(const struct account_record *record, struct account_part ret[ACCOUNT_PARTS_MOST]);
/** account_is_torn() - the account was changed while it was copied, or there is none */
bool account_is_torn(const struct account_record *record);

#define ACCOUNT_PATH_BYTES 256	/* of a longer path the end */
#define ACCOUNT_DEVICE_BYTES 16 /* of the name of a block device */

/*
 * What a thread waited for: of its account, in a tick or since its first call. is_meanwhile: what a thread without an
 * account did while it was waited for (bpf/chain.h), no part of anybody's account.
 */
struct account_wait {
	uint64_t ns;
	/* In a tick, of waits that ended in it: what earlier ticks told of them while they went on. Not in .ns; not
	 * stored. */
	uint64_t earlier_ns;
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
	bool is_meanwhile;
	bool is_open; /* it goes on, so far: .count 0, no waker. Not stored */
	char waker_comm[RECORD_COMM_BYTES];
	char name[ACCOUNT_PATH_BYTES];		/* path, or its last component; address of a peer; "": none */
	char device_name[ACCOUNT_DEVICE_BYTES]; /* block device of a file, or it itself; "": not known */
};

/** account_wait_name_set() - @name: as the kernel half has it; @path: of the file, NULL: not known */
void account_wait_name_set(struct account_wait *wait, const char name[RESOURCE_NAME_BYTES], const char *path);

/** account_resource_name() - kind of resource as JSON and SQL have it: futex, pipe, ...; "" where it is not known */
const char *account_resource_name(enum resource_kind kind);
#define ACCOUNT_WAIT_NAME_BYTES ACCOUNT_PATH_BYTES
/** account_wait_name() - name of what was waited for: a file, an address, a number; "" where it has none */
void account_wait_name(const struct account_wait *wait, char ret[ACCOUNT_WAIT_NAME_BYTES]);
/** account_class_name() - class of blame as JSON and SQL have it: on_cpu, runnable, ... */
const char *account_class_name(enum blame_class class);
