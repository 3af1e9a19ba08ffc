// SPDX-License-Identifier: Apache-2.0
/*
 * Recorded calls of a window, summed by the stack that made them, the process and the operation; and an estimate of all
 * calls that were made from there, recorded or not.
 *
 * The estimate: a call is recorded for what it is (slow, failed, synchronising, allocating, or all are recorded), or
 * because it is one in N of its thread (reason `sample` alone). Calls of the first kind are all recorded. The others of
 * a process and operation are known in number and time from the exact figures; they are split by the shares that the
 * sampled records of each stack have of them. What no record stands for belongs to no stack. Sampling is every N-th
 * call of a thread: a loop of N calls would be seen at one of them alone.
 *
 * The time of a call within another traced call is in that one's time, too. So such calls have rows of their own, and
 * the sum of the other rows has each moment once. What no record stands for is within other calls where all records of
 * its operation and process are, else it counts as within none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/read/read.h"
#include "figures/histogram.h"

#define CALL_SUMS_MAX 65536 /* rows with a stack: 25 MiB; calls with further ones are summed without their stack */

struct call_sum {
	const struct read_process *process;
	uint32_t op;	/* id of the reader; UINT32_MAX, 0: not known */
	uint32_t stack; /* id of the reader; 0: none */
	uint32_t of;	/* index of its process and operation */
	bool is_inner;	/* all calls were made within other traced calls, else none was */
	uint16_t measured;
	uint64_t count; /* recorded calls, as the following */
	uint64_t total_ns;
	uint64_t raw_ns;
	uint64_t max_ns;
	uint64_t bytes;
	uint64_t errors;
	uint64_t sampled, sampled_ns; /* of these, calls with reason `sample` alone */
	uint64_t counted, counted_ns; /* the estimate */
	__u64 blame_ns[BLAME_COUNT];
	struct histogram durations;
};

/* A process and operation. */
struct call_sum_op {
	const struct read_process *process;
	uint32_t op;
	bool has_bytes;			  /* the first argument of its calls is a number of bytes */
	bool has_outer;			  /* a record is of a call within no other */
	uint64_t certain, certain_ns;	  /* records of the whole window of figures: of calls that are all recorded */
	uint64_t sampled, sampled_ns;	  /* the others */
	uint64_t counted, counted_ns;	  /* exact figures of that window */
	uint64_t given_sampled, given_ns; /* sampled records of rows that have their share already */
};

struct call_sums {
	ARRAY(struct call_sum) rows; /* those with most of counted_ns first */
	ARRAY(struct call_sum_op) ops;
	uint32_t *row_slots, *op_slots; /* hashes: index + 1; 0: empty */
	size_t n_row_slots, n_op_slots;
	size_t n_with_stack;		   /* rows */
	uint64_t calls;			   /* recorded */
	uint64_t without;		   /* of these, calls without a stack */
	uint64_t merged;		   /* of these, calls whose stack had no row any more: CALL_SUMS_MAX */
	uint64_t incomplete;		   /* calls with a stack that is not complete */
	uint64_t counted;		   /* exact figures of the window of figures: calls, */
	uint32_t processes;		   /* and processes that made them */
	uint64_t from_unix_ns, to_unix_ns; /* bounds of the figures; 0: there are none */
	bool is_sampled;		   /* not every call was recorded */
};

struct call_sums_wish {
	uint64_t from_unix_ns, to_unix_ns;	 /* window of the calls; 0: no bound */
	uint64_t figures_from_ns, figures_to_ns; /* window of whole rows of figures around it; 0: no bound */
	const uint32_t *pids;			 /* none: all */
	size_t n_pids;
	const uint32_t *ops; /* none: all calls */
	size_t n_ops;
};

void call_sums_done(struct call_sums *sums);
/** call_sums_read() - @ret: release with call_sums_done(), also on failure. Return: 0 or -errno */
int call_sums_read(struct store_reader *reader, const struct call_sums_wish *wish, struct call_sums *ret);
/** call_sum_merge() - add a row to another: sums, estimate and durations. Return: 0 or -ENOMEM */
int call_sum_merge(struct call_sum *sum, const struct call_sum *other);
