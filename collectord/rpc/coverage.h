// SPDX-License-Identifier: Apache-2.0
/*
 * Coverage of processes and files, and the reasons where it is incomplete. As in answer.h: from the caller's arena, and
 * only rows that the caller may see.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "ingero/v1/ingero.pb-c.h"

struct call_identity;
struct lease;
struct rpc_context;
struct target_library;

/**
 * coverage_library() - make the message of one file. Return: NULL without memory, or if only other users' processes map
 * it
 */
Ingero__V1__Library *coverage_library(const struct rpc_context *context, struct arena *arena,
				      const struct call_identity *identity, const struct target_library *library);

#define COVERAGE_BYTES (384 * 1024) /* one list in an answer of one message: two fit beside all else */

struct coverage_libraries {
	Ingero__V1__Library **items;
	size_t n;
	uint32_t more; /* number left out for lack of room */
};

/**
 * coverage_libraries() - list all files seen for the caller's processes, mapped ones first
 * @most_bytes: size of the list in a message; SIZE_MAX: it is sent in several
 * Return: 0 or -ENOMEM
 */
int coverage_libraries(const struct rpc_context *context, struct arena *arena, const struct call_identity *identity,
		       size_t most_bytes, struct coverage_libraries *ret_libraries);

struct coverage_processes {
	Ingero__V1__CudaProcess **items;
	size_t n;
	uint32_t more; /* number left out for lack of room */
};

/**
 * coverage_processes() - list processes that map CUDA libraries, incompletely covered ones first
 * At most 256, and no more than COVERAGE_BYTES.
 * @lease: only processes that it covers; NULL: everything the identity may see
 * Return: 0 or -ENOMEM
 */
int coverage_processes(const struct rpc_context *context, struct arena *arena, const struct call_identity *identity,
		       const struct lease *lease, struct coverage_processes *ret_processes);
struct coverage_not_shown {
	Ingero__V1__NotShown **items;
	size_t n;
};

/**
 * coverage_not_shown() - number and owners of processes that map CUDA libraries and are left out, by the last scan
 * None for an identity that cannot have them.
 * @lease: what is shown; NULL: everything the identity may see
 * Return: 0 or -ENOMEM
 */
int coverage_not_shown(const struct rpc_context *context, struct arena *arena, const struct call_identity *identity,
		       const struct lease *lease, struct coverage_not_shown *ret_not_shown);
/**
 * coverage_look() - scan the CUDA libraries of all processes that the identity may see, or may know the number of
 * Return: 0, or -errno when the processes cannot be listed
 */
int coverage_look(const struct rpc_context *context, const struct call_identity *identity);
