// SPDX-License-Identifier: Apache-2.0
/*
 * A client at the level of bytes, for a running daemon: it waits for answers and keeps every byte that it got, so that
 * a test can show that data is in none of them.
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
	struct buf in;	 /* received, not yet read */
};

/* Answer on one stream. */
struct wire_answer {
	uint32_t code;
	char text[FRAME_TEXT_MAX + 1];
	struct buf replies; /* REPLY frames with their headers, one after another */
	size_t n_replies;
	bool is_closed; /* the connection ended before the answer */
};

void wire_answer_done(struct wire_answer *answer);

/** wire_open() - take a connected socket and send Hello. Return: whether it was answered */
bool wire_open(struct wire *wire, int fd);
void wire_close(struct wire *wire);

/** wire_send() - send all bytes. Return: whether the server accepted them */
bool wire_send(struct wire *wire, const void *data, size_t n);
/**
 * wire_request() - send a REQUEST with a packed message, without waiting. Return: its stream, 0 if the server is gone
 */
uint32_t wire_request(struct wire *wire, const char *method, const void *message, size_t n);
/** wire_receive() - wait for the next frame of any kind; valid until the next call. Return: false at the end */
bool wire_receive(struct wire *wire, struct frame *ret_frame);
/** wire_collect() - collect a stream up to its END, giving credit as data comes; frames of other streams are dropped */
void wire_collect(struct wire *wire, uint32_t stream, struct wire_answer *ret_answer);
/** wire_ask() - send a request and collect its answer */
void wire_ask(struct wire *wire, const char *method, const ProtobufCMessage *message, struct wire_answer *ret_answer);

/** wire_next_reply() - walk through the replies of an answer: *at is 0 at first. Return: false after the last */
bool wire_next_reply(const struct wire_answer *answer, size_t *at, struct frame *ret_frame);
