// SPDX-License-Identifier: Apache-2.0
/*
 * A record with all data that the daemon has of it, as sinks get it: a call, or an event of the host.
 *
 * Sources make events; the store stores them, detectors examine them, streams show them. The record is the kernel
 * half's, unchanged.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "procs/process_table.h"

struct op;
struct stack;

#define MEASURED(class) ((uint16_t)(1u << (class)))

struct event {
	/* One of the two (event_header() relies on it); .slot and .share are unused after the source. */
	const struct call_record *call;
	const struct life_record *life; /* an event of the host */
	struct process *process;	/* borrowed: a part that keeps it takes a reference */
	const struct op *op;
	struct stack *stack; /* of a call, borrowed likewise; NULL: none (events/stack.h) */
	uint16_t measured; /* MEASURED(class): classes that this source can measure; absent is not zero */
};

/** event_header() - the common header of its record, whatever its kind */
static inline const struct record_header *event_header(const struct event *event)
{
	assert(!event->life != !event->call);
	return event->life ? &event->life->header : &event->call->header;
}

/** event_bytes_asked() - bytes that a call asked for; 0: its operation has no size */
uint64_t event_bytes_asked(const struct event *event);

/* Reasons of recording, by the bit of enum record_reason: the lowest first. */
#define EVENT_REASONS 6
extern const char *const event_reason_names[EVENT_REASONS];
