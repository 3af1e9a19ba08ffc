// SPDX-License-Identifier: Apache-2.0
/*
 * libcuda.so.1 as a stand-in: what its parts share. driver.def says which exported
 * name is which function; one file for each kind of thing the interface handles.
 *
 * The device is a clock. A stream is the time at which all work given to it will be
 * done; a kernel adds its time, a copy its bytes over the bandwidth, each beginning
 * when the stream is free. To synchronise is to wait until that time has come.
 * Memory is the host's, kernels do nothing, copies copy.
 *
 * Signatures are written down from the public interface, not from a header, and
 * apart from those that the workloads use, so that the two check each other.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "tests/workloads/standin/standin.h"

/* Functions are called from generated assembly alone, by the names in driver.def. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	ILLEGAL_STATE = 401,
	NOT_FOUND = 500,
	NOT_READY = 600,
	NOT_SUPPORTED = 801,
	CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALIDATED = 901,
	CAPTURE_MERGE = 902,
	CAPTURE_UNMATCHED = 903,
	CAPTURE_UNJOINED = 904,
	CAPTURE_ISOLATION = 905,
	CAPTURED_EVENT = 907,
	CAPTURE_WRONG_THREAD = 908,
};

typedef uint64_t device_ptr;

/* A value that a runtime library keeps with a context, by an address of its own (private.c). */
struct context_value {
	const void *key; /* NULL: free; atomic */
	void *value;
};
#define CONTEXT_VALUES 64u

struct context {
	unsigned int flags;
	unsigned int version; /* of the interface that made it */
	struct context_value values[CONTEXT_VALUES];
};

struct stream {
	uint64_t finish_ns; /* when all its work is done; atomic */
	unsigned int flags;
	int priority;
	bool is_used;
	bool is_loose;	       /* it captures for another stream, which has not waited for it since */
	struct graph *capture; /* what it is given is noted there, and not done; NULL: is done; atomic */
};

struct event {
	uint64_t at_ns; /* when it comes true; 0: never recorded; atomic */
	unsigned int flags;
	bool is_used;
	struct graph *capture;	 /* it was last recorded in a stream that captured; NULL: it was not */
	struct stream *captured; /* that stream */
};

/* One thing that a stream does: a copy, a fill or, of no bytes, a kernel. */
struct graph_work {
	uint64_t time_ns;
	void *to;
	const void *from; /* NULL: elements of that value */
	size_t n;	  /* elements */
	size_t element_bytes;
	unsigned char value[4];
};

#define STREAMS_MAX 4096u
#define EVENTS_MAX 65536u

struct device {
	struct context primary;
	unsigned int primary_uses; /* atomic */
	struct stream legacy;	   /* the default stream */
	struct stream streams[STREAMS_MAX];
	struct event events[EVENTS_MAX];
	uint64_t finish_ns;    /* of all streams; atomic */
	uint64_t memory_bytes; /* that the device has; set at load, so that the rest of this stays zero pages */
	uint64_t memory_used;  /* atomic */
	int capability;	       /* 90 for 9.0 */
	bool is_told;	       /* the notice on stderr; atomic */
};
extern struct device device;

/* The calling thread's context, NULL for none. */
extern __thread struct context *current;

/** give_work() - let a stream be busy for so much longer */
void give_work(struct stream *stream, uint64_t work_ns);
/** stream_work() - do this, or note it where the stream captures. Return: an error code */
int stream_work(struct stream *stream, const struct graph_work *work);
/** stream_refuse_capture() - what cannot be captured is asked of a stream. Return: SUCCESS when it does not capture */
int stream_refuse_capture(struct stream *stream);
/** stream_join_capture() - a stream is to wait for an event, and one of the two captures. Return: an error code */
int stream_join_capture(struct stream *stream, struct event *event);
/** raise_to() - an atomic maximum */
void raise_to(uint64_t *at, uint64_t to);
/** wait_for() - until the time *finish_ns, as the context asks: what it asked for goes before the environment */
void wait_for(const uint64_t *finish_ns, bool is_blocking);
/** stream_find() - of a handle; NULL when it is none of ours
 * @is_per_thread: the default stream is the calling thread's own */
struct stream *stream_find(struct stream *handle, bool is_per_thread);
/** event_find() - of a handle; NULL when it is none of ours */
struct event *event_find(struct event *handle);
/** copy_ns() - time of a copy */
uint64_t copy_ns(size_t n);
