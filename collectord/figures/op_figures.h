// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of one operation in one process, and the list of operations that a process used. What was counted is exact;
 * what was left out to keep a budget is an estimate beside it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"
#include "events/left_out.h"
#include "figures/histogram.h"

struct op_figures {
	uint64_t total_ns; /* without the tracer's share */
	uint64_t raw_ns;   /* as measured */
	uint64_t max_ns;   /* without the tracer's share, since the process was first seen */
	uint64_t bytes;
	__u64 blame_ns[BLAME_COUNT]; /* parts of raw_ns; [BLAME_ON_CPU] is the remainder */
	uint64_t errors;
	int32_t error_code; /* of one of these, in ticks, answers and files; 0: not known */
	uint64_t abandoned;
	uint64_t untimed;
	struct left_out left_out; /* in no other member */
	struct histogram durations;
};

/** op_figures_seen() - number of calls that were counted, timed or not */
uint64_t op_figures_seen(const struct op_figures *op);
/** op_figures_count() - number of calls, those left out among them */
uint64_t op_figures_count(const struct op_figures *op);
/** op_figures_total_ns() - time of all of them, without the tracer's share; those that were not timed have none */
uint64_t op_figures_total_ns(const struct op_figures *op);
/** op_figures_bytes() - bytes of all of them */
uint64_t op_figures_bytes(const struct op_figures *op);
/** op_figures_is_exact() - whether the operation was attached all the time */
bool op_figures_is_exact(const struct op_figures *op);
/**
 * op_figures_count_error() - error of the number of calls, as part of it: the true number is mostly (19 of 20 times)
 * within it. Return: 0: exact; -1: not known
 */
double op_figures_count_error(const struct op_figures *op);
/** op_figures_time_error() - the same of the time of all calls */
double op_figures_time_error(const struct op_figures *op);
/** op_figures_add() - add the figures of another time, without the longest call and the error code. Return: 0 or
 * -ENOMEM */
int op_figures_add(struct op_figures *op, const struct op_figures *more);
/** op_figures_copy() - copy all figures. Return: 0 or -ENOMEM */
int op_figures_copy(const struct op_figures *from, struct op_figures *ret);
/** op_figures_subtract() - subtract an earlier copy; max_ns is kept, because the longest call since then is unknown */
void op_figures_subtract(struct op_figures *op, const struct op_figures *earlier);
/** op_figures_is_same() - whether no call was counted between the two */
bool op_figures_is_same(const struct op_figures *a, const struct op_figures *b);
void op_figures_done(struct op_figures *op);

/* One operation that a process used. */
struct op_used {
	uint32_t id;	    /* id of the operation; 0: calls without a free cell */
	uint64_t recent_ns; /* longest recent call; the owner of the list defines since when */
	struct op_figures figures;
};

/* The operations that a process used, ascending by id. Entries do not move while the list lives. */
struct op_list {
	ARRAY(struct op_used *) used;
};

/** op_list_find() - find the figures of one operation. Return: NULL if the process never used it */
const struct op_figures *op_list_find(const struct op_list *list, uint32_t id);
/**
 * op_list_take() - entry of one operation, added with all figures 0 if there is none
 * Return: NULL without memory
 */
struct op_used *op_list_take(struct op_list *list, uint32_t id);
/** op_list_copy() - add a copy of the figures of an operation that is not in the list. Return: 0 or -ENOMEM */
int op_list_copy(struct op_list *list, uint32_t id, const struct op_figures *figures);
/** op_list_bytes() - memory that the list holds */
size_t op_list_bytes(const struct op_list *list);
void op_list_done(struct op_list *list);
