// SPDX-License-Identifier: Apache-2.0
/*
 * A call with everything the daemon knows of it, as sinks get it.
 *
 * Sources make events; the store keeps them, detectors look at them, streams show
 * them. The call itself is the kernel half's record, untouched.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "procs/process_table.h"

struct op;

#define MEASURED(class) ((uint16_t)(1u << (class)))

struct event {
	const struct call_record *call; /* .slot and .pad mean nothing behind the source */
	struct process *process;	/* borrowed: who keeps it takes a reference */
	const struct op *op;
	uint16_t measured;		/* MEASURED(class): what this source can tell; absent is not zero */
	const struct life_record *life; /* of an event of the host; NULL: a call */
};

/* Why a call was kept, by the bit of enum record_reason: the lowest first. */
#define EVENT_REASONS 6
extern const char *const event_reason_names[EVENT_REASONS];
