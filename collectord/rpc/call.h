// SPDX-License-Identifier: Apache-2.0
/*
 * One call of one client, as its handler sees it.
 *
 * A handler replies or fails exactly once; that of a stream replies any number of times and then
 * ends or fails.
 *
 * A handler may answer later: it keeps the call and returns. The request itself is
 * gone by then. A call is gone after its last answer and must not be touched again.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h" /* enum call_error */
#include "rpc/quota.h"	 /* enum quota_need */

struct call;

/* The caller, read from the kernel at accept; on_behalf_of is applied. */
struct call_identity {
	uint32_t uid; /* owner of "own" processes */
	uint32_t peer_pid;
	bool can_read_all;
	bool can_show_all; /* may use `--all`, so answers name the number and owners of processes left out */
	bool is_elsewhere; /* its /proc has other processes than the daemon's: their names are hidden from it */
};
const struct call_identity *call_identity(const struct call *call);

/**
 * call_reply() - send one message
 *
 * A method with one reply is complete when this returns 0. On an error nothing was queued and the call continues: fail
 * it, or try again.
 *
 * Return: 0, -ENOBUFS (no credit or no room: call_on_drain() calls back), -EMSGSIZE (larger than a frame: send it in
 * pieces), -ENOMEM, or -EPIPE (the client is gone, and this handler has no call_on_close())
 */
int call_reply(struct call *call, const ProtobufCMessage *message);
/** call_answer() - call_reply() for a handler with one reply that cannot handle its failure: the call fails then */
void call_answer(struct call *call, const ProtobufCMessage *message);
/** call_reply_packed() - call_reply() with a packed message of the method's type. Return: as call_reply() */
int call_reply_packed(struct call *call, const void *bytes, size_t n);
/** call_end() - end a streaming call successfully */
void call_end(struct call *call);
/** call_fail() - end the call; the text is one sentence for people */
void call_fail(struct call *call, enum call_error code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/**
 * call_on_close() - set a function that is called once when the call ends from outside: cancelled, deadline passed,
 * connection gone. Not called after call_end() or call_fail(). When func returns, the call no longer exists. Without it
 * a handler answers as if nothing had happened, and its answer is dropped.
 */
typedef void (*call_close_func)(struct call *call, void *data);
void call_on_close(struct call *call, call_close_func func, void *data);
/**
 * call_on_stop() - set a function that is called once when the client asks a streaming call to finish: send the rest,
 * then call_end(). It ends as cancelled if that takes longer than CALL_STOP_NS. Without it a stop is a cancel, for
 * which call_on_close() is called.
 */
#define CALL_STOP_NS 10000000000ull
typedef void (*call_stop_func)(struct call *call, void *data);
void call_on_stop(struct call *call, call_stop_func func, void *data);
/** call_can_reply() - whether the client has credit and room for another message */
bool call_can_reply(const struct call *call);
/** call_on_drain() - set a function that is called each time this becomes true again */
typedef void (*call_drain_func)(struct call *call, void *data);
void call_on_drain(struct call *call, call_drain_func func, void *data);

/**
 * call_park() - from the handler, at once: server_resume() calls it again with the same request
 * Meanwhile the call can be cancelled, and its deadline continues.
 * Return: false without memory
 */
bool call_park(struct call *call);

/**
 * call_begin_lease() - charge its user with a lease, until the call ends. Return: whether the user may have one more
 */
bool call_begin_lease(struct call *call);
/** call_keep() - charge its user with the bytes of figures that this call keeps, instead of what it kept so far */
void call_keep(struct call *call, size_t n_bytes);
/** call_may_keep() - whether this call may copy more figures, as quota_may_keep() */
bool call_may_keep(const struct call *call, enum quota_need need);
/**
 * call_must_wait() - whether its user has used more than a fair share of the loop's time while other users are
 * connected For work started by timers; requests wait by themselves.
 */
bool call_must_wait(const struct call *call);
/** call_charge() - charge its user for the time since since_ns, by clock_spent_ns(), outside of a request */
void call_charge(struct call *call, uint64_t since_ns);
