// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define BLOCK_BYTES 16384

struct arena_block {
	struct arena_block *next;
	size_t room;
	alignas(max_align_t) char data[];
};

void *arena_alloc(struct arena *arena, size_t n)
{
	struct arena_block *block = arena->blocks;
	void *p;

	n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!block || block->room - arena->used < n) {
		size_t room = MAX((size_t)BLOCK_BYTES, n);

		block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		block->room = room;
		block->next = arena->blocks;
		arena->blocks = block;
		arena->used = 0;
	}
	p = block->data + arena->used;
	arena->used += n;
	return p;
}

char *arena_copy_text(struct arena *arena, const char *text)
{
	size_t n = strlen(text) + 1;
	char *p = arena_alloc(arena, n);

	if (p)
		memcpy(p, text, n);
	return p;
}

char *arena_copy_name(struct arena *arena, const char *name)
{
	char *p = arena_copy_text(arena, name);

	if (p)
		(void)utf8_scrub(p);
	return p;
}

size_t arena_bytes(const struct arena *arena)
{
	size_t n = 0;

	for (const struct arena_block *block = arena->blocks; block; block = block->next)
		n += sizeof(*block) + block->room;
	return n;
}

void arena_done(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->used = 0;
}
