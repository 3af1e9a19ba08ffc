// SPDX-License-Identifier: Apache-2.0
/* The loop's side of the store: packs events into the current batch. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/write/batch.h"
#include "archive/write/known.h"
#include "archive/write/known_stacks.h"
#include "archive/write/life_share.h"
#include "archive/write/store.h"

/* Maximum size of the batch that is filled: half of the queue; the other half is the batch that is written. */
#define INTAKE_BYTES_MAX ((size_t)8 << 20)

/* Number of a process's events of one kind, which are no calls (events/host.h). */
struct intake_host {
	uint32_t process; /* row */
	uint32_t op;
	uint32_t uid;
	uint32_t n;
};

struct intake {
	struct batch *batch;
	struct known known;
	struct known_stacks stacks;
	uint32_t stack_losses; /* deletions of rows that `stacks` has (writer.h) as of the last look */
	struct store_clock clock;
	uint32_t boot;			/* row of table boot: first part of a call's public id */
	bool skips_guarded;		/* as in struct store_options */
	int64_t offset_ns;		/* wall clock minus monotonic clock, in the newest clock row */
	const char *loss_reason;	/* reason of a gap when there is no room: store_queue, disk_full */
	struct life_shares life_shares; /* of processes without calls */
	uint64_t n_lost;		/* events lost for want of room or memory */
	ARRAY(struct intake_host) host; /* events since the last tick; the next tick decides their bucket */
};

void intake_done(struct intake *intake);
void intake_event(struct intake *intake, const struct event *event);
void intake_tick(struct intake *intake, const struct tick *tick);
void intake_gone(struct intake *intake, const struct process_identity *identity, uint64_t gone_ns);
void intake_finding(struct intake *intake, const struct finding *finding);
/** intake_stack() - a stack became ready: write the rows that calls with it wait for */
void intake_stack(struct intake *intake, const struct stack *stack);

/* ---- shared by the files of the intake ---- */

/** intake_gap() - note a loss; @uid: UINT32_MAX: nobody's */
void intake_gap(struct intake *intake, uint64_t from_ns, uint64_t to_ns, const char *reason, uint64_t count,
		uint32_t uid);
/** intake_stack_row() - number of the row of a call's stack. Return: 0: it has none */
uint32_t intake_stack_row(struct intake *intake, const struct event *event);
