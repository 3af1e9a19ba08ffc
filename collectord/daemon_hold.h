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
struct source;
struct target_set;
struct trace_hub;

struct held_process {
	uint32_t tgid;
	uint64_t stop; /* that it stands still since: no two are the same */
	uint32_t n;    /* scans of this stop that must end before it goes on */
	uint32_t n_looks;
	uint32_t n_seconds; /* turns of the loop, a second apart, that it was held for */
	bool is_still;	    /* it was seen to stand still, so it has told of everything */
	bool is_let_go;	    /* somebody was told to let it go on; it is forgotten when /proc says that it does */
};

struct daemon_hold {
	struct target_set *targets; /* borrowed */
	struct trace_hub *traces;   /* borrowed */
	struct source **source;	    /* borrowed, where the loop's owner keeps it; NULL until it is opened */
	uv_timer_t timer;
	uv_timer_t second_timer; /* while any is held */
	ARRAY(struct held_process) held;
	uint64_t n_stops; /* until now */
};

/** daemon_hold_open() - @source: of the records that tell of libraries; there by the time that one comes */
void daemon_hold_open(struct daemon_hold *hold, uv_loop_t *loop, struct target_set *targets, struct source **source);
/** daemon_hold_library() - a process has loaded a library: look at it, and let the process go on then if it is held */
void daemon_hold_library(struct daemon_hold *hold, const struct life_record *life);
/** daemon_hold_second() - once a second while any is held, by itself: nobody is held for good */
void daemon_hold_second(struct daemon_hold *hold);
/** daemon_hold_end() - a lease ends: what it holds goes on, while its caller can still be asked to let it */
void daemon_hold_end(struct daemon_hold *hold, const struct lease *lease);
/** daemon_hold_release() - everybody goes on now; fine when it was never opened */
void daemon_hold_release(struct daemon_hold *hold);
void daemon_hold_done(struct daemon_hold *hold);
