// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that the kernel half stopped until the libraries they loaded are attached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/array.h"

struct lease;
struct life_record;
struct target_set;

struct held_process {
	uint32_t tgid;
	uint64_t start_boot_ns; /* of the process; 0: not known */
	uint64_t stop;		/* that it stands still since: no two are the same */
	uint32_t n;		/* scans of this stop that must end before it goes on */
	uint32_t n_looks;
	uint32_t n_seconds; /* turns of the loop, a second apart, that it was held for */
	bool is_still;	    /* it was seen to stand still, so it has told of everything */
	bool is_let_go;	    /* somebody was told to let it go on; it is forgotten when /proc says that it does */
};

struct hold_events {
	/* Let it go on, where we have not the right to signal. Return: whether anybody was asked */
	bool (*ask)(uint32_t tgid, void *data);
	void (*drain)(void *data); /* fetch every record there is */
};

struct hold {
	struct target_set *targets; /* borrowed */
	struct hold_events events;
	void *data;
	bool is_open;
	uv_timer_t timer;
	uv_timer_t second_timer; /* while any is held */
	ARRAY(struct held_process) held;
	uint64_t n_stops; /* until now */
};

/** hold_open() - @data: of events, which may be asked once a library was told of */
void hold_open(struct hold *hold, uv_loop_t *loop, struct target_set *targets, const struct hold_events *events,
	       void *data);
/** hold_library() - a process has loaded a library: look at it, and let the process go on then if it is held */
void hold_library(struct hold *hold, const struct life_record *life);
/** hold_second() - once a second while any is held, by itself: nobody is held for good */
void hold_second(struct hold *hold);
/** hold_end() - a lease ends: what it holds goes on, while its caller can still be asked to let it */
void hold_end(struct hold *hold, const struct lease *lease);
/** hold_release() - everybody goes on now; fine when it was never opened */
void hold_release(struct hold *hold);
void hold_done(struct hold *hold);
