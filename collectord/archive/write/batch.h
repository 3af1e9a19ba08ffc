// SPDX-License-Identifier: Apache-2.0
/*
 * Data that the loop hands to the writing thread in one piece: about a second of all kinds of data.
 *
 * The loop fills a batch; then the thread owns the batch until it is committed. Events in a batch are packed already,
 * and processes have their row numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "events/event.h"
#include "events/op.h"
#include "events/stack.h"
#include "procs/subordinate.h"
#include "procs/system_sample.h"
#include "archive/codec/codec.h"
#include "archive/write/number_map.h"

#define BATCH_REASON_BYTES 24
#define BATCH_SHARE_OF_FREE 3 /* as in bpf/shares.h */
#define BATCH_KIND_BYTES 32
#define BATCH_SOURCE_BYTES 16
#define BATCH_GAP_JOIN_NS                                                                                              \
	(2 * NSEC_PER_SEC) /* losses at most this far apart are one gap: ticks are a second apart                      \
			    */

struct batch_tail {
	uint32_t uid;
	uint32_t n;
	uint64_t t0_ns, t1_ns;
	struct stored_event last;
	struct buf data;
};

struct batch_process {
	uint32_t id;
	struct process_identity identity;
	uint64_t first_ns;
	uint64_t gone_ns; /* 0: alive */
};

/* An operation without a row in ops.def: its number differs between files. */
struct batch_op {
	uint32_t id;
	char source[BATCH_SOURCE_BYTES];
	char name[OP_NAME_BYTES];
};

/* Figures of one owner in one bucket. */
struct owner_figures {
	uint32_t uid;
	struct figures_blob blob;
};

struct batch_figures {
	int64_t bucket; /* number of the 10 s since 1970 that contain it */
	uint64_t t0_ns, t1_ns;
	ARRAY(struct owner_figures) owners;
};

struct batch_gap {
	uint64_t t0_ns, t1_ns;
	uint64_t count;
	uint32_t uid; /* UINT32_MAX: all users */
	char reason[BATCH_REASON_BYTES];
};

struct batch_clock {
	uint64_t mono_ns, unix_ns;
};

struct batch_finding {
	uint64_t id;
	uint32_t uid;
	uint32_t process;
	int severity;
	uint64_t start_ns, end_ns;
	char kind[BATCH_KIND_BYTES];
	struct buf data;
};

/* A new row of table stack. */
struct batch_stack {
	uint32_t id;
	uint32_t uid;
	uint64_t last_ns; /* end of the last call with it */
	bool is_guarded;  /* of a guarded process */
	bool is_complete;
	const char *why; /* static */
	size_t n_frames;
	struct stack_frame *frames; /* owned, in one piece with their texts */
};

/* A later call with a stack that has a row. */
struct batch_stack_use {
	uint32_t id;
	uint64_t last_ns;
};

/* What an owner has in a batch. */
struct batch_share {
	uint32_t uid; /* that stands for all which share */
	size_t bytes;
};

struct batch {
	uint64_t now_ns; /* end of the last tick in the batch */
	uint64_t now_unix_ns;
	uint64_t n_events;
	size_t bytes; /* of packed events, findings and stacks */
	ARRAY(struct batch_share) shares;
	struct subordinate together; /* these owners have one share */
	ARRAY(struct batch_tail) tails;
	ARRAY(struct batch_op) ops; /* rows that the file does not have yet */
	ARRAY(struct batch_process) processes;
	struct number_map process_at; /* index in processes, by id */
	ARRAY(struct batch_figures) figures;
	ARRAY(struct batch_gap) gaps;
	ARRAY(struct batch_clock) clocks;
	ARRAY(struct batch_finding) findings;
	ARRAY(struct batch_stack) stacks;
	ARRAY(struct batch_stack_use) stack_uses;
	uint32_t last_stack; /* last number of a stack that was given; 0: unchanged */
	ARRAY(struct system_sample) samples;
	struct buf cost;      /* message ingero.v1.Cost of the session so far, packed; empty: unchanged */
	const char *back_end; /* static, of the session; NULL: unchanged */
};

int batch_new(struct batch **ret_batch);
void batch_free(struct batch *batch);
/**
 * batch_has_room() - whether there is room for more data of an owner, who may have at most BATCH_SHARE_OF_FREE times as
 * much as is free
 * @most: bytes that the batch may have
 */
bool batch_has_room(const struct batch *batch, uint32_t uid, size_t most);
/** batch_grow() - the batch has more data of an owner, packed events for instance */
void batch_grow(struct batch *batch, uint32_t uid, size_t n_bytes);
/** batch_is_urgent() - whether the batch has data that may not wait some seconds */
bool batch_is_urgent(const struct batch *batch);
/** batch_tail() - the open row of an owner. Return: borrowed until the next call, NULL without memory */
struct batch_tail *batch_tail(struct batch *batch, uint32_t uid);
/** batch_add_gap() - add a gap, or extend the newest of the same reason and owner. Return: 0 or -ENOMEM */
int batch_add_gap(struct batch *batch, const struct batch_gap *gap);
/** batch_set_process() - set a process; replaces the entry of its id. Return: 0 or -ENOMEM */
int batch_set_process(struct batch *batch, const struct batch_process *process);
/**
 * batch_take_finding() - set a finding; replaces the entry of its id; on 0 the batch owns @finding's data. Return: 0 or
 * -ENOMEM
 */
int batch_take_finding(struct batch *batch, struct batch_finding *finding);
/**
 * batch_add_stack() - add a copy of a ready stack; @row: everything that the stack does not have. Return: 0 or -ENOMEM
 */
int batch_add_stack(struct batch *batch, const struct batch_stack *row, const struct stack *stack);
/**
 * batch_figures() - figures of a bucket: the last one, extended, if it has this number or the batch is full; else a new
 * one
 * Return: borrowed, NULL without memory
 */
struct batch_figures *batch_figures(struct batch *batch, int64_t bucket, uint64_t from_ns, uint64_t to_ns);
/** batch_owner() - blob of an owner in a bucket. Return: borrowed, NULL without memory */
struct figures_blob *batch_owner(struct batch_figures *figures, uint32_t uid);
/** batch_add_sample() - add a system sample; ten minutes are kept. Return: 0 or -ENOMEM */
int batch_add_sample(struct batch *batch, const struct system_sample *sample);
