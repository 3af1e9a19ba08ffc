// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/column.h"

#include <math.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "archive/codec/column_form.h"
#include "archive/codec/varint.h"

/* Level 1 is within 1 % of level 3 on these bytes at half the time. */
#define ZSTD_LEVEL 1
#define ZSTD_LEAST_BYTES 64 /* minimum size: smaller ones cost more in headers than they save */
#define ZSTD_LEAST_SAVED(n) ((n) / 32)

#define HASH_BITS 10 /* four times COLUMN_DICTIONARY_MAX */

struct dictionary {
	uint64_t values[COLUMN_DICTIONARY_MAX]; /* in order of first occurrence, then ascending */
	uint32_t n;
	uint16_t slots[1 << HASH_BITS]; /* index + 1; 0: free */
};

/*
 * Form ranks: a word, one number in the list of a group, saves nothing unless it occurs four times. A column with more
 * words than WORDS_LEAST and a quarter of its values is given up early.
 */
#define WORDS_LEAST 64
#define WORDS_RATIO 4
#define WORD_HASH_BITS 12 /* four times COLUMN_WORDS_MAX */

/* Lists of the groups, in the order of first occurrence: frequent values get low ranks. */
struct words {
	struct word {
		uint64_t value;
		uint16_t next; /* next word of its group, index + 1; 0: the last */
		uint8_t group;
		uint8_t rank;
	} words[COLUMN_WORDS_MAX];
	struct word_group {
		uint16_t first; /* index + 1; 0: none */
		uint16_t last;
		uint16_t n;
	} groups[COLUMN_GROUPS_MAX];
	uint32_t n;
	uint32_t n_groups;
	uint16_t slots[1 << WORD_HASH_BITS]; /* index + 1; 0: free */
};

struct column_packer {
	ZSTD_CCtx *zstd;
	bool is_plain;
	struct dictionary dictionary;
	struct words words;
	struct buf bytes;  /* one byte a value, or varints */
	struct buf ranks;  /* one byte a value */
	struct buf packed; /* bytes, compressed */
	struct buf best;
	struct buf other;
};

int column_packer_new(struct column_packer **ret_packer)
{
	CLEANUP(column_packer_freep) struct column_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd)
		return -ENOMEM;

	/* The header of a block has the size, and each row has a checksum. */
	(void)ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	(void)ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_contentSizeFlag, 0);
	(void)ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 0);
	*ret_packer = TAKE_PTR(p);
	return 0;
}

void column_packer_free(struct column_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	buf_done(&p->bytes);
	buf_done(&p->ranks);
	buf_done(&p->packed);
	buf_done(&p->best);
	buf_done(&p->other);
	free(p);
}

void column_packer_set_plain(struct column_packer *p, bool is_plain)
{
	p->is_plain = is_plain;
}

/* Return: whether p->packed is worth using instead of p->bytes. */
static bool pack_bytes(struct column_packer *p)
{
	size_t room = ZSTD_compressBound(p->bytes.n), n;

	if (p->is_plain || p->bytes.n < ZSTD_LEAST_BYTES)
		return false;

	p->packed.n = 0;
	if (!buf_reserve(&p->packed, room))
		return false;
	n = ZSTD_compress2(p->zstd, p->packed.data, room, p->bytes.data, p->bytes.n);
	if (ZSTD_isError(n) || n + ZSTD_LEAST_SAVED(p->bytes.n) > p->bytes.n)
		return false;
	p->packed.n = n;
	return true;
}

/* Entropy, in bytes: estimates the compressed size well enough to choose a form, in a tenth of the time. */
static double coded_bytes(const struct buf *bytes)
{
	uint32_t counts[256] = { 0 };
	double bits = 0;

	for (size_t i = 0; i < bytes->n; i++)
		counts[bytes->data[i]]++;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i])
			bits += counts[i] * log2((double)bytes->n / counts[i]);
	return bits / 8;
}

/* ---- dictionary ---- */

static uint32_t value_slot(uint64_t value)
{
	return (uint32_t)(value * 0x9e3779b97f4a7c15ull >> (64 - HASH_BITS));
}

