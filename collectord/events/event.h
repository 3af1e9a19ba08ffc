// SPDX-License-Identifier: Apache-2.0
/*
 * A record with everything the daemon knows of it, as sinks get it: a call, or what the kernel did to a process.
 *
 * Sources make events; the store keeps them, detectors look at them, streams show
 * them. The record itself is the kernel half's, untouched.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "procs/process_table.h"

struct op;

#define MEASURED(class) ((uint16_t)(1u << (class)))

struct event {
	/* One of the two (event_header() holds to it); .slot and .header_pad mean nothing behind the source. */
	const struct call_record *call;
	const struct life_record *life; /* an event of the host */
	struct process *process;	/* borrowed: who keeps it takes a reference */
	const struct op *op;
	uint16_t measured; /* MEASURED(class): what this source can tell; absent is not zero */
};

/** event_header() - what its record begins with, whatever kind it is */
static inline const struct record_header *event_header(const struct event *event)
{
	assert(!event->life != !event->call);
	return event->life ? &event->life->header : &event->call->header;
}

/* Why a call was kept, by the bit of enum record_reason: the lowest first. */
#define EVENT_REASONS 6
extern const char *const event_reason_names[EVENT_REASONS];
