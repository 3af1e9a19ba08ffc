// SPDX-License-Identifier: Apache-2.0
/*
 * Runs every detector of list.h, and keeps the findings.
 *
 * It is fed tick by tick and call by call, in order of time. Live data and data from a file are the same to it, so both
 * give the same findings. Nothing here blocks or depends on receivers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "detect/detector.h"
#include "detect/finding.h"
#include "events/sink.h"
#include "figures/tick.h"

struct engine;

enum engine_change { ENGINE_OPENED, ENGINE_UPDATED, ENGINE_CLOSED };

/** typedef engine_finding_func - @finding: borrowed; UPDATED is reported when a visible field has changed */
typedef void (*engine_finding_func)(const struct finding *finding, enum engine_change change, void *data);

/* How it is doing. */
struct engine_counts {
	size_t processes;	      /* remembered now */
	uint64_t open;		      /* open findings */
	uint64_t found;		      /* ever */
	uint64_t forgotten_processes; /* forgotten for lack of room: the process quiet for longest */
	uint64_t forgotten_findings;  /* closed findings beyond a limit: a return is not recognised */
	uint64_t refused_findings;    /* conditions beyond the limit of a process or of its user */
};

int engine_new(const struct process_table *table, engine_finding_func func, void *data, struct engine **ret_engine);
void engine_free(struct engine *engine);
/** engine_set_facts() - data of the machine, for advice; without it all is unknown */
void engine_set_facts(struct engine *engine, const struct detector_facts *facts);
void engine_counts(const struct engine *engine, struct engine_counts *ret_counts);
/** engine_call() - take a recorded call; calls that ended before a tick come before it */
void engine_call(struct engine *engine, const struct event *event);
/** engine_host() - take an event of the host; likewise */
void engine_host(struct engine *engine, const struct event *event);
/** engine_sink() - the sink that feeds it */
struct sink engine_sink(struct engine *engine);
/** engine_tick() - run the detectors. Return: 0 or -ENOMEM (the tick is skipped) */
int engine_tick(struct engine *engine, const struct tick *tick);
/** engine_finish() - the source has ended: close what is open */
void engine_finish(struct engine *engine, uint64_t now_ns);
