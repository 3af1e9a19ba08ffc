// SPDX-License-Identifier: Apache-2.0
/*
 * State of a connection, shared by the files of this directory only.
 *
 * Callbacks may start, stop and call on the same connection. So nothing here holds a pointer into it across a callback:
 * input is consumed before, and streams are looked up again after.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "ingero/ingero.h"
#include "proto/frame.h"

#define ERROR_BYTES 512

/* A private daemon, or none. */
struct private_daemon {
	pid_t pid; /* 0: none */
	int pidfd; /* -1: none */
};
#define PRIVATE_DAEMON_INIT                                                                                            \
	{                                                                                                              \
		.pidfd = -1                                                                                            \
	}

/**
 * private_start() - start a private daemon
 * @ret_fd: our end of the socket pair
 * Return: 0, or -errno with a sentence in error
 */
int private_start(const struct ingero_options *options, char *error, size_t error_bytes, int *ret_fd,
		  struct private_daemon *ret_daemon);
/** private_wait() - reap it if it ends within the time. Return: whether it has, with its wait(2) status */
bool private_wait(struct private_daemon *daemon, int wait_ms, int *ret_status);
/** private_stop() - wait for its end after our end was closed; kill it if that takes too long */
void private_stop(struct private_daemon *daemon, int wait_ms);

struct ingero_stream {
	LIST_ENTRY(ingero_stream) link;
	struct ingero *ingero;
	uint32_t id;
	const ProtobufCMessageDescriptor *output;
	uint32_t taken_bytes; /* bytes of replies since credit was last given */
	ingero_reply_func on_reply;
	ingero_end_func on_end;
	void *data;
	struct sync_call *sync; /* replaces the callbacks */
};

/* A call whose caller waits. */
struct sync_call {
	ProtobufCMessage *reply; /* the last reply */
	unsigned int n_replies;
	bool is_over;
	int r;
};

struct ingero {
	int fd;
	struct private_daemon daemon;
	Ingero__V1__HelloReply *hello;
	char error[ERROR_BYTES];
	uint32_t code;	      /* code of the last refusal */
	int over;	      /* 0, or why the connection is over (-EPIPE) */
	bool is_other;	      /* the peer does not speak the protocol */
	bool is_write_broken; /* the daemon's last bytes are still to be read */
	uint32_t last_stream;
	LIST_HEAD(, ingero_stream) streams;
	struct buf in; /* received bytes; those from in_start on are not yet decoded */
	size_t in_start;
	struct buf out;
};

/** conn_say() - store the sentence of an error. Return: r */
int conn_say(struct ingero *ingero, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
/** conn_fail_other() - the same, because the peer cannot be ingero-collectord; `what` completes "it sent ..." */
int conn_fail_other(struct ingero *ingero, const char *what);
/** conn_wait() - wait for the daemon, until a time of CLOCK_MONOTONIC. Return: 0, -ETIMEDOUT or -errno */
int conn_wait(struct ingero *ingero, uint64_t until_ns);
uint64_t conn_now_ns(void);

/** stream_open() - send a request. Return: 0, or -errno with its sentence stored */
int stream_open(struct ingero *ingero, const char *method, const ProtobufCMessage *request, uint32_t deadline_ms,
		struct ingero_stream **ret_stream);
/** stream_frame() - process a REPLY or END. Return: 0, or -EPIPE when the connection had to be closed */
int stream_frame(struct ingero *ingero, const struct frame *frame);
/** stream_end() - notify its owner and release it */
void stream_end(struct ingero_stream *stream, int r);
