// SPDX-License-Identifier: Apache-2.0
/*
 * A source of calls that a test fills in by hand: slots, cells and a clock. It loses and refuses nothing, releases a
 * slot when asked, measures every class of blame, and has neither records nor accounts; a test replaces what it needs
 * in `ops`.
 */
#pragma once

#include "events/source.h"

struct fake_source {
	struct source source; /* first: a source is one of these */
	struct source_ops ops;
	uint64_t now_ns;     /* its clock */
	uint32_t cells_used; /* the first is never used */
	struct process_slot slots[PROCESS_SLOTS];
	struct figure_cell cells[PROCESS_CELLS];
};

static inline struct fake_source *fake_source_of(const struct source *source)
{
	return (struct fake_source *)(uintptr_t)source;
}

/** fake_source_init() - of zeroed memory; no slot and no cell is in use */
void fake_source_init(struct fake_source *fake);
