// SPDX-License-Identifier: Apache-2.0
/*
 * The path of data behind a source, in one direction: events, and the difference of the figures of each second, pass an
 * ordered list of sinks. Process and operation of an event are looked up here, once.
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
struct stack;
struct tick;
struct wait_record;

#define PIPELINE_SINKS_MAX 8

struct pipeline_options {
	struct source *source;
	struct process_table *processes;
	struct sink sinks[PIPELINE_SINKS_MAX]; /* in order, the rest NULL */
	/* User for whom a process works, if that is not its own user; NULL: always its own */
	void (*on_behind)(uint32_t tgid, struct behind_value *value, void *data);
	/* Adds to a tick whose its late loads were, of the losses since @from; NULL: nobody knows */
	void (*on_lates)(struct tick *tick, uint64_t from, void *data);
	/* The stack with this id of a call or wait, a reference; NULL: there is none, or nobody knows any */
	struct stack *(*on_stack)(const struct record_header *of, uint64_t id, void *data);
	void *data;
};

/** pipeline_new() - create it; everything in options is borrowed as long as the pipeline. Return: 0 or -errno */
int pipeline_new(const struct pipeline_options *options, struct pipeline **ret_pipeline);
void pipeline_free(struct pipeline *pipeline);
/** pipeline_figures() - figures of the last collection */
struct figures *pipeline_figures(struct pipeline *pipeline);

/** pipeline_call() - pass on a record of the source */
void pipeline_call(struct pipeline *pipeline, const struct call_record *call);
/** pipeline_file() - pass on the path of a file that a process waits for */
void pipeline_file(struct pipeline *pipeline, const struct file_record *file);
/** pipeline_wait() - pass on a wait between calls with its stack */
void pipeline_wait(struct pipeline *pipeline, const struct wait_record *wait);
/** pipeline_stack() - the frames of the stack of an earlier call are known */
void pipeline_stack(struct pipeline *pipeline, struct stack *stack);
/** pipeline_host() - pass on a record of life with its event, whose process is released */
void pipeline_host(struct pipeline *pipeline, const struct host_event *host, const struct life_record *life);
/** pipeline_drained() - the source has delivered all records for now */
void pipeline_drained(struct pipeline *pipeline);
/** pipeline_finding() - pass on a finding of one of the sinks */
void pipeline_finding(struct pipeline *pipeline, const struct finding *finding);
/** pipeline_collect() - bring records and figures up to now, for an answer; the tick continues */
void pipeline_collect(struct pipeline *pipeline);
/**
 * pipeline_tick() - about once a second, by the source's clock
 * @is_watched: a lease is active. After the last one open findings are closed and figures of ended processes are
 *              forgotten.
 */
void pipeline_tick(struct pipeline *pipeline, bool is_watched);
/** pipeline_finish() - the source has ended: a last tick, and every finding closed */
void pipeline_finish(struct pipeline *pipeline);
