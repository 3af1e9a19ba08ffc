// SPDX-License-Identifier: Apache-2.0
/*
 * Many small allocations with one release: replies with repeated fields are built in an arena and released after
 * packing.
 */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used; /* used bytes of the newest block */
};

#define ARENA_INIT                                                                                                     \
	{                                                                                                              \
		.blocks = NULL                                                                                         \
	}

/** arena_alloc() - allocate n zeroed bytes, aligned for any type. Return: NULL without memory */
void *arena_alloc(struct arena *arena, size_t n);
/** arena_copy_text() - copy a text. Return: NULL without memory */
char *arena_copy_text(struct arena *arena, const char *text);
/** arena_copy_name() - copy a name that its owner chose, as utf8_scrub() leaves it. Return: NULL without memory */
char *arena_copy_name(struct arena *arena, const char *name);
/** arena_bytes() - memory that the arena holds */
size_t arena_bytes(const struct arena *arena);
void arena_done(struct arena *arena);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_NEW_N(arena, type, n) ((type *)arena_alloc((arena), sizeof(type) * (n)))
