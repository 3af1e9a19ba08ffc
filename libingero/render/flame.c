// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/flame.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/utf8.h"
#include "libingero/render/text.h"

#define INDEX_ROOM_LEAST 64u

/* ---- hashes ---- */

/* Two odd constants without structure (digits of pi and of the golden ratio). */
#define MIX_A 0x243f6a8885a308d3ull
#define MIX_B 0x9e3779b97f4a7c15ull

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ MIX_A) * (b ^ MIX_B);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t bytes_hash(uint64_t seed, const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t hash = mix(seed, n), word;

	for (; n > 0; p += MIN(n, sizeof(word)), n -= MIN(n, sizeof(word))) {
		word = 0;
		memcpy(&word, p, MIN(n, sizeof(word)));
		hash = mix(hash ^ word, seed);
	}
	return hash;
}

/* The next id of this hash, from the place `at` on. Return: 0 after the last */
static uint32_t flame_index_next(const struct flame_index *index, uint64_t hash, size_t *at)
{
	while (index->room && index->slots[*at & (index->room - 1)].id) {
		const struct flame_slot *slot = &index->slots[(*at)++ & (index->room - 1)];

		if (slot->hash == hash)
			return slot->id;
	}
	return 0;
}

static void flame_index_put(struct flame_index *index, uint64_t hash, uint32_t id)
{
	size_t at = hash;

	while (index->slots[at & (index->room - 1)].id)
		at++;
	index->slots[at & (index->room - 1)] = (struct flame_slot){ .hash = hash, .id = id };
	index->n++;
}

/* Makes room for one more, so that at most half of the slots are taken. */
static int flame_index_grow(struct flame_index *index)
{
	struct flame_index larger = { .room = MAX(index->room * 2, INDEX_ROOM_LEAST) };

	if ((index->n + 1) * 2 <= index->room)
		return 0;
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->room; i++)
		if (index->slots[i].id)
			flame_index_put(&larger, index->slots[i].hash, index->slots[i].id);
	free(index->slots);
	*index = larger;
	return 0;
}

/* ---- texts, frames, stacks ---- */

/* Cut between characters. */
static size_t flame_text_bytes(const char *text)
{
	size_t n = strnlen(text, FLAME_TEXT_BYTES);

	if (n == FLAME_TEXT_BYTES)
		while (n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80)
			n--;
	return n;
}

static uint32_t text_find(const struct flame *flame, const char *text, size_t n, uint64_t hash)
{
	size_t at = hash;
	uint32_t id;

	while ((id = flame_index_next(&flame->by_text, hash, &at)))
		if (strncmp(flame->texts.items[id], text, n) == 0 && !flame->texts.items[id][n])
			break;
	return id;
}

static int text_intern(struct flame *flame, const char *text, uint32_t *ret)
{
	size_t n = flame_text_bytes(text);
	uint64_t hash = bytes_hash(flame->seed, text, n);
	uint32_t id = n ? text_find(flame, text, n, hash) : 0;
	CLEANUP(freep) char *copy = NULL;

	*ret = id;
	if (id || n == 0)
		return 0;
	copy = strndup(text, n);
	if (!copy || flame_index_grow(&flame->by_text) < 0)
		return -ENOMEM;
	if (utf8_scrub(copy)) {
		n = strlen(copy);
		hash = bytes_hash(flame->seed, copy, n);
		*ret = text_find(flame, copy, n, hash);
		if (*ret)
			return 0;
	}
	if (ARRAY_PUSH(&flame->texts, copy) < 0)
		return -ENOMEM;
	copy = NULL;
	*ret = (uint32_t)flame->texts.n - 1;
	flame_index_put(&flame->by_text, hash, *ret);
	return 0;
}

static int frame_intern(struct flame *flame, const struct flame_frame *frame, uint32_t *ret)
{
	struct flame_entry entry;
	uint64_t hash;
	uint32_t id;
	size_t at;
	int r;

	memset(&entry, 0, sizeof(entry)); /* it is compared as bytes */
	entry.line = *frame->file ? frame->line : 0;
	entry.kind = frame->kind;
	r = text_intern(flame, frame->name, &entry.name);
	if (r == 0)
		r = text_intern(flame, frame->file, &entry.file);
	if (r == 0)
		r = text_intern(flame, frame->module, &entry.module);
	if (r < 0 || flame_index_grow(&flame->by_frame) < 0)
		return -ENOMEM;
	hash = bytes_hash(flame->seed, &entry, sizeof(entry));
	for (at = hash; (id = flame_index_next(&flame->by_frame, hash, &at));)
		if (memcmp(&flame->frames.items[id - 1], &entry, sizeof(entry)) == 0)
			break;
	if (!id) {
		if (ARRAY_PUSH(&flame->frames, entry) < 0)
			return -ENOMEM;
		id = (uint32_t)flame->frames.n;
		flame_index_put(&flame->by_frame, hash, id);
	}
	*ret = id - 1;
	return 0;
}

