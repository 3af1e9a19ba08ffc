// SPDX-License-Identifier: Apache-2.0
/* Numbers of sources and operations in Ingero's files: used by import and export. */
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
	const char *name;     /* name in our databases */
	const char *label;    /* name in Ingero's table sources */
	const char *prefix;   /* prefix of the name of an operation that has only a number */
	const char *describe; /* description in table sources */
};

struct ingero_op {
	int64_t source, id;
	const char *name;
};

extern const struct ingero_source ingero_sources[];
extern const size_t ingero_source_count;
extern const struct ingero_op ingero_ops[];
extern const size_t ingero_op_count;
