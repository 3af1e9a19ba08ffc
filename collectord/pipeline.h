// SPDX-License-Identifier: Apache-2.0
/*
 * The way of the data behind a source, in one direction: events, and the difference that each second makes to the
 * figures, go down a list of sinks. Who a process is and which operation it called is looked up here, once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "events/sink.h"

struct event;
struct figures;
struct finding;
struct host_event;
struct pipeline;
struct process_table;
struct source;

#define PIPELINE_SINKS_MAX 8

struct pipeline_options {
	struct source *source;
	struct process_table *processes;
	struct sink sinks[PIPELINE_SINKS_MAX]; /* in order, the rest NULL */
	/* Says whose work such a process does where that is not its own user's; NULL: always its own's */
	void (*on_behind)(uint32_t tgid, struct behind_value *value, void *data);
	void *data;
};

/** pipeline_new() - what options name is borrowed as long as the pipeline. Return: 0 or -errno */
int pipeline_new(const struct pipeline_options *options, struct pipeline **ret_pipeline);
void pipeline_free(struct pipeline *pipeline);
/** pipeline_figures() - as last collected */
struct figures *pipeline_figures(struct pipeline *pipeline);

/** pipeline_call() - a record that the source gave */
void pipeline_call(struct pipeline *pipeline, const struct call_record *call);
/** pipeline_host() - a record of life, and what it is to people, whose process is given back */
void pipeline_host(struct pipeline *pipeline, const struct host_event *host, const struct life_record *life);
/** pipeline_drained() - the source has given all it had for now */
void pipeline_drained(struct pipeline *pipeline);
/** pipeline_finding() - what one of the sinks has found */
void pipeline_finding(struct pipeline *pipeline, const struct finding *finding);
/** pipeline_collect() - bring records and figures up to now, for an answer; the tick goes on as it was */
void pipeline_collect(struct pipeline *pipeline);
/**
 * pipeline_tick() - about once a second, by the source's clock
 * @is_watched: somebody captures. Once nobody does any more, what is open is closed and figures of what is gone are
 *              forgotten.
 */
void pipeline_tick(struct pipeline *pipeline, bool is_watched);
/** pipeline_finish() - the source has ended: a last tick, and every finding closed */
void pipeline_finish(struct pipeline *pipeline);
