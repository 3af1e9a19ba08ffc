// SPDX-License-Identifier: Apache-2.0
/*
 * Starts the source of calls with the privilege that it needs: the kernel half at once or later, a demo, or none. The
 * database is opened on the way: a user's own file needs what is given up next.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "archive/write/store.h"
#include "capture.h"
#include "probes/probe_set.h"

struct recording;
struct start_report;
struct tracers;

struct source_options {
	enum probe_back_end back_end;
	bool all_operations;	 /* with perf events, too */
	bool is_late;		 /* a private daemon loads the kernel half as a service does: for its first trace */
	double budget;		 /* share of the CPU time of a thread that tracing may take; 0: no limit */
	double own_cpu;		 /* CPUs that records of a service may take; 0: no limit */
	uint64_t ring_bytes;	 /* of call records; 0: default */
	const char *fault;	 /* serve without capture and give this as the reason; NULL: capture */
	struct store_options db; /* path NULL: nothing is kept */
	const char *read_path;	 /* answer from this file, or several with a NUL between, and capture nothing; NULL:
				    capture */
	size_t read_path_bytes;
	const char *demo; /* play this scenario instead of capturing; NULL: capture */
	double demo_speed;
};

struct source_start_events {
	void (*loaded)(void *data);	   /* a late source is there, or will not be: who waited is answered */
	void (*failed)(int r, void *data); /* while the loop runs; -errno, said */
};

struct source_start {
	const struct source_options *options;
	struct source_start_events events;
	void *data;
	const struct start_report *report;
	uv_loop_t *loop;
	struct capture *capture;
	struct recording *recording;
	struct tracers *tracers;
	uint64_t ring_bytes;
	struct sink before[CAPTURE_SINKS_MAX]; /* set before source_start_begin() */
	bool is_private;
	bool is_stopped;
	struct store *store;	 /* NULL: nothing is kept */
	char store_problem[512]; /* why not, or what was set aside; "" if neither */
	uv_timer_t load_timer;
};

/** source_start_init() - @start: its members from options to recording, is_private and ring_bytes are set */
void source_start_init(struct source_start *start);
/** source_start_begin() - the source now; the kernel half of a service when it is wanted. Return: 0 or -errno, said */
int source_start_begin(struct source_start *start);
/** source_start_must_keep() - whether the client of a private daemon named the file: then no trace runs without it */
bool source_start_must_keep(const struct source_start *start);
/** source_start_load_soon() - load a late source in the loop's next turn */
void source_start_load_soon(struct source_start *start);
/** source_start_load() - load a late source now. Return: 0, also without probes; -errno, said */
int source_start_load(struct source_start *start);
/**
 * source_start_record() - capture whom the configuration names, once the probes are there
 * Return: 0, also when it has begun already; -errno, said
 */
int source_start_record(struct source_start *start);
/** source_start_stop() - load nothing from now on */
void source_start_stop(struct source_start *start);
