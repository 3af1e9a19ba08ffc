// SPDX-License-Identifier: Apache-2.0
/*
 * Records of process life as events for users: exec, fork, exit, kills for want of memory.
 *
 * The kernel half reports every process that a lease covers. Shown are processes that a lease names, processes that
 * made traced calls, and descendants of both. A user's shells and compilers are not shown.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "events/event.h"

struct host;

struct host_event {
	uint16_t op;		 /* row EVENT of ops.def */
	struct process *process; /* a reference; NULL: no memory */
};

/*
 * Arguments and result of a record of life as its row EVENT defines them: `args` and `ret_code` of answers and files.
 */
struct host_values {
	uint64_t args[OP_ARGS_SHORT];
	int32_t ret;
};

/** host_new() - @table: borrowed. Return: 0 or -ENOMEM */
int host_new(struct process_table *table, struct host **ret_host);
void host_free(struct host *host);
/** host_clear() - forget all descendants, after the last lease has ended */
void host_clear(struct host *host);
/** host_look() - forget the descendants that are gone: records of their ends may have been lost */
void host_look(struct host *host);
/**
 * host_life() - convert a record of life; every record is passed to it, in order
 * @start_unix_ns: wall-clock time of the record's start_boot_ns
 * Return: whether there is an event to show
 */
bool host_life(struct host *host, const struct life_record *life, uint64_t start_unix_ns, struct host_event *ret_event);
struct host_values host_values(const struct life_record *life);
