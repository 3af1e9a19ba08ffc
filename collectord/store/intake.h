// SPDX-License-Identifier: Apache-2.0
/*
 * The loop's side of the store: packs what comes into the batch that is being filled.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/batch.h"
#include "store/known.h"
#include "store/store.h"

/* Half of what may wait at most, the other half is being written. */
#define INTAKE_BYTES_MAX ((size_t)8 << 20)

struct intake {
	struct batch *batch;
	struct known known;
	struct store_clock clock;
	uint32_t boot;		 /* in examples' ids */
	int64_t offset_ns;	 /* unix minus monotonic, as the newest clock row says */
	const char *loss_reason; /* what a gap says when there is no room: store_queue, disk_full */
	uint64_t n_lost;
};

void intake_done(struct intake *intake);
void intake_call(struct intake *intake, const struct event *event);
void intake_tick(struct intake *intake, const struct tick *tick);
void intake_finding(struct intake *intake, const struct finding *finding);
void intake_gap(struct intake *intake, uint64_t from_ns, uint64_t to_ns, const char *reason, uint64_t count,
		uint32_t uid);
