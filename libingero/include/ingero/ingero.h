// SPDX-License-Identifier: Apache-2.0
/*
 * libingero: talk to ingero-collectord.
 *
 * A connection gives a descriptor, the events it waits for and a function to
 * call when they come, so it fits any loop; ingero_call() is the synchronous
 * helper. The library never prints, never exits, installs no signal handler.
 * Messages are the generated ones of ingero/v1/ingero.proto.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ingero/v1/ingero.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INGERO_PUBLIC __attribute__((visibility("default")))

struct ingero;	      /* a connection */
struct ingero_stream; /* a call with several replies */

struct ingero_options {
	const char *socket_path; /* NULL: /run/ingero.sock */
	/* start a private daemon on a socket pair; it ends with the connection, or with the thread that opened it */
	bool private_daemon;
	const char *daemon_path;	/* its executable; NULL: beside the caller's, then the installed one */
	const char *const *daemon_args; /* its further arguments, NULL-terminated; NULL: none */
	/* run it as this user (root's clients only), with that user's rights; otherwise as the client's user */
	bool has_daemon_user;
	uid_t daemon_uid;
	gid_t daemon_gid;
	/* root acts for this user, with the view of that user and these groups; administration stays root's */
	bool has_on_behalf_of;
	uid_t on_behalf_of;
	const gid_t *on_behalf_of_gids;
	size_t n_on_behalf_of_gids;
	const char *program; /* name and version of the client */
};

/**
 * ingero_find_daemon() - find the executable of private daemons
 * Return: 0; -ENOENT with one sentence in error; -ENAMETOOLONG
 */
INGERO_PUBLIC int ingero_find_daemon(char *path, size_t path_bytes, char *error, size_t error_bytes);

/**
 * ingero_open() - connect and greet
 * @error: at least 512 bytes; one sentence for people on failure
 * Return: 0; -ENOENT (nothing serves there), -EACCES (not allowed), -EPROTO (another version, or not our daemon),
 * -EAGAIN (too busy, or too many connections), -EPIPE (a private daemon that ended at once), -errno
 */
INGERO_PUBLIC int ingero_open(const struct ingero_options *options, char *error, size_t error_bytes,
			      struct ingero **ret_ingero);
/**
 * ingero_close() - end all calls and the connection; waits for the end of a private daemon
 *
 * Running streams end with -ECANCELED. Not from within a callback; NULL is fine.
 */
INGERO_PUBLIC void ingero_close(struct ingero *ingero);
/** ingero_hello() - the daemon's answer to the greeting, valid as long as the connection */
INGERO_PUBLIC const Ingero__V1__HelloReply *ingero_hello(const struct ingero *ingero);
/** ingero_daemon_pid() - process id of the daemon that answers */
INGERO_PUBLIC pid_t ingero_daemon_pid(const struct ingero *ingero);
/** ingero_last_error() - sentence of the last failure on this connection, "" without one */
INGERO_PUBLIC const char *ingero_last_error(const struct ingero *ingero);

/** ingero_why() - why a call returned @r: the sentence of the last failure, or the text of errno */
INGERO_PUBLIC const char *ingero_why(const struct ingero *ingero, int r);

/**
 * ingero_call() - send a request and wait for the one reply
 * @method:  "ingero.v1.Query.Status"
 * @deadline_ms: 0: 10 s
 * @ret_reply: free with protobuf_c_message_free_unpacked()
 * Return: 0; -EREMOTEIO when the daemon refused (sentence in ingero_last_error(), code in ingero_last_code());
 * -EMSGSIZE when the answer has several messages, for ingero_stream_start() (those of Operations only if the request
 * has in_pieces); -ETIMEDOUT; -EPIPE when the daemon is gone; -errno
 */
INGERO_PUBLIC int ingero_call(struct ingero *ingero, const char *method, const ProtobufCMessage *request,
			      uint32_t deadline_ms, ProtobufCMessage **ret_reply);
/** ingero_last_code() - enum call_error of the last refusal (docs/protocol.md), 0 without one */
INGERO_PUBLIC uint32_t ingero_last_code(const struct ingero *ingero);

/**
 * typedef ingero_reply_func - one message of a stream; it is released after the call
 */
typedef void (*ingero_reply_func)(struct ingero_stream *stream, const ProtobufCMessage *reply, void *data);
/**
 * typedef ingero_end_func - a stream has ended; it must not be used afterwards
 * @r: 0 (ended), -ECANCELED, -EREMOTEIO (refused or failed: ingero_last_error()), -EPIPE (daemon gone)
 */
typedef void (*ingero_end_func)(struct ingero_stream *stream, int r, void *data);

/**
 * ingero_stream_start() - begin a call with several replies
 * @on_reply, @on_end: may be NULL; they may call, start and stop on the same connection
 * @ret_stream: may be NULL; valid until on_end
 * Return: 0, or -errno with its sentence in ingero_last_error(); then no callback comes
 */
INGERO_PUBLIC int ingero_stream_start(struct ingero *ingero, const char *method, const ProtobufCMessage *request,
				      ingero_reply_func on_reply, ingero_end_func on_end, void *data,
				      struct ingero_stream **ret_stream);
/**
 * ingero_stream_stop() - ask the daemon to finish: a Trace still sends its summary, then ends; a second stop ends at
 * once
 */
INGERO_PUBLIC int ingero_stream_stop(struct ingero_stream *stream);

/**
 * typedef ingero_take_func - one message; it is released after the call
 * Return: 0, or -errno to stop the stream
 */
typedef int (*ingero_take_func)(const ProtobufCMessage *reply, void *data);
/**
 * ingero_read() - start a call and take its messages until it ends
 *
 * The daemon sends only as much as the messages taken leave room for: a slow reader costs no memory.
 *
 * Return: 0; the value that `take` returned; else as ingero_call(), with the sentence in ingero_last_error()
 */
INGERO_PUBLIC int ingero_read(struct ingero *ingero, const char *method, const ProtobufCMessage *request,
			      ingero_take_func take, void *data);

/* For loops: wait for `events` (poll(2)) on the descriptor, then call process. */
INGERO_PUBLIC int ingero_fd(const struct ingero *ingero);
INGERO_PUBLIC short ingero_events(const struct ingero *ingero);
/**
 * ingero_process() - read and write without blocking, call callbacks. Return: 0, or -EPIPE when the connection is over
 */
INGERO_PUBLIC int ingero_process(struct ingero *ingero);

#ifdef __cplusplus
}
#endif
