// SPDX-License-Identifier: Apache-2.0
/*
 * The cost of the probes on this machine. It is measured when a probe set opens, on empty functions of the daemon, with
 * the same programs and the same back end as all other probes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "probes/probe_set.h"

/* Operations of the calibration's own calls; ops.def must not use them. */
enum calibrate_op {
	CALIBRATE_OP_PLAIN = OP_CALIBRATION,
	CALIBRATE_OP_JUMP,
	CALIBRATE_OP_STEPPED,
	CALIBRATE_OP_OUTER, /* plain head, calls the function of CALIBRATE_OP_PLAIN */
	CALIBRATE_OP_END
};
#define CALIBRATE_SITES (CALIBRATE_OP_END - CALIBRATE_OP_PLAIN)

/* Shares of the probes that the programs subtract from durations, nanoseconds. */
struct calibrate_shares {
	uint64_t share_ns[CALL_HEAD_COUNT];  /* in the duration of the traced call itself */
	uint64_t nested_ns[CALL_HEAD_COUNT]; /* of a nested traced call, in the duration of the outer call */
	uint64_t refused_ns;		     /* the same, if the return of the nested call has no probe */
};

/**
 * calibrate_sites() - find the calibration functions in our own executable
 * @ret_path_fd: O_PATH descriptor of that file, owned by the caller
 * Return: 0, or -errno if the file cannot be found
 */
int calibrate_sites(struct probe_site ret_sites[CALIBRATE_SITES], int *ret_path_fd);
/** calibrate_run_untraced() - before attaching: measure the calls without probes */
void calibrate_run_untraced(void);
/**
 * calibrate_run_traced() - after attaching: measure all calls, with no share subtracted
 * @cell_of: returns the figures of one of the operations above, NULL if it was never called
 */
int calibrate_run_traced(const struct figure_cell *(*cell_of)(unsigned int op, void *data), void *data,
			 struct calibrate_shares *ret_shares, struct probe_cost *ret_cost);
/**
 * calibrate_added_ns() - what tracing adds at least to one call with that head: caches hold all that a call needs.
 * Nanoseconds; 0 before calibrate_run_traced()
 */
uint64_t calibrate_added_ns(enum call_head head);
/** calibrate_added_most_ns() - what it adds at most: the program evicts everything between its calls */
uint64_t calibrate_added_most_ns(enum call_head head);
/**
 * calibrate_run_bystander() - measure calls with probes in a process that is not traced. Return: nanoseconds added to a
 * call
 */
uint64_t calibrate_run_bystander(void);