/* Return: index of a value, added when it is new; COLUMN_DICTIONARY_MAX when the dictionary is full. */
static uint32_t dictionary_add(struct dictionary *d, uint64_t value)
{
	uint32_t slot = value_slot(value);

	for (; d->slots[slot]; slot = (slot + 1) % ARRAY_SIZE(d->slots))
		if (d->values[d->slots[slot] - 1] == value)
			return d->slots[slot] - 1u;
	if (d->n == COLUMN_DICTIONARY_MAX)
		return COLUMN_DICTIONARY_MAX;
	d->values[d->n] = value;
	d->slots[slot] = (uint16_t)++d->n;
	return d->n - 1;
}

/* Sorts the values. @ret_moved: new position of each */
static void dictionary_sort(struct dictionary *d, uint8_t *ret_moved)
{
	static const uint32_t gaps[] = { 132, 57, 23, 10, 4, 1 };
	uint8_t order[COLUMN_DICTIONARY_MAX];

	for (uint32_t i = 0; i < d->n; i++)
		order[i] = (uint8_t)i;
	for (size_t k = 0; k < ARRAY_SIZE(gaps); k++)
		for (uint32_t i = gaps[k]; i < d->n; i++) {
			uint64_t value = d->values[i];
			uint8_t from = order[i];
			uint32_t at = i;

			for (; at >= gaps[k] && d->values[at - gaps[k]] > value; at -= gaps[k]) {
				d->values[at] = d->values[at - gaps[k]];
				order[at] = order[at - gaps[k]];
			}
			d->values[at] = value;
			order[at] = from;
		}
	for (uint32_t i = 0; i < d->n; i++)
		ret_moved[order[i]] = (uint8_t)i;
}

/* Return: 1 with p->best and p->bytes written, 0 when there are too many different values, -ENOMEM */
static int try_dictionary(struct column_packer *p, const uint64_t *values, size_t n)
{
	struct dictionary *d = &p->dictionary;
	uint8_t moved[COLUMN_DICTIONARY_MAX], *indexes, *at;

	d->n = 0;
	memset(d->slots, 0, sizeof(d->slots));
	p->bytes.n = p->best.n = 0;
	indexes = buf_reserve(&p->bytes, n);
	at = buf_reserve(&p->best, (COLUMN_DICTIONARY_MAX + 1) * VARINT_BYTES_MAX);
	if (!indexes || !at)
		return -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		uint32_t index = dictionary_add(d, values[i]);

		if (index == COLUMN_DICTIONARY_MAX)
			return 0;
		indexes[i] = (uint8_t)index;
	}
	dictionary_sort(d, moved);
	for (size_t i = 0; i < n; i++)
		indexes[i] = moved[indexes[i]];
	p->bytes.n = n;

	at = varint_put(at, d->n);
	for (uint32_t i = 0; i < d->n; i++)
		at = varint_put(at, i ? d->values[i] - d->values[i - 1] : d->values[0]);
	p->best.n = (size_t)(at - p->best.data);
	return 1;
}

/* ---- ranks ---- */

/* Return: rank of a value in its group, added when it is new; -1 when the group is full */
static int words_add(struct words *w, uint64_t value, uint8_t group)
{
	uint32_t slot =
		(uint32_t)((value + group * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull >> (64 - WORD_HASH_BITS));
	struct word_group *g = &w->groups[group];

	for (; w->slots[slot]; slot = (slot + 1) % ARRAY_SIZE(w->slots)) {
		const struct word *word = &w->words[w->slots[slot] - 1];

		if (word->value == value && word->group == group)
			return word->rank;
	}
	if (w->n == COLUMN_WORDS_MAX || g->n == COLUMN_DICTIONARY_MAX)
		return -1;
	w->words[w->n] = (struct word){ .value = value, .group = group, .rank = (uint8_t)g->n };
	w->slots[slot] = (uint16_t)++w->n;
	if (g->last)
		w->words[g->last - 1].next = (uint16_t)w->n;
	else
		g->first = (uint16_t)w->n;
	g->last = (uint16_t)w->n;
	w->n_groups = MAX(w->n_groups, group + 1u);
	return g->n++;
}

static uint8_t *words_put(uint8_t *at, const struct words *w)
{
	at = varint_put(at, w->n_groups);
	for (uint32_t i = 0; i < w->n_groups; i++) {
		uint64_t before = 0;

		at = varint_put(at, w->groups[i].n);
		for (uint32_t k = w->groups[i].first; k; k = w->words[k - 1].next) {
			at = varint_put(at, varint_fold(w->words[k - 1].value - before));
			before = w->words[k - 1].value;
		}
	}
	return at;
}

/* Return: 1 with p->other and p->ranks written, 0 when too many values are new, -ENOMEM */
static int try_ranks(struct column_packer *p, const uint64_t *values, size_t n, const uint8_t *groups)
{
	struct words *w = &p->words;
	uint8_t *ranks, *at;

	w->n = w->n_groups = 0;
	memset(w->groups, 0, sizeof(w->groups));
	memset(w->slots, 0, sizeof(w->slots));
	p->ranks.n = p->other.n = 0;
	ranks = buf_reserve(&p->ranks, n);
	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int rank = words_add(w, values[i], groups[i]);

		if (rank < 0 || w->n > WORDS_LEAST + i / WORDS_RATIO)
			return 0;
		ranks[i] = (uint8_t)rank;
	}
	p->ranks.n = n;

	at = buf_reserve(&p->other, (1 + COLUMN_GROUPS_MAX + w->n) * VARINT_BYTES_MAX);
	if (!at)
		return -ENOMEM;
	p->other.n = (size_t)(words_put(at, w) - at);
	return 1;
}

