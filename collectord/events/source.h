// SPDX-License-Identifier: Apache-2.0
/*
 * The interface of a source of records and figures: the row that a source fills in.
 *
 * The kernel half and the demos are sources of one interface; all later code is shared. (A recorded file is read by the
 * reader child, which runs the same detectors.) All calls are on the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "bpf/record.h"
#include "events/ring.h"

struct source;

typedef void (*source_behind_func)(const struct behind_key *key, const struct behind_value *value, void *data);
typedef void (*source_account_func)(const struct account_record *record, void *data);
typedef void (*source_wait_func)(const struct wait_key *key, const struct wait_value *value, void *data);
typedef void (*source_user_loss_func)(uint32_t uid, enum loss_reason reason, uint64_t n, void *data);

struct source_ops {
	/* "session", "multi", "perf", "demo": name in sessions and answers */
	const char *(*name)(const struct source *source);
	/* Cells and slots of figures, in the layout of the kernel half: see struct figures_source. */
	const struct process_slot *(*slots)(const struct source *source);
	struct figure_cell *(*cells)(const struct source *source);
	uint32_t (*cells_used)(struct source *source); /* 0: what was used cannot be read now */
	/* Calls of each cell that were left out to keep a budget. Return: NULL: none. NULL: there never are any */
	const struct left_out *(*left_out)(const struct source *source);
	int (*slot_release)(struct source *source, uint32_t slot);
	int (*behind)(struct source *source, source_behind_func func, void *data);
	/* Each thread with an account, and each that ended since; repeated entries are harmless. NULL: no accounts */
	int (*accounts)(struct source *source, source_account_func func, void *data);
	int (*waits)(struct source *source, source_wait_func func, void *data); /* NULL: not known */
	/* The Python interpreter of a process; NULL: not known. Return: 0 or -errno */
	int (*interpreter)(const struct source *source, uint32_t tgid, struct interpreter *ret);
	/* Return: how many (the first `room` are written), or -errno */
	int (*in_flight)(struct source *source, struct in_flight_record *ret, size_t room);
	void (*losses)(const struct source *source, uint64_t ret_losses[LOSS_COUNT]); /* that may concern every user */
	/* Add the totals that concern one user alone, @uid; UINT32_MAX: of all users. NULL: there are none */
	void (*user_losses)(const struct source *source, uint32_t uid, uint64_t losses[LOSS_COUNT]);
	/* Those of each user since the last call. NULL: there are none */
	void (*user_losses_take)(struct source *source, source_user_loss_func func, void *data);
	uint64_t (*refused)(const struct source *source); /* number of undecodable records */
	bool (*measures)(const struct source *source, enum blame_class class);
	/* Its clock, monotonic: that of a demo played faster runs faster, and ends at now. */
	uint64_t (*now_ns)(const struct source *source);
	/*
	 * A subscriber was added; a demo begins to play at the first one. NULL: leases control recording
	 * (probes/lease.h).
	 * @is_on: false: figures only;
	 * @sample_every: one call in N of each thread; 0: none
	 */
	void (*record)(struct source *source, bool is_on, bool all, uint32_t sample_every);
	/* Deliver all records now, to the sinks. */
	void (*drain)(struct source *source);
	/* The same of the stacks alone, also while a call is delivered. NULL: there are none */
	void (*drain_stacks)(struct source *source);
	bool is_invented; /* its calls did not happen on this machine, whose load explains nothing about them */
	/* No more records after this; memory is released in a turn of the loop. */
	void (*close)(struct source *source);
};

/* The first member of every source's own struct. */
struct source {
	const struct source_ops *ops;
};

/** source_measured() - MEASURED(class) of every blame class that it can measure: the others are absent, not zero */
uint16_t source_measured(const struct source *source);

/* Callbacks of a source; NULL members are not called. */
struct source_sinks {
	struct ring_sinks ring;
	void (*on_second)(void *data); /* figures are due: a second has passed on its clock */
};
