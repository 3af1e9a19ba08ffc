// SPDX-License-Identifier: Apache-2.0
/*
 * What the probes themselves cost on this machine: measured at open, on functions of our
 * own that do nothing, through the same programs and the same back end as everything else.
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
	CALIBRATE_OP_OUTER, /* plain head, calls the PLAIN one */
	CALIBRATE_OP_END
};
#define CALIBRATE_SITES (CALIBRATE_OP_END - CALIBRATE_OP_PLAIN)

/* What the programs take out of durations, nanoseconds. */
struct calibrate_shares {
	uint64_t share_ns[CALL_HEAD_COUNT];  /* inside the duration of a call itself */
	uint64_t nested_ns[CALL_HEAD_COUNT]; /* of a traced call, in the duration of the call around it */
	uint64_t refused_ns;		     /* likewise, when its return is not trapped */
};

/**
 * calibrate_sites() - where our own functions are in our own executable
 * @ret_path_fd: O_PATH descriptor of that file, owned by the caller
 * Return: 0, or -errno when the file cannot be told
 */
int calibrate_sites(struct probe_site ret_sites[CALIBRATE_SITES], int *ret_path_fd);
/** calibrate_run_untraced() - before the attach: what the calls cost by themselves */
void calibrate_run_untraced(void);
/**
 * calibrate_run_traced() - call them all, attached, with no share taken out
 * @cell_of: figures of one of the operations above, NULL when it was never called
 */
int calibrate_run_traced(const struct figure_cell *(*cell_of)(unsigned int op, void *data), void *data,
			 struct calibrate_shares *ret_shares, struct probe_cost *ret_cost);
/** calibrate_added_ns() - what tracing adds to one call with that head, nanoseconds; 0 before calibrate_run_traced() */
uint64_t calibrate_added_ns(enum call_head head);
/** calibrate_run_bystander() - attached, but our process not traced. Return: nanoseconds added to a call */
uint64_t calibrate_run_bystander(void);
