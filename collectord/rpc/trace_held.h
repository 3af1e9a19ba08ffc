// SPDX-License-Identifier: Apache-2.0
/*
 * Events of a Trace call that wait for the frames of their stacks. They keep their order: an event behind one that
 * waits waits, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "bpf/record.h"
#include "events/event.h"

#define TRACE_HELD_SLOW 4096 /* events of one call that wait for its client alone; beyond, new ones are lost */
#define TRACE_HELD_MAX 65536 /* events of one call; beyond, the oldest go out without the names of their frames */

struct trace_held_event {
	union {
		struct call_record call;
		struct life_record life;
	};
	bool is_life;
	struct event event; /* process and stack are references */
};

struct trace_held {
	ARRAY(struct trace_held_event) events;
	size_t first; /* those before it went out */
};

/** trace_held_needs() - whether the event must wait */
bool trace_held_needs(const struct trace_held *held, const struct event *event);
/** trace_held_add() - keep it. Return: 0 or -ENOMEM */
int trace_held_add(struct trace_held *held, const struct event *event);
/**
 * trace_held_next() - the oldest event, if it need not wait any more
 * @is_forced: in any case
 * Return: borrowed until trace_held_drop(); NULL: it waits, or there is none
 */
const struct event *trace_held_next(struct trace_held *held, bool is_forced);
/** trace_held_drop() - the oldest event went out */
void trace_held_drop(struct trace_held *held);
size_t trace_held_count(const struct trace_held *held);
size_t trace_held_bytes(const struct trace_held *held);
void trace_held_done(struct trace_held *held);
