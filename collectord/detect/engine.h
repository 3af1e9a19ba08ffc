// SPDX-License-Identifier: Apache-2.0
/*
 * Runs every detector of list.h over what happens, and keeps the findings.
 *
 * Fed tick by tick and call by call, in order of time. It does not know whether that is
 * live or read from a file, and so finds the same in both. Nothing here blocks or
 * knows who listens.
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

/** typedef engine_finding_func - @finding: borrowed; UPDATED comes when something people see has changed */
typedef void (*engine_finding_func)(const struct finding *finding, enum engine_change change, void *data);

/* How it is doing. */
struct engine_counts {
	size_t processes;	      /* remembered now */
	uint64_t open;		      /* findings that go on */
	uint64_t found;		      /* ever */
	uint64_t forgotten_processes; /* no room: the one quiet for longest went */
	uint64_t forgotten_findings;  /* over, and too many in one process: would not be known again */
	uint64_t refused_findings;    /* in ticks: too many at once in one process */
};

int engine_new(const struct process_table *table, engine_finding_func func, void *data, struct engine **ret_engine);
void engine_free(struct engine *engine);
/** engine_set_facts() - of the machine, for advice; never called: nothing is known */
void engine_set_facts(struct engine *engine, const struct detector_facts *facts);
void engine_counts(const struct engine *engine, struct engine_counts *ret_counts);
/** engine_call() - a kept call; those that ended before a tick come before it */
void engine_call(struct engine *engine, const struct event *event);
/** engine_host() - an event of the host; likewise */
void engine_host(struct engine *engine, const struct event *event);
/** engine_sink() - what feeds it */
struct sink engine_sink(struct engine *engine);
/** engine_tick() - Return: 0 or -ENOMEM (that tick is not looked at) */
int engine_tick(struct engine *engine, const struct tick *tick);
/** engine_finish() - the source has ended: close what is open */
void engine_finish(struct engine *engine, uint64_t now_ns);
