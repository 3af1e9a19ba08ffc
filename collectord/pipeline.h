// SPDX-License-Identifier: Apache-2.0
/*
 * The way of the data behind a source, in one direction: calls and figures to the
 * detectors and to the store, what the detectors find to the store and to whoever listens.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "detect/engine.h"

struct event;
struct figures;
struct pipeline;
struct process;
struct process_identity;
struct source;
struct store;

struct pipeline_options {
	struct source *source;
	struct store *store; /* NULL: nothing is kept */
	/* Says whose work such a process does where that is not its own user's; NULL: always its own's */
	void (*on_behind)(uint32_t tgid, struct behind_value *value, void *data);
	void (*on_second)(void *data); /* figures are collected, their recent maxima about to be taken; NULL: nobody */
	engine_finding_func on_finding;
	figures_forget_func on_forget; /* a process that ended, of which no answer tells from now on */
	void *data;
};

/** pipeline_new() - what options name is borrowed as long as the pipeline. Return: 0 or -errno */
int pipeline_new(const struct pipeline_options *options, struct pipeline **ret_pipeline);
void pipeline_free(struct pipeline *pipeline);
/** pipeline_figures() - as last collected */
struct figures *pipeline_figures(struct pipeline *pipeline);

/** pipeline_call() - a record that the source gave */
void pipeline_call(struct pipeline *pipeline, const struct call_record *call);
/** pipeline_process() - the entry of a process. Return: a reference; NULL without memory, which is counted */
struct process *pipeline_process(struct pipeline *pipeline, const struct process_identity *identity);
/** pipeline_host() - an event of the host: .process and .op are set, nothing is measured of it */
void pipeline_host(struct pipeline *pipeline, const struct event *event);
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
