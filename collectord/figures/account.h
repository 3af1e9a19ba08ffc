// SPDX-License-Identifier: Apache-2.0
/*
 * The account of a thread: the parts of its wall clock. They always sum to the wall clock: time without a measured
 * class is a part, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"

enum account_where {
	ACCOUNT_BETWEEN, /* between calls */
	ACCOUNT_IN,	 /* in a call at depth 0 */
	/*
	 * The scheduler's clock and ours differ, or it was not measured: class BLAME_OTHER. Or calls were left out to
	 * keep a budget, and it may be in one or between them
	 */
	ACCOUNT_NOT_KNOWN,
	ACCOUNT_WHERE_COUNT
};

/** account_where_name() - its name in JSON and SQL: between, in, not_known */
const char *account_where_name(enum account_where where);

struct account_part {
	uint64_t ns;
	uint32_t op; /* ACCOUNT_IN: id of the operation, 0: operations without an entry of their own; else 0 */
	uint8_t where;
	uint8_t class; /* enum blame_class, including ON_CPU */
};

/* One thread, in a tick or since its first call. */
struct account {
	uint32_t tid;	  /* 0: the sum of several threads */
	bool is_driving;  /* it made a fifth of the process's calls or more, so time that it loses delays the process */
	uint64_t calls;	  /* calls at depth 0 */
	uint64_t wall_ns; /* sum of the parts */
	/* In a tick: CPU time as the kernel's clock tick finds it, to some milliseconds. Both 0: not known */
	uint64_t user_ns, kernel_ns;
	char comm[RECORD_COMM_BYTES];
	ARRAY(struct account_part) parts; /* sorted by where, op, class, each once; none has 0 ns */
};

/** account_done() - release the parts */
void account_done(struct account *account);
/** account_add() - add to the part with the same where, op and class, and to the wall clock. Return: 0 or -ENOMEM */
int account_add(struct account *account, const struct account_part *part);
/** account_part_order() - compare by where, op, class; returns as memcmp() does */
int account_part_order(const struct account_part *a, const struct account_part *b);

/* In calls: of ACCOUNT_OPS operations, of all others, and of the call in progress; between calls; not known. */
#define ACCOUNT_PARTS_MOST ((ACCOUNT_OPS + 4) * BLAME_COUNT)

/**
 * account_read() - compute the parts of a thread's wall clock since its first call
 *
 * The rest of a call, and of the time between calls, counts as on the CPU. If these rests exceed the thread's CPU time
 * by more than 10 ms and 0.5 %, the excess is ACCOUNT_NOT_KNOWN. So is time that record->unseen_ns takes from the time
 * between calls.
 * @record: a record for which account_is_torn() is false
 * @ret: sorted by account_part_order(), none with 0 ns; their sum is the time from record->account.since_ns to
 *       record->now_ns
 * Return: number of parts
 */
size_t account_read(const struct account_record *record, struct account_part ret[ACCOUNT_PARTS_MOST]);
/** account_is_torn() - whether the account changed while it was copied, or does not exist */
bool account_is_torn(const struct account_record *record);

#define ACCOUNT_PATH_BYTES 256	/* a longer path keeps its end */
#define ACCOUNT_DEVICE_BYTES 16 /* name of a block device */

/*
 * What a thread waited for, as part of its account, in a tick or since its first call. With is_meanwhile: what a thread
 * without an account did while another thread waited for it (bpf/chain.h); this is part of no account.
 */
struct account_wait {
	uint64_t ns;
	/*
	 * In a tick, for waits that ended in it: the time that earlier ticks reported while the waits lasted. Not in
	 * .ns; not stored.
	 */
	uint64_t earlier_ns;
	uint64_t max_ns;
	uint64_t count;
	uint64_t resource;
	uint32_t device;
	uint32_t tid;
	uint32_t op;	     /* 0: between calls */
	uint32_t waker_tgid; /* 0: nobody known, or, with .waker_comm, children of that name */
	uint32_t waker_tid;
	uint32_t waker_uid;
	uint8_t class;
	uint8_t kind; /* enum resource_kind */
	bool is_meanwhile;
	bool is_waker_guarded; /* its own user may not inspect it */
	bool is_open;	       /* the wait is in progress: .count is 0, no waker. Not stored */
	char waker_comm[RECORD_COMM_BYTES];
	char name[ACCOUNT_PATH_BYTES];		/* path or its last component, or address of a peer; "": none */
	char device_name[ACCOUNT_DEVICE_BYTES]; /* block device, or the one of the file; "": unknown */
};

/** account_wait_whole_ns() - duration of waits that ended in a tick, including time before the tick */
static inline uint64_t account_wait_whole_ns(const struct account_wait *wait)
{
	return wait->ns + wait->earlier_ns;
}
/** account_wait_is_same_resource() - whether both are of the same thread, operation, class and resource */
static inline bool account_wait_is_same_resource(const struct account_wait *a, const struct account_wait *b)
{
	return a->resource == b->resource && a->device == b->device && a->tid == b->tid && a->op == b->op &&
	       a->class == b->class && a->kind == b->kind;
}
/** account_wait_name_set() - set the name. @name: from the kernel half; @path: path of the file, NULL: unknown */
void account_wait_name_set(struct account_wait *wait, const char name[RESOURCE_NAME_BYTES], const char *path);

/** account_resource_name() - name of a kind of resource in JSON and SQL: futex, pipe, ...; "": unknown */
const char *account_resource_name(enum resource_kind kind);
#define ACCOUNT_WAIT_NAME_BYTES ACCOUNT_PATH_BYTES
/**
 * account_wait_name() - name of the resource, to be shown: a file, an address, a number; "": none
 * Who names a file chooses its bytes: control characters and invalid UTF-8 become '?'.
 */
void account_wait_name(const struct account_wait *wait, char ret[ACCOUNT_WAIT_NAME_BYTES]);
/** account_class_name() - name of a class of blame in JSON and SQL: on_cpu, runnable, ... */
const char *account_class_name(enum blame_class class);
