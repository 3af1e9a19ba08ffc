// SPDX-License-Identifier: Apache-2.0
/*
 * One call of one client, as its handler sees it.
 *
 * A handler replies or fails exactly once; in Trace it replies any number of times
 * and then ends or fails. Handlers have the prototypes that protoc-c generates for
 * the services; `closure` is rpc_reply() in disguise and `closure_data` the call.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

struct call;

/* On the wire; numbers are given once. 0 is success. */
enum call_error {
	CALL_OK = 0,
	CALL_ERROR_PROTOCOL = 1, /* frame, envelope or body makes no sense */
	CALL_ERROR_VERSION = 2,
	CALL_ERROR_UNKNOWN_METHOD = 3,
	CALL_ERROR_NOT_ALLOWED = 4,
	CALL_ERROR_NOT_FOUND = 5, /* also what may not be seen */
	CALL_ERROR_INVALID = 6, /* an argument; the text names it */
	CALL_ERROR_QUOTA = 7,
	CALL_ERROR_DEADLINE = 8,
	CALL_ERROR_CANCELLED = 9,
	CALL_ERROR_UNAVAILABLE = 10, /* the daemon cannot do this here; the text says why and the way out */
	CALL_ERROR_INTERNAL = 11,
};

/* Who is calling, asked of the kernel once at accept; on_behalf_of is applied to it. */
struct call_identity {
	uint32_t uid; /* whose processes are "own" */
	uint32_t peer_pid;
	bool is_admin; /* may change machine-wide settings */
	bool can_read_all;
};
const struct call_identity *call_identity(const struct call *call);

/** call_reply() - send one message. Return: 0, or -ENOBUFS when the client's queue is full (nothing was queued) */
int call_reply(struct call *call, const ProtobufCMessage *message);
/** call_end() - a streaming call is over, successfully */
void call_end(struct call *call);
/** call_fail() - the call is over; the text is one sentence for people */
void call_fail(struct call *call, enum call_error code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/**
 * call_on_close() - hear once that a streaming call is over from outside: cancelled,
 * deadline passed, connection gone. Not called after call_end() or call_fail().
 */
typedef void (*call_close_func)(struct call *call, void *data);
void call_on_close(struct call *call, call_close_func func, void *data);
/** call_can_reply() - whether the client has credit and room for another message */
bool call_can_reply(const struct call *call);
/** call_on_drain() - hear each time that becomes true again */
typedef void (*call_drain_func)(struct call *call, void *data);
void call_on_drain(struct call *call, call_drain_func func, void *data);