/* ---- bits ---- */

/* The bits of each value below its top one; needs 8 spare bytes at the end. Return: position after them */
static uint8_t *put_bits(uint8_t *at, const uint64_t *values, size_t n)
{
	uint64_t waiting = 0;
	unsigned int n_waiting = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned int n_bits = MAX(varint_bits(values[i]), 1u) - 1;
		uint64_t bits = values[i] & ((1ull << n_bits) - 1);

		waiting |= bits << n_waiting;
		n_waiting += n_bits;
		if (n_waiting < 64)
			continue;
		memcpy(at, &waiting, sizeof(waiting));
		at += sizeof(waiting);
		n_waiting -= 64;
		waiting = bits >> (n_bits - n_waiting);
	}
	memcpy(at, &waiting, sizeof(waiting));
	return at + (n_waiting + 7) / 8;
}

/* Writes p->other. */
static int try_bits(struct column_packer *p, const uint64_t *values, size_t n, const uint8_t *bounds, uint8_t *ret_form)
{
	uint8_t *lengths, *at;
	size_t n_bits = 0;
	bool is_packed;

	p->bytes.n = p->other.n = 0;
	lengths = buf_reserve(&p->bytes, n);
	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint8_t length = varint_bits(values[i]);

		lengths[i] = bounds ? (uint8_t)(bounds[i] - length) : length;
		n_bits += length;
	}
	p->bytes.n = n;

	is_packed = pack_bytes(p);
	at = buf_reserve(&p->other, VARINT_BYTES_MAX + n + n_bits / 8 + 16);
	if (!at)
		return -ENOMEM;
	*ret_form = COLUMN_BITS;
	if (is_packed) {
		*ret_form |= COLUMN_ZSTD;
		at = varint_put(at, p->packed.n);
		memcpy(at, p->packed.data, p->packed.n);
		at += p->packed.n;
	} else {
		memcpy(at, p->bytes.data, n);
		at += n;
	}
	p->other.n = (size_t)(put_bits(at, values, n) - p->other.data);
	return 0;
}

/* ---- varints ---- */

/* Writes p->other. */
static int try_varints(struct column_packer *p, const uint64_t *values, size_t n, uint8_t *ret_form)
{
	uint8_t *at;

	p->bytes.n = p->other.n = 0;
	at = buf_reserve(&p->bytes, n * VARINT_BYTES_MAX);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		at = varint_put(at, values[i]);
	p->bytes.n = (size_t)(at - p->bytes.data);

	*ret_form = COLUMN_VARINTS;
	if (!pack_bytes(p))
		return buf_append(&p->other, p->bytes.data, p->bytes.n);
	*ret_form |= COLUMN_ZSTD;
	at = buf_reserve(&p->other, VARINT_BYTES_MAX + p->packed.n);
	if (!at)
		return -ENOMEM;
	at = varint_put(at, p->bytes.n);
	memcpy(at, p->packed.data, p->packed.n);
	p->other.n = (size_t)(at - p->other.data) + p->packed.n;
	return 0;
}

static void swap_bufs(struct buf *a, struct buf *b)
{
	struct buf swap = *a;

	*a = *b;
	*b = swap;
}

static void keep_smaller(struct column_packer *p, uint8_t form, bool *has_best, uint8_t *best_form)
{
	if (*has_best && p->best.n <= p->other.n)
		return;
	swap_bufs(&p->best, &p->other);
	*best_form = form;
	*has_best = true;
}

