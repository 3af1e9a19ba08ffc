// SPDX-License-Identifier: Apache-2.0
#include "events/text_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ROOM_FIRST 256 /* a power of two */

struct pooled {
	struct pooled *next; /* in its bucket */
	uint64_t hash;
	size_t n_references;
	char text[];
};

static struct {
	struct pooled **buckets; /* `room` of them */
	size_t n, room;
	uint64_t seed[2]; /* users choose texts, and are not to choose those that share a bucket */
} pool;

static struct pooled *pooled_of(const char *text)
{
	return (struct pooled *)((uintptr_t)text - offsetof(struct pooled, text));
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t pool_hash(const char *text, size_t n)
{
	uint64_t hash = pool.seed[0] ^ n, word;

	for (size_t at = 0; at < n; at += sizeof(word)) {
		size_t here = n - at < sizeof(word) ? n - at : sizeof(word);

		word = 0;
		memcpy(&word, text + at, here);
		hash = fold(hash ^ word, pool.seed[1]);
	}
	return hash;
}

static struct pooled **pool_bucket(uint64_t hash)
{
	return &pool.buckets[hash & (pool.room - 1)];
}

/* Return: false without memory */
static bool pool_grow(void)
{
	struct pooled **old = pool.buckets;
	size_t old_room = pool.room, room = old_room ? 2 * old_room : ROOM_FIRST;
	struct pooled **buckets;

	if (pool.n < old_room)
		return true;
	buckets = calloc(room, sizeof(struct pooled *));
	if (!buckets)
		return false;
	if (!pool.seed[1]) {
		/* Without any, hashes can be guessed, and are right. */
		if (getrandom(pool.seed, sizeof(pool.seed), GRND_NONBLOCK) < 0)
			pool.seed[1] = 0x9e3779b97f4a7c15ull;
		pool.seed[1] |= 1;
	}
	pool.buckets = buckets;
	pool.room = room;
	for (size_t i = 0; i < old_room; i++) {
		while (old[i]) {
			struct pooled *pooled = old[i];

			old[i] = pooled->next;
			pooled->next = *pool_bucket(pooled->hash);
			*pool_bucket(pooled->hash) = pooled;
		}
	}
	free(old);
	return true;
}

const char *text_pool_take(const char *text)
{
	size_t n = strlen(text);
	struct pooled *pooled;
	uint64_t hash;

	if (!pool_grow())
		return NULL;
	hash = pool_hash(text, n);
	for (pooled = *pool_bucket(hash); pooled; pooled = pooled->next)
		if (pooled->hash == hash && strcmp(pooled->text, text) == 0)
			return text_pool_ref(pooled->text);
	pooled = malloc(sizeof(*pooled) + n + 1);
	if (!pooled)
		return NULL;
	pooled->hash = hash;
	pooled->n_references = 1;
	memcpy(pooled->text, text, n + 1);
	pooled->next = *pool_bucket(hash);
	*pool_bucket(hash) = pooled;
	pool.n++;
	return pooled->text;
}

const char *text_pool_ref(const char *text)
{
	pooled_of(text)->n_references++;
	return text;
}

void text_pool_unref(const char *text)
{
	struct pooled *pooled = text ? pooled_of(text) : NULL;
	struct pooled **at;

	if (!pooled || --pooled->n_references)
		return;
	at = pool_bucket(pooled->hash);
	while (*at != pooled)
		at = &(*at)->next;
	*at = pooled->next;
	free(pooled);
	if (--pool.n == 0) {
		free(pool.buckets);
		pool.buckets = NULL;
		pool.room = 0;
	}
}
