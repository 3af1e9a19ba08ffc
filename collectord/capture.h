// SPDX-License-Identifier: Apache-2.0
/*
 * A source of calls with all that belongs to it: the kernel half or a demo, its processes and libraries, and the
 * pipeline behind it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "detect/detector.h"
#include "events/sink.h"
#include "probes/discover.h"
#include "probes/graces.h"
#include "probes/hold.h"
#include "probes/own_cpu.h"
#include "probes/probe_set.h"
#include "procs/loop_time.h"

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
struct budget;

/* Callbacks to the owner of the capture. */
struct capture_events {
	/* Continue a held process. Return: whether a client was asked to */
	bool (*ask)(uint32_t tgid, void *data);
	/* The user for whom this process works, if that is not its own user */
	void (*behind)(uint32_t tgid, struct behind_value *value, void *data);
	void (*library)(const struct target_library *library, void *data); /* a library was attached, or refused */
	void (*exited)(void *data);					   /* a process ended: leases may be over */
	void (*ended)(void *data);					   /* the source ended: the demo is over */
	void (*second)(bool is_watched, void *data);			   /* a second was judged and stored */
};

#define CAPTURE_SINKS_MAX 3 /* sinks beside the detectors */

struct stacks;

struct capture {
	uv_loop_t *loop;
	struct capture_events events;
	void *data;
	struct source *source;	    /* NULL if nothing can be captured: see probes_reason */
	uint64_t source_started_ns; /* on its clock */
	/* Parts of the kernel half alone; NULL with another source. */
	struct probe_set *probes;
	struct target_set *targets;
	struct budget *budget;	 /* NULL: none is kept */
	struct own_cpu *own_cpu; /* likewise */
	struct lease_set *leases;
	char probes_reason[512]; /* why there are no probes, or no better back end; "" if neither */
	bool is_loading;	 /* there is no source yet: it is loaded on request, or at once */
	struct figures *figures; /* NULL without a source, as the next three are */
	struct process_table *processes;
	struct engine *engine;
	struct detector_facts facts; /* of the machine, for advice */
	struct pipeline *pipeline;
	struct child *parser;
	struct stacks *stacks;	      /* NULL without the kernel half */
	struct loop_times loop_times; /* of all users: for stacks, and for requests */
	struct discover discover;
	struct hold hold;
	struct graces graces;
	struct host *host;
	uint64_t settled_ns;
	uint64_t ends_look_until_ns;
};

struct capture_wish {
	double budget;		     /* share of the CPU time of a thread that tracing may take; 0: no limit */
	double own_cpu;		     /* CPUs that records may take; 0: no limit */
	struct own_cpu_store stored; /* what storing them takes */
	uint64_t ring_bytes;	     /* of call records */
	const char *libraries;	     /* file that lists the libraries attached before; NULL: none */
	/* Sinks before the detectors, and after them. Those without ops are left out. */
	struct sink before[CAPTURE_SINKS_MAX], behind[CAPTURE_SINKS_MAX];
};

/** capture_init() - prepare; nothing is captured yet */
void capture_init(struct capture *capture, uv_loop_t *loop, const struct capture_events *events, void *data);
/** capture_load() - the kernel half, which needs privilege. Return: 0; -errno: see probes_reason */
int capture_load(struct capture *capture, const struct probe_set_options *options);
/** capture_uses_perf() - whether the probes that are there are perf events */
bool capture_uses_perf(const struct capture *capture);
/** capture_back_end() - name of the loaded back end; "none" */
const char *capture_back_end(const struct capture *capture);
/**
 * capture_now_ns() - the source's clock. @capture: struct capture, with the type that the archive needs. Return: now
 */
uint64_t capture_now_ns(void *capture);
/** capture_start() - start everything else after capture_load(). Return: 0 or -errno */
int capture_start(struct capture *capture, const struct capture_wish *wish);
/** capture_demo_open() - open a demo as the source. Return: 0 or -errno */
int capture_demo_open(struct capture *capture, const char *demo, double speed);
/** capture_demo_start() - start the pipeline of a demo. Return: 0 or -errno */
int capture_demo_start(struct capture *capture, const struct capture_wish *wish);

/** capture_collect() - bring rings and figures up to now, before an answer is built from them */
void capture_collect(struct capture *capture);
/** capture_settle() - the same, and run the detectors up to now. Return: whether they ran: there is more to store */
bool capture_settle(struct capture *capture);
/** capture_unsettle() - there is more to store since the last capture_settle(): the next one is not too soon after it
 */
void capture_unsettle(struct capture *capture);
/**
 * capture_let_go() - a lease ends: continue the programs held for it while its call can still ask for that
 * Return: whether somebody was told to continue each of them
 */
bool capture_let_go(struct capture *capture, const struct lease *lease);

/** capture_finish() - end the source: its remaining events go to all sinks, and held processes continue */
void capture_finish(struct capture *capture);
/** capture_close() - close; the loop releases its handles in its last turns */
void capture_close(struct capture *capture);
/** capture_done() - release, after these turns; every lease has ended */
void capture_done(struct capture *capture);
