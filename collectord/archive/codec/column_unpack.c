// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/column.h"

#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "archive/codec/column_form.h"
#include "archive/codec/varint.h"

struct column_unpacker {
	ZSTD_DCtx *zstd;  /* NULL: no compressed bytes so far */
	struct buf bytes; /* decompressed bytes */
};

int column_unpacker_new(struct column_unpacker **ret_unpacker)
{
	*ret_unpacker = calloc(1, sizeof(**ret_unpacker));
	return *ret_unpacker ? 0 : -ENOMEM;
}

void column_unpacker_free(struct column_unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	buf_done(&u->bytes);
	free(u);
}

int column_find(const uint8_t *data, size_t n, struct column_index *ret_index)
{
	struct varint_reader reader = { .p = data, .end = data + n };
	struct column_index index = { 0 };

	while (reader.p < reader.end) {
		const uint8_t *head = varint_get_bytes(&reader, 2), *bytes;
		uint64_t n_bytes = varint_get(&reader);

		bytes = varint_get_bytes(&reader, n_bytes);
		if (reader.failed)
			return -EBADMSG;
		if (head[0] >= COLUMN_IDS)
			continue;
		if (index.columns[head[0]].bytes)
			return -EBADMSG;
		index.columns[head[0]].bytes = bytes;
		index.columns[head[0]].n_bytes = n_bytes;
		index.columns[head[0]].form = head[1];
	}
	*ret_index = index;
	return 0;
}

bool column_needs_groups(const struct column_index *index, uint8_t id)
{
	return index->columns[id].bytes && (index->columns[id].form & COLUMN_FORM_MASK) == COLUMN_RANKS;
}

/* The next n_bytes of the column, decompressed to n if they are compressed; NULL: damage or no memory. */
static const uint8_t *plain_bytes(struct column_unpacker *u, struct varint_reader *reader, uint8_t form,
				  uint64_t n_bytes, uint64_t n, int *ret_r)
{
	const uint8_t *bytes = varint_get_bytes(reader, form & COLUMN_ZSTD ? n_bytes : n);
	size_t got;

	*ret_r = -EBADMSG;
	if (reader->failed || !(form & COLUMN_ZSTD))
		return reader->failed ? NULL : bytes;

	u->bytes.n = 0;
	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	if (!u->zstd || !buf_reserve(&u->bytes, n)) {
		*ret_r = -ENOMEM;
		return NULL;
	}
	got = ZSTD_decompressDCtx(u->zstd, u->bytes.data, n, bytes, n_bytes);
	return ZSTD_isError(got) || got != n ? NULL : u->bytes.data;
}

static int unpack_dictionary(struct column_unpacker *u, struct varint_reader *reader, uint8_t form, uint64_t *values,
			     size_t n)
{
	uint64_t words[COLUMN_DICTIONARY_MAX] = { 0 }, n_words = varint_get(reader);
	const uint8_t *indexes;
	uint8_t most = 0;
	int r;

	if (n_words == 0 || n_words > COLUMN_DICTIONARY_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n_words; i++) {
		uint64_t step = varint_get(reader);

		words[i] = i ? words[i - 1] + step : step;
		if (i && words[i] <= words[i - 1])
			return -EBADMSG;
	}
	indexes = plain_bytes(u, reader, form, (uint64_t)(reader->end - reader->p), n, &r);
	if (!indexes)
		return r;

	for (size_t i = 0; i < n; i++)
		most = MAX(most, indexes[i]);
	if (most >= n_words)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		values[i] = words[indexes[i]];
	return 0;
}

/* Reads the lists of all groups: their words, and the start and length of each list. Return: 0 or -EBADMSG */
static int words_get(struct varint_reader *reader, uint64_t *words, uint16_t *offsets, uint16_t *counts)
{
	uint64_t n_groups = varint_get(reader), n = 0;

	if (n_groups > COLUMN_GROUPS_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n_groups; i++) {
		uint64_t count = varint_get(reader), value = 0;

		if (count > COLUMN_DICTIONARY_MAX || n + count > COLUMN_WORDS_MAX)
			return -EBADMSG;
		offsets[i] = (uint16_t)n;
		counts[i] = (uint16_t)count;
		while (count--) {
			value += varint_unfold(varint_get(reader));
			words[n++] = value;
		}
	}
	return 0;
}

static int unpack_ranks(struct column_unpacker *u, struct varint_reader *reader, uint8_t form, const uint8_t *groups,
			uint64_t *values, size_t n)
{
	uint16_t offsets[COLUMN_GROUPS_MAX] = { 0 }, counts[COLUMN_GROUPS_MAX] = { 0 };
	uint64_t words[COLUMN_WORDS_MAX + COLUMN_DICTIONARY_MAX]; /* room for every rank byte of every group */
	const uint8_t *ranks;
	bool is_bad = false;
	int r;

	memset(words, 0, sizeof(words));
	if (!groups || words_get(reader, words, offsets, counts) < 0)
		return -EBADMSG;
	ranks = plain_bytes(u, reader, form, (uint64_t)(reader->end - reader->p), n, &r);
	if (!ranks)
		return r;

	for (size_t i = 0; i < n; i++) {
		values[i] = words[offsets[groups[i]] + ranks[i]];
		is_bad |= ranks[i] >= counts[groups[i]];
	}
	return is_bad ? -EBADMSG : 0;
}

