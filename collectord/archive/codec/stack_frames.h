// SPDX-License-Identifier: Apache-2.0
/*
 * The frames of a stack as column stack.frames has them: for each frame, innermost first, the id of its row in table
 * frame and whether it has an address, as one number; then, with an address, the difference to the address before.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define STORED_FRAMES_MAX 1024 /* frames of one stack */

struct stored_frame {
	uint64_t ip; /* address in the process; 0: none */
	uint32_t id; /* row of table frame */
};

/** stack_frames_encode() - append the frames, at most STORED_FRAMES_MAX. Return: 0 or -ENOMEM */
int stack_frames_encode(const struct stored_frame *frames, size_t n, struct buf *out);
/** stack_frames_decode() - @ret: room for STORED_FRAMES_MAX. Return: number of frames; -EBADMSG for damage */
ssize_t stack_frames_decode(const void *data, size_t n, uint32_t crc, struct stored_frame *ret);
