// SPDX-License-Identifier: Apache-2.0
/*
 * The calls that workloads make: a row each, with arguments that are known and
 * that no other row uses, so that a tracer's reading of them can be compared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_calls.h"

#define CALLS_POOL 64 /* allocations a caller keeps before it frees the oldest */

/* What one call was given, by meaning; CALL_NO_ARG where it has no such argument. */
#define CALL_NO_ARG UINT64_MAX
struct call_args {
	uint64_t bytes;
	uint64_t pointer; /* of an allocation: what came back */
	uint64_t function;
	uint64_t stream;
	uint64_t event;
	uint64_t copy_kind;
	uint64_t communicator;
	uint64_t rank;
};
#define CALL_NO_ARGS                                                                                                   \
	{                                                                                                              \
		CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG \
	}

/* Who calls: a thread with a stream, two device buffers and one on the host, and what it has allocated. */
struct caller {
	size_t n_bytes; /* of a copy or an allocation */
	cudaStream_t stream;
	cudaEvent_t event; /* made when first needed */
	void *on_device[2];
	void *on_host;
	void *pool[CALLS_POOL];
	unsigned int n_pool;
};

struct call {
	const char *name; /* the export */
	const char *word; /* short form for --mix, NULL for none */
	const char *undo; /* allocates; this call gives back */
	int (*make)(struct caller *caller, struct call_args *args);
};

extern const struct call calls[];
extern const size_t n_calls;

/** calls_find() - by export or by word. Return: a row, or NULL */
const struct call *calls_find(const char *name);
/** calls_next() - the call to make when this one is wanted: its undoing once the caller's pool is full */
const struct call *calls_next(const struct call *wanted, const struct caller *caller);
/**
 * calls_load() - find the functions: at link time in one build of this file, by dlopen in the other
 * @runtime, @driver: file or soname, NULL for libcudart.so.12 and libcuda.so.1; only with dlopen
 * Return: NULL, or what failed
 */
const char *calls_load(const char *runtime, const char *driver);
/**
 * caller_init() - a stream and buffers, by CUDA calls that are counted like all others
 * @has_stream: false for the default stream
 * Return: 0, or the first error code
 */
int caller_init(struct caller *caller, size_t n_bytes, bool has_stream);
