// SPDX-License-Identifier: Apache-2.0
/*
 * The numbers by which Ingero's files call sources and operations: to read them, and to
 * write files that its users' tools can read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ingero_source_id {
	INGERO_CUDA = 1,
	INGERO_HOST = 3,
	INGERO_DRIVER = 4,
	INGERO_IO = 5,
	INGERO_TCP = 6,
	INGERO_NET = 7,
	INGERO_GRAPH = 8,
	INGERO_NCCL = 9,
};

enum ingero_host_op { INGERO_EXEC = 5, INGERO_EXIT = 6, INGERO_FORK = 7 };

struct ingero_source {
	int64_t id;
	const char *name;     /* here */
	const char *label;    /* in table sources */
	const char *prefix;   /* of operations known by number alone */
	const char *describe; /* a few words */
};

struct ingero_op {
	int64_t source, id;
	const char *name;
};

extern const struct ingero_source ingero_sources[];
extern const size_t ingero_source_count;
extern const struct ingero_op ingero_ops[];
extern const size_t ingero_op_count;
