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
	uint64_t start_boot_ns; /* start of the process; 0: unknown */
	uint64_t stop;		/* unique number of the current stop */
	uint32_t n;		/* scans of this stop that must end before the process is resumed */
	uint32_t n_looks;
	uint32_t n_seconds; /* ticks of the one-second timer since it was held */
	bool is_still;	    /* it was seen stopped: all its records are on the ring */
	bool is_let_go;	    /* it is to resume; the entry is removed when /proc shows that it runs */
	bool is_told;	    /* it was signalled, or its caller was asked to signal it */
};

struct hold_events {
	/* Ask a client to resume the process if we may not signal it. Return: whether a client was asked */
	bool (*ask)(uint32_t tgid, void *data);
	void (*drain)(void *data); /* process every record on the rings */
};

struct hold {
	struct target_set *targets; /* borrowed */
	struct hold_events events;
	void *data;
	bool is_open;
	uv_timer_t timer;
	uv_timer_t second_timer; /* runs while a process is held */
	ARRAY(struct held_process) held;
	uint64_t n_stops; /* number of stops so far */
};

/** hold_open() - start. @data: argument of @events, which are called after the first hold_library() */
void hold_open(struct hold *hold, uv_loop_t *loop, struct target_set *targets, const struct hold_events *events,
	       void *data);
/** hold_library() - a process has loaded a library: scan it, and then resume the process if it is held */
void hold_library(struct hold *hold, const struct life_record *life);
/** hold_second() - resume processes held too long; called by a timer once a second while any is held */
void hold_second(struct hold *hold);
/**
 * hold_end() - a lease ends: resume the processes that it holds, while its caller can still be asked to signal them
 * Return: whether each of them was signalled, or the caller was asked to
 */
bool hold_end(struct hold *hold, const struct lease *lease);
/** hold_release() - resume all held processes; allowed if it was never opened */
void hold_release(struct hold *hold);
void hold_done(struct hold *hold);
