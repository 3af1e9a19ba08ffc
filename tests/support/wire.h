// SPDX-License-Identifier: Apache-2.0
/*
 * A client of nothing but bytes, against a daemon that runs: it waits for answers, and keeps every byte
 * it was sent, so that what is in none of them is known.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/frame.h"

struct wire {
	int fd;
	uint32_t stream; /* last used */
	struct buf in;	 /* received, not yet looked at */
};

/* What came on one stream. */
struct wire_answer {
	uint32_t code;
	char text[FRAME_TEXT_MAX + 1];
	struct buf replies; /* REPLY frames with their headers, one behind another */
	size_t n_replies;
	bool is_closed; /* the connection ended first */
};

void wire_answer_done(struct wire_answer *answer);

/** wire_open() - take a connected socket and say hello. Return: whether it was answered */
bool wire_open(struct wire *wire, int fd);
void wire_close(struct wire *wire);

/** wire_send() - all of it. Return: whether the server took it */
bool wire_send(struct wire *wire, const void *data, size_t n);
/** wire_request() - a REQUEST with a packed message, not waiting. Return: its stream, 0 when the server is gone */
uint32_t wire_request(struct wire *wire, const char *method, const void *message, size_t n);
/** wire_receive() - wait for the next frame, whatever it is; valid until the next call. Return: false at the end */
bool wire_receive(struct wire *wire, struct frame *ret_frame);
/** wire_collect() - everything of a stream up to its END, giving credit as it comes; frames of others are dropped */
void wire_collect(struct wire *wire, uint32_t stream, struct wire_answer *ret_answer);
/** wire_ask() - request and collect */
void wire_ask(struct wire *wire, const char *method, const ProtobufCMessage *message, struct wire_answer *ret_answer);

/** wire_next_reply() - walk through the replies of an answer: *at is 0 at first. Return: false after the last */
bool wire_next_reply(const struct wire_answer *answer, size_t *at, struct frame *ret_frame);
