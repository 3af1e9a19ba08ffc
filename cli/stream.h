// SPDX-License-Identifier: Apache-2.0
/* A call that keeps replying, read to its end by a command that does nothing else. */
#pragma once

#include "ingero/ingero.h"

/**
 * typedef stream_take_func - one message; it is released after the call
 * Return: 0, or -errno to stop the stream
 */
typedef int (*stream_take_func)(const ProtobufCMessage *reply, void *data);

/**
 * stream_read() - start a call and take its messages until it ends
 *
 * The daemon sends no more than what was taken leaves room for: a slow reader of ours
 * makes nothing grow.
 *
 * Return: 0; what `take` returned; else as ingero_call(), with the sentence in ingero_last_error()
 */
int stream_read(struct ingero *ingero, const char *method, const ProtobufCMessage *request, stream_take_func take,
		void *data);