static bool stack_is(const struct flame *flame, const struct flame_stack *stack, const uint32_t *places, size_t n)
{
	return stack->n == n && memcmp(&flame->places.items[stack->first], places, n * sizeof(*places)) == 0;
}

/* A stack of the frames behind `first`, which are its own if it is new. */
static int stack_intern(struct flame *flame, size_t first, size_t *ret)
{
	size_t n = flame->places.n - first, at;
	const uint32_t *places = flame->places.items + first;
	uint64_t hash = bytes_hash(flame->seed, places, n * sizeof(*places));
	struct flame_stack stack = { .first = first, .n = (uint32_t)n };
	uint32_t id;
	int r = flame_index_grow(&flame->by_stack);

	for (at = hash; r == 0 && (id = flame_index_next(&flame->by_stack, hash, &at));) {
		if (!stack_is(flame, &flame->stacks.items[id - 1], places, n))
			continue;
		flame->places.n = first;
		*ret = id - 1;
		return 0;
	}
	for (size_t i = 0; i < flame->n_values && r == 0; i++)
		r = ARRAY_PUSH(&flame->weights, 0);
	if (r == 0)
		r = ARRAY_PUSH(&flame->stacks, stack);
	if (r < 0) {
		flame->weights.n = flame->stacks.n * flame->n_values;
		return r;
	}
	*ret = flame->stacks.n - 1;
	flame_index_put(&flame->by_stack, hash, (uint32_t)flame->stacks.n);
	return 0;
}

int flame_add(struct flame *flame, const struct flame_frame *frames, size_t n_frames, const uint64_t *weights)
{
	size_t first = flame->places.n, stack = 0, skipped = n_frames - MIN(n_frames, FLAME_DEPTH_MAX);
	int r = flame->stacks.n < UINT32_MAX / 2 ? 0 : -ENOMEM;

	assert(n_frames > 0);
	for (size_t i = skipped; i < n_frames && r == 0; i++) {
		uint32_t place = 0;

		r = frame_intern(flame, &frames[i], &place);
		if (r == 0)
			r = ARRAY_PUSH(&flame->places, place);
	}
	if (r == 0)
		r = stack_intern(flame, first, &stack);
	if (r < 0) {
		flame->places.n = first;
		return r;
	}
	for (size_t i = 0; i < flame->n_values; i++) {
		uint64_t *sum = &flame->weights.items[stack * flame->n_values + i];

		*sum = *sum + weights[i] < *sum ? UINT64_MAX : *sum + weights[i];
	}
	return 0;
}

/* ---- the whole ---- */

int flame_init(struct flame *flame, const struct flame_value *values, size_t n_values)
{
	struct timespec now;

	*flame = (struct flame){ .n_values = MIN(n_values, FLAME_VALUES_MAX) };
	memcpy(flame->values, values, flame->n_values * sizeof(*values));
	if (getrandom(&flame->seed, sizeof(flame->seed), GRND_NONBLOCK) != sizeof(flame->seed)) {
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		flame->seed = mix((uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)flame);
	}
	return ARRAY_PUSH(&flame->texts, NULL);
}

static void flame_index_done(struct flame_index *index)
{
	free(index->slots);
	*index = (struct flame_index){ .n = 0 };
}

void flame_done(struct flame *flame)
{
	for (size_t i = 0; i < flame->texts.n; i++)
		free(flame->texts.items[i]);
	ARRAY_DONE(&flame->texts);
	ARRAY_DONE(&flame->frames);
	ARRAY_DONE(&flame->places);
	ARRAY_DONE(&flame->stacks);
	ARRAY_DONE(&flame->weights);
	flame_index_done(&flame->by_text);
	flame_index_done(&flame->by_frame);
	flame_index_done(&flame->by_stack);
}

uint64_t flame_weight(const struct flame *flame, size_t stack, size_t value)
{
	return flame->weights.items[stack * flame->n_values + value];
}

uint64_t flame_total(const struct flame *flame, size_t value)
{
	uint64_t sum = 0, weight;

	for (size_t i = 0; i < flame->stacks.n; i++) {
		weight = flame_weight(flame, i, value);
		sum = sum + weight < sum ? UINT64_MAX : sum + weight;
	}
	return sum;
}

const char *flame_text(const struct flame *flame, uint32_t text)
{
	return text ? flame->texts.items[text] : "";
}

void flame_label_append(const struct flame *flame, uint32_t frame, struct buf *out)
{
	const struct flame_entry *f = &flame->frames.items[frame];
	const char *name = flame_text(flame, f->name), *file = flame_text(flame, f->file),
		   *module = flame_text(flame, f->module);

	if (*name)
		(void)buf_append_text(out, name);
	else if (*module)
		(void)buf_printf(out, "[%s]", text_file_name(module));
	else
		(void)buf_append_text(out, FLAME_NOT_KNOWN);
	if (*file && f->line)
		(void)buf_printf(out, " (%s:%u)", text_file_name(file), f->line);
	else if (*file)
		(void)buf_printf(out, " (%s)", text_file_name(file));
}
