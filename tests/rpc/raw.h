// SPDX-License-Identifier: Apache-2.0
/*
 * A client that writes bytes, whatever bytes, and a loop turned by hand: server and client
 * are one thread, so that what has happened is known and nothing waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/frame.h"
#include "toy.h"

struct raw {
	struct toy *toy;
	int fd;
	struct buf in;	    /* received, not yet looked at */
	bool is_closed;	    /* by the server */
	bool holds_reading; /* leave what the server sends in the socket */
};

/* The clocks of the server under test, turned by the test: the time, and what the loop has spent of it. */
extern uint64_t raw_now_ns, raw_spent_ns;

/* raw_open() - a connected client that has not said anything */
void raw_open(struct raw *raw, struct toy *toy);
/* raw_open_greeted() - one whose Hello was answered; streams from 2 on are free */
void raw_open_greeted(struct raw *raw, struct toy *toy);
void raw_close(struct raw *raw);

void raw_send(struct raw *raw, const void *data, size_t n);
void raw_send_frame(struct raw *raw, enum frame_type type, uint32_t stream, const void *body, size_t n);
void raw_send_request(struct raw *raw, uint32_t stream, const char *method, uint32_t deadline_ms, const void *message,
		      size_t n);
void raw_send_hello(struct raw *raw, uint32_t major);
void raw_send_credit(struct raw *raw, uint32_t stream, uint32_t n_bytes);
/* raw_send_operation() / raw_send_trace() - requests to the toy */
void raw_send_operation(struct raw *raw, uint32_t stream, uint32_t deadline_ms, enum toy_operation operation);
void raw_send_trace(struct raw *raw, uint32_t stream, enum toy_trace kind, uint32_t n_pieces, uint32_t piece_bytes);

/* raw_settle() - turn the loop until neither side has anything left to do */
void raw_settle(struct raw *raw);

/* What the server said next. A frame's body is valid until the next call. */
enum raw_next { RAW_NOTHING, RAW_FRAME, RAW_CLOSED, RAW_NONSENSE };
enum raw_next raw_next(struct raw *raw, struct frame *ret_frame);

/* raw_expect_end() - the next frame is the END of this stream with this code; others are failures */
void raw_expect_end(const char *name, struct raw *raw, uint32_t stream, uint32_t code);
/* raw_expect_reply() - the next frame is a REPLY on this stream */
void raw_expect_reply(const char *name, struct raw *raw, uint32_t stream);
void raw_expect_closed(const char *name, struct raw *raw);
void raw_expect_nothing(const char *name, struct raw *raw);