/* Up to 63 bits from a bit position; bytes after the end count as 0. */
static uint64_t bits_at(const uint8_t *bytes, size_t n_bytes, size_t position)
{
	uint8_t last[16] = { 0 };
	size_t at = position / 8;
	unsigned int shift = position % 8;
	uint64_t low;

	if (at + 9 > n_bytes) {
		if (at < n_bytes)
			memcpy(last, bytes + at, n_bytes - at);
		bytes = last;
		at = 0;
	}
	memcpy(&low, bytes + at, sizeof(low));
	return low >> shift | (uint64_t)bytes[at + 8] << 1 << (63 - shift);
}

static int unpack_bits(struct column_unpacker *u, struct varint_reader *reader, uint8_t form, const uint8_t *bounds,
		       uint64_t *values, size_t n)
{
	uint64_t n_packed = form & COLUMN_ZSTD ? varint_get(reader) : 0;
	size_t n_bytes, position = 0, n_bits = 0;
	const uint8_t *lengths, *bytes;
	uint8_t most = 0;
	int r;

	lengths = plain_bytes(u, reader, form, n_packed, n, &r);
	if (!lengths)
		return r;

	for (size_t i = 0; i < n; i++) {
		uint8_t length = bounds ? (uint8_t)(bounds[i] - lengths[i]) : lengths[i];

		most = MAX(most, length);
		n_bits += length - (length > 0);
	}
	n_bytes = (size_t)(reader->end - reader->p);
	if (most > 64 || n_bytes != (n_bits + 7) / 8)
		return -EBADMSG;

	bytes = varint_get_bytes(reader, n_bytes);
	for (size_t i = 0; i < n; i++) {
		unsigned int length = bounds ? (uint8_t)(bounds[i] - lengths[i]) : lengths[i];
		uint64_t top = length ? 1ull << (length - 1) : 0, low;

		if (length > 57 || position / 8 + sizeof(low) > n_bytes) {
			low = bits_at(bytes, n_bytes, position);
		} else {
			memcpy(&low, bytes + position / 8, sizeof(low));
			low >>= position % 8;
		}
		values[i] = length ? top | (low & (top - 1)) : 0;
		position += length - (length > 0);
	}
	return 0;
}

static int unpack_varints(struct column_unpacker *u, struct varint_reader *reader, uint8_t form, uint64_t *values,
			  size_t n)
{
	struct varint_reader plain = *reader;

	if (form & COLUMN_ZSTD) {
		uint64_t n_plain = varint_get(reader);
		int r;

		if (n_plain < n || n_plain > (uint64_t)n * VARINT_BYTES_MAX)
			return -EBADMSG;
		plain.p = plain_bytes(u, reader, form, (uint64_t)(reader->end - reader->p), n_plain, &r);
		if (!plain.p)
			return r;
		plain.end = plain.p + n_plain;
	}
	for (size_t i = 0; i < n; i++)
		values[i] = varint_get(&plain);
	reader->p = reader->end;
	return plain.failed || plain.p != plain.end ? -EBADMSG : 0;
}

static int unpack_form(struct column_unpacker *u, struct varint_reader *reader, uint8_t form,
		       const struct column_context *context, uint64_t *values, size_t n)
{
	uint64_t value;

	switch (form & (uint8_t)~COLUMN_ZSTD) {
	case COLUMN_CONSTANT:
		value = varint_get(reader);
		for (size_t i = 0; i < n; i++)
			values[i] = value;
		return 0;
	case COLUMN_DICTIONARY:
		return unpack_dictionary(u, reader, form, values, n);
	case COLUMN_BITS:
		return unpack_bits(u, reader, form, context->bounds, values, n);
	case COLUMN_VARINTS:
		return unpack_varints(u, reader, form, values, n);
	case COLUMN_RANKS:
		return unpack_ranks(u, reader, form, context->groups, values, n);
	}
	return -EBADMSG;
}

int column_unpack(struct column_unpacker *u, const struct column_index *index, uint8_t id,
		  const struct column_context *context, uint64_t most, uint64_t *ret_values, size_t n)
{
	static const struct column_context nothing;
	struct varint_reader reader = { .p = index->columns[id].bytes };
	uint64_t all = 0;
	int r;

	if (!reader.p) {
		memset(ret_values, 0, n * sizeof(*ret_values));
		return 0;
	}
	reader.end = reader.p + index->columns[id].n_bytes;
	r = unpack_form(u, &reader, index->columns[id].form, context ? context : &nothing, ret_values, n);
	if (r < 0)
		return r;
	if (reader.failed || reader.p != reader.end)
		return -EBADMSG;

	if (most != UINT64_MAX)
		for (size_t i = 0; i < n; i++)
			all = MAX(all, ret_values[i]);
	return all > most ? -EBADMSG : 0;
}
