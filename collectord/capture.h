// SPDX-License-Identifier: Apache-2.0
/*
 * Where calls come from, and what they pass: the kernel half or a demo, the processes and libraries it is about, and
 * the way of the data behind it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "events/sink.h"
#include "probes/discover.h"
#include "probes/hold.h"
#include "probes/probe_set.h"

struct child;
struct engine;
struct figures;
struct host;
struct lease;
struct lease_set;
struct pipeline;
struct process_table;
struct source;
struct target_library;
struct target_set;

/* What is asked of, and told to, whoever starts it. */
struct capture_events {
	/* Let a held process go on. Return: whether anybody was asked */
	bool (*ask)(uint32_t tgid, void *data);
	/* Whose work such a process does, where that is not its own user's */
	void (*behind)(uint32_t tgid, struct behind_value *value, void *data);
	void (*library)(const struct target_library *library, void *data); /* attached, or refused */
	void (*exited)(void *data);					   /* a process: leases may be over */
	void (*ended)(void *data);					   /* the source: a demo was played */
	void (*second)(bool is_watched, void *data);			   /* a second was judged and kept */
};

#define CAPTURE_SINKS_MAX 3 /* besides the detectors */

struct capture {
	uv_loop_t *loop;
	struct capture_events events;
	void *data;
	struct source *source;	    /* NULL where nothing can be captured: see probes_reason */
	uint64_t source_started_ns; /* on its clock */
	/* What only the kernel half has; NULL under another source. */
	struct probe_set *probes;
	struct target_set *targets;
	struct lease_set *leases;
	char probes_reason[512]; /* why not, or why no better back end is used; "" if neither */
	bool is_loading;	 /* there is no source yet: it comes when somebody asks, or at once */
	struct figures *figures; /* NULL without a source, as are the next three */
	struct process_table *processes;
	struct engine *engine;
	struct pipeline *pipeline;
	struct child *parser;
	struct discover discover;
	struct hold hold;
	struct host *host;
	uint64_t settled_ns;
};

struct capture_wish {
	uint64_t ring_bytes;   /* of call records */
	const char *libraries; /* file with the libraries that were attached before; NULL: none is remembered */
	/* Who gets what comes: before the detectors, and behind them. Those without ops are left out. */
	struct sink before[CAPTURE_SINKS_MAX], behind[CAPTURE_SINKS_MAX];
};

/** capture_init() - nothing is captured yet */
void capture_init(struct capture *capture, uv_loop_t *loop, const struct capture_events *events, void *data);
/** capture_load() - the kernel half, which needs privilege. Return: 0; -errno: see probes_reason */
int capture_load(struct capture *capture, enum probe_back_end back_end, uint64_t ring_bytes);
/** capture_uses_perf() - whether the probes that are there are perf events */
bool capture_uses_perf(const struct capture *capture);
/** capture_back_end() - name of the probes that are there; "none" */
const char *capture_back_end(const struct capture *capture);
/** capture_now_ns() - @capture: struct capture, as the archive has it. Return: now, by the source's clock */
uint64_t capture_now_ns(void *capture);
/** capture_start() - all that is left to do once the kernel half is there. Return: 0 or -errno */
int capture_start(struct capture *capture, const struct capture_wish *wish);
/** capture_demo_open() - a demo as the source. Return: 0 or -errno */
int capture_demo_open(struct capture *capture, const char *demo, double speed);
/** capture_demo_start() - and what it passes. Return: 0 or -errno */
int capture_demo_start(struct capture *capture, const struct capture_wish *wish);

/** capture_is_watched() - whether anybody wants what is captured */
bool capture_is_watched(const struct capture *capture);
/** capture_collect() - bring rings and figures up to now, before an answer is built from them */
void capture_collect(struct capture *capture);
/** capture_settle() - the same, and what was found up to now is judged. Return: whether it was: there is more to keep
 */
bool capture_settle(struct capture *capture);
/** capture_let_go() - a lease ends: programs that are held for it go on, while its call can still ask for that */
void capture_let_go(struct capture *capture, const struct lease *lease);

/** capture_finish() - no source from now on: what it still has goes to all that is open, and who is held goes on */
void capture_finish(struct capture *capture);
/** capture_close() - what the loop holds goes in its last turns */
void capture_close(struct capture *capture);
/** capture_done() - after these; every lease is gone */
void capture_done(struct capture *capture);