static bool is_constant(const uint64_t *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

/*
 * Whether varints may be smaller than bits. After try_dictionary() has found too many different values, the dictionary
 * has the first 256 of them. If few of the last values of the column are among these, values hardly repeat, and zstd
 * saves nothing on varints.
 */
static bool is_worth_varints(const struct column_packer *p, const uint64_t *values, size_t n)
{
	size_t n_again = 0;

	if (p->is_plain || n <= COLUMN_DICTIONARY_MAX)
		return true;
	for (size_t i = n - MIN(n, 64u); i < n; i++)
		for (uint32_t slot = value_slot(values[i]); p->dictionary.slots[slot];
		     slot = (slot + 1) % ARRAY_SIZE(p->dictionary.slots))
			if (p->dictionary.values[p->dictionary.slots[slot] - 1] == values[i]) {
				n_again++;
				break;
			}
	return n_again >= 16;
}

/* One byte a value, if possible. Return: 1 with p->best written, 0, -ENOMEM */
static int try_bytes(struct column_packer *p, const uint64_t *values, size_t n, const uint8_t *groups,
		     uint8_t *ret_form)
{
	enum column_form form = COLUMN_DICTIONARY;
	int has_dictionary = try_dictionary(p, values, n), has_ranks = 0;
	bool is_packed;

	if (has_dictionary >= 0 && groups)
		has_ranks = try_ranks(p, values, n, groups);
	if (has_dictionary < 0 || has_ranks < 0)
		return -ENOMEM;
	if (!has_dictionary && !has_ranks)
		return 0;

	if (has_ranks && (!has_dictionary ||
			  (double)p->other.n + coded_bytes(&p->ranks) < (double)p->best.n + coded_bytes(&p->bytes))) {
		form = COLUMN_RANKS;
		swap_bufs(&p->best, &p->other);
		swap_bufs(&p->bytes, &p->ranks);
	}
	is_packed = pack_bytes(p);
	*ret_form = (uint8_t)(is_packed ? form | COLUMN_ZSTD : form);
	if (is_packed)
		return buf_append(&p->best, p->packed.data, p->packed.n) < 0 ? -ENOMEM : 1;
	return buf_append(&p->best, p->bytes.data, p->bytes.n) < 0 ? -ENOMEM : 1;
}

static int pack_best(struct column_packer *p, const uint64_t *values, size_t n, const struct column_context *context,
		     uint8_t *ret_form)
{
	uint8_t form = 0;
	bool has_best;
	int r;

	if (is_constant(values, n)) {
		uint8_t *at;

		p->best.n = 0;
		at = buf_reserve(&p->best, VARINT_BYTES_MAX);
		if (!at)
			return -ENOMEM;
		p->best.n = (size_t)(varint_put(at, values[0]) - at);
		*ret_form = COLUMN_CONSTANT;
		return 0;
	}

	r = p->is_plain ? 0 : try_bytes(p, values, n, context->groups, ret_form);
	if (r < 0)
		return r;
	has_best = r > 0;
	if (has_best && n > COLUMN_DICTIONARY_MAX)
		return 0; /* few values, often repeated: nothing is smaller */

	if (is_worth_varints(p, values, n)) {
		r = try_varints(p, values, n, &form);
		if (r < 0)
			return r;
		keep_smaller(p, form, &has_best, ret_form);
	}
	r = try_bits(p, values, n, context->bounds, &form);
	if (r < 0)
		return r;
	keep_smaller(p, form, &has_best, ret_form);
	return 0;
}

int column_pack(struct column_packer *p, uint8_t id, const uint64_t *values, size_t n,
		const struct column_context *context, struct buf *out)
{
	static const struct column_context nothing;
	uint8_t form, *at;
	int r;

	if (n == 0 || (values[0] == 0 && is_constant(values, n)))
		return 0;

	r = pack_best(p, values, n, context ? context : &nothing, &form);
	if (r < 0)
		return -ENOMEM;
	at = buf_reserve(out, 2 + VARINT_BYTES_MAX + p->best.n);
	if (!at)
		return -ENOMEM;
	*at++ = id;
	*at++ = form;
	at = varint_put(at, p->best.n);
	memcpy(at, p->best.data, p->best.n);
	out->n = (size_t)(at - out->data) + p->best.n;
	return 0;
}
