// SPDX-License-Identifier: Apache-2.0
/*
 * Where records and figures come from: the row that a source fills in.
 *
 * The kernel half and the demos are sources of one interface; everything behind it is
 * shared. (A recorded file is read by the reader child, which feeds the same detectors.)
 * All calls are on the loop.
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

struct source_ops {
	/* "session", "multi", "perf", "demo": what sessions and answers say */
	const char *(*name)(const struct source *source);
	/* Cells and slots of figures, as the kernel half lays them out: see struct figures_source. */
	const struct process_slot *(*slots)(const struct source *source);
	struct figure_cell *(*cells)(const struct source *source);
	uint32_t (*cells_used)(struct source *source); /* 0: what was used cannot be read now */
	int (*slot_release)(struct source *source, uint32_t slot);
	int (*behind)(struct source *source, source_behind_func func, void *data);
	/* Each thread with an account, and once more each that ended since; more than once is no harm. NULL: none has
	 */
	int (*accounts)(struct source *source, source_account_func func, void *data);
	int (*waits)(struct source *source, source_wait_func func, void *data); /* NULL: not known */
	/* Return: how many (the first `room` are written), or -errno */
	int (*in_flight)(struct source *source, struct in_flight_record *ret, size_t room);
	void (*losses)(const struct source *source, uint64_t ret_losses[LOSS_COUNT]);
	uint64_t (*refused)(const struct source *source); /* records that made no sense */
	bool (*measures)(const struct source *source, enum blame_class class);
	/* Its clock, monotonic: a demo that plays faster than life has one that runs faster, and ends at now. */
	uint64_t (*now_ns)(const struct source *source);
	/*
	 * One more wants records from now on; a demo begins to play when it is first told.
	 * NULL: leases say it (probes/lease.h). @is_on: false: figures will do;
	 * @sample_every: one call in N of each thread; 0: none
	 */
	void (*record)(struct source *source, bool is_on, bool all, uint32_t sample_every);
	/* Fetch every record there is now, into the sinks. */
	void (*drain)(struct source *source);
	bool is_invented; /* what it tells did not happen on this machine, whose state explains nothing of it */
	/* No more records after this; memory goes in the loop's turn. */
	void (*close)(struct source *source);
};

/* The first member of every source's own struct. */
struct source {
	const struct source_ops *ops;
};

/** source_measured() - MEASURED(class) of every blame class that it can tell: the others are absent, not zero */
uint16_t source_measured(const struct source *source);

/* What a source tells; NULL members are not told. */
struct source_sinks {
	struct ring_sinks ring;
	void (*on_second)(void *data); /* figures are due: a second has passed on its clock */
};
