// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/figures_pack.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/codec/blame_parts.h"
#include "archive/codec/column.h"
#include "archive/codec/kept.h"

struct figures_decoder {
	struct column_unpacker *columns;
	bool skips_accounts;
};

int figures_decoder_new(struct figures_decoder **ret_decoder)
{
	struct figures_decoder *d = calloc(1, sizeof(*d));
	int r = d ? column_unpacker_new(&d->columns) : -ENOMEM;

	if (r < 0)
		free(d);
	else
		*ret_decoder = d;
	return r;
}

void figures_decoder_free(struct figures_decoder *d)
{
	if (!d)
		return;
	column_unpacker_free(d->columns);
	free(d);
}

void figures_decoder_skip_accounts(struct figures_decoder *decoder)
{
	decoder->skips_accounts = true;
}

struct figures_unpacker {
	struct column_unpacker *columns; /* of the decoder */
	struct column_index index;
	struct stored_figures *figures; /* n; histograms are owned */
	struct stored_behind *behind;	/* n_behind */
	struct stored_part *parts;
	struct stored_wait *waits;
	size_t n;
	size_t n_behind;
	size_t n_parts;
	size_t n_waits;
	uint64_t *values; /* room for one value of each row of the longest list */
	uint64_t *more;	  /* room for columns with more than one value each */
	uint64_t *even_more;
	uint8_t *bounds;
};

static void figures_unpacker_done(struct figures_unpacker *u)
{
	for (size_t i = 0; u->figures && i < u->n; i++)
		op_figures_done(&u->figures[i].figures);
	free(u->figures);
	free(u->behind);
	free(u->parts);
	free(u->waits);
	free(u->values);
	free(u->more);
	free(u->even_more);
	free(u->bounds);
}

/* Return: 0 or -ENOMEM; earlier contents are dropped */
static int room_for(void *ret_items, size_t n, size_t size)
{
	void **items = ret_items;

	free(*items);
	*items = calloc(MAX(n, 1u), size);
	return *items ? 0 : -ENOMEM;
}

static int figures_unpack(struct figures_unpacker *u, enum figures_column id, uint64_t most, uint64_t *values, size_t n)
{
	return column_unpack(u->columns, &u->index, (uint8_t)id, NULL, most, values, n);
}

/* Reads one column, each value into a row of n. Rows are zero before, as are the values of an absent column. */
#define UNPACK_ROWS(rows, n_rows, row, id, most, set)                                                                  \
	do {                                                                                                           \
		int unpack_r_;                                                                                         \
		if (!column_is_there(&u->index, id))                                                                   \
			break;                                                                                         \
		unpack_r_ = figures_unpack(u, id, most, u->values, n_rows);                                            \
		if (unpack_r_ < 0)                                                                                     \
			return unpack_r_;                                                                              \
		for (size_t i = 0; i < (n_rows); i++) {                                                                \
			__typeof__(*(rows)) *row = &(rows)[i];                                                         \
			uint64_t value = u->values[i];                                                                 \
			set;                                                                                           \
		}                                                                                                      \
	} while (0)

#define UNPACK_FIGURES(id, most, set) UNPACK_ROWS(u->figures, u->n, f, id, most, set)
#define UNPACK_BEHIND(id, most, set) UNPACK_ROWS(u->behind, u->n_behind, b, id, most, set)
#define UNPACK_PART(id, most, set) UNPACK_ROWS(u->parts, u->n_parts, x, id, most, set)
#define UNPACK_WAIT(id, most, set) UNPACK_ROWS(u->waits, u->n_waits, w, id, most, set)

/* Converts differences to row ids of processes, in place. Return: 0, or -EBADMSG above UINT32_MAX */
static int processes_add_up(uint64_t *steps, size_t n)
{
	uint64_t process = 0;

	for (size_t i = 0; i < n; i++) {
		process += steps[i];
		if (process > UINT32_MAX)
			return -EBADMSG;
		steps[i] = process;
	}
	return 0;
}

/* Unpacks the processes of n rows into u->values. */
static int unpack_processes(struct figures_unpacker *u, enum figures_column id, size_t n)
{
	int r = figures_unpack(u, id, UINT32_MAX, u->values, n);

	return r ? r : processes_add_up(u->values, n);
}

static int unpack_keys(struct figures_unpacker *u)
{
	int r = unpack_processes(u, FIGURES_PROCESS, u->n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n; i++)
		u->figures[i].process = (uint32_t)u->values[i];
	UNPACK_FIGURES(FIGURES_OP, UINT32_MAX, f->op = (uint32_t)value);
	UNPACK_FIGURES(FIGURES_MEASURED, UINT16_MAX, f->measured = (uint16_t)value);

	for (size_t i = 1; i < u->n; i++)
		if (u->figures[i].process == u->figures[i - 1].process && u->figures[i].op <= u->figures[i - 1].op)
			return -EBADMSG;
	return 0;
}

/* Fills the buckets of one histogram. Return: 0, -EBADMSG, -ENOMEM */
static int histogram_fill(struct histogram *h, const uint64_t *steps, const uint64_t *counts, size_t n)
{
	uint64_t first = steps[0], last = first, most = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		if ((i && steps[i] == 0) || counts[i] == UINT64_MAX)
			return -EBADMSG;
		last += i ? steps[i] : 0; /* each is below HISTOGRAM_BUCKETS, and so is n: no overflow */
		most = MAX(most, counts[i] + 1);
	}
	if (last >= HISTOGRAM_BUCKETS)
		return -EBADMSG;

	r = histogram_reserve(h, (uint32_t)first, (uint32_t)last + 1, most);
	for (size_t i = 0; r == 0 && i < n; i++) {
		first += i ? steps[i] : 0;
		r = histogram_add(h, (uint32_t)first, counts[i] + 1);
	}
	return r;
}

static int unpack_histograms(struct figures_unpacker *u)
{
	uint64_t n_filled = 0;
	int r = figures_unpack(u, FIGURES_FILLED, HISTOGRAM_BUCKETS, u->values, u->n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n; i++)
		n_filled += u->values[i];
	if (n_filled > FIGURES_BUCKETS_MAX)
		return -EBADMSG;

	r = room_for(&u->more, n_filled, sizeof(*u->more));
	if (r == 0)
		r = room_for(&u->even_more, n_filled, sizeof(*u->even_more));
	if (r == 0)
		r = figures_unpack(u, FIGURES_BUCKET, HISTOGRAM_BUCKETS - 1, u->more, n_filled);
	if (r == 0)
		r = figures_unpack(u, FIGURES_COUNT, UINT64_MAX, u->even_more, n_filled);
	n_filled = 0;
	for (size_t i = 0; r == 0 && i < u->n; i++) {
		if (u->values[i])
			r = histogram_fill(&u->figures[i].figures.durations, u->more + n_filled,
					   u->even_more + n_filled, u->values[i]);
		n_filled += u->values[i];
	}
	return r;
}

static int unpack_totals(struct figures_unpacker *u)
{
	struct column_context context = { .bounds = NULL };
	int r = figures_unpack(u, FIGURES_MAX, UINT64_MAX, u->values, u->n);

	for (size_t i = 0; i < u->n && r == 0; i++)
		u->figures[i].figures.max_ns =
			figures_max_guess(&u->figures[i].figures.durations) + varint_unfold(u->values[i]);
	if (r == 0)
		r = room_for(&u->bounds, u->n, 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n; i++)
		u->bounds[i] = figures_total_bound(u->figures[i].figures.durations.sum, u->figures[i].figures.max_ns);

	context.bounds = u->bounds;
	r = column_unpack(u->columns, &u->index, FIGURES_TOTAL, &context, UINT64_MAX, u->values, u->n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n; i++)
		u->figures[i].figures.total_ns = u->values[i];
	r = column_unpack(u->columns, &u->index, FIGURES_OVERHEAD, &context, UINT64_MAX, u->values, u->n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n; i++)
		u->figures[i].figures.raw_ns = u->figures[i].figures.total_ns + varint_unfold(u->values[i]);
	return 0;
}

static int figures_unpack_blame(struct figures_unpacker *u)
{
	struct column_context context = { .bounds = NULL };
	const uint64_t *parts;
	size_t n_parts = 0;
	int r = figures_unpack(u, FIGURES_BLAME, BLAME_SHAPE_MAX, u->values, u->n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n; i++)
		n_parts += blame_parts_count(u->values[i]);
	r = room_for(&u->more, n_parts, sizeof(*u->more));
	if (r == 0)
		r = room_for(&u->bounds, n_parts, 1);
	if (r < 0)
		return r;

	n_parts = 0;
	for (size_t i = 0; i < u->n; i++)
		for (uint32_t n = blame_parts_count(u->values[i]); n; n--)
			u->bounds[n_parts++] = varint_bits(u->figures[i].figures.raw_ns);
	context.bounds = u->bounds;
	r = column_unpack(u->columns, &u->index, FIGURES_BLAME_PARTS, &context, UINT64_MAX, u->more, n_parts);
	if (r < 0)
		return r;

	parts = u->more;
	for (size_t i = 0; i < u->n; i++) {
		struct op_figures *f = &u->figures[i].figures;

		parts = blame_parts_unpack(u->values[i], parts, f->raw_ns, f->blame_ns);
		f->blame_ns[BLAME_ON_CPU] += f->raw_ns;
		for (uint32_t k = BLAME_ON_CPU + 1; k < BLAME_COUNT; k++)
			f->blame_ns[BLAME_ON_CPU] -= f->blame_ns[k];
	}
	return 0;
}

static int unpack_figures(struct figures_unpacker *u)
{
	int r = unpack_keys(u);

	if (r == 0)
		r = unpack_histograms(u);
	if (r == 0)
		r = unpack_totals(u);
	if (r == 0)
		r = figures_unpack_blame(u);
	if (r < 0)
		return r;
#define KEPT_FIGURE(name, id, member)                                                                                  \
	UNPACK_FIGURES(FIGURES_##name, KEPT_MOST(struct stored_figures, member), KEPT_SET(f->member, value));
#include "events/columns.def"
	return 0;
}

static int unpack_behind(struct figures_unpacker *u)
{
	int r = unpack_processes(u, FIGURES_BEHIND_PROCESS, u->n_behind);

	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n_behind; i++)
		u->behind[i].process = (uint32_t)u->values[i];
	UNPACK_BEHIND(FIGURES_BEHIND_TGID, UINT32_MAX, b->tgid = (uint32_t)value);
	UNPACK_BEHIND(FIGURES_BEHIND_UID, UINT32_MAX, b->uid = (uint32_t)value);
	UNPACK_BEHIND(FIGURES_BEHIND_NS, UINT64_MAX, b->ns = value);
	UNPACK_BEHIND(FIGURES_BEHIND_COMM, UINT64_MAX, memcpy(b->comm, &value, sizeof(value)));
	UNPACK_BEHIND(FIGURES_BEHIND_COMM_REST, UINT64_MAX, memcpy(b->comm + sizeof(value), &value, sizeof(value)));
	UNPACK_BEHIND(FIGURES_BEHIND_BETWEEN, 1, b->is_between = value);
	UNPACK_BEHIND(FIGURES_BEHIND_GUARDED, 1, b->is_guarded = value);
	for (size_t i = 1; i < u->n_behind; i++)
		if (figures_compare_behind(&u->behind[i - 1], &u->behind[i]) >= 0)
			return -EBADMSG;
	return 0;
}

static int unpack_parts(struct figures_unpacker *u)
{
	int r = unpack_processes(u, FIGURES_PART_PROCESS, u->n_parts);

	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n_parts; i++)
		u->parts[i].process = (uint32_t)u->values[i];
#define PART(name, member, most) UNPACK_PART(FIGURES_PART_##name, most, x->member = (__typeof__(x->member))value);
#include "archive/codec/account_columns.def"
	for (size_t i = 1; i < u->n_parts; i++)
		if (figures_compare_part(&u->parts[i - 1], &u->parts[i]) >= 0)
			return -EBADMSG;
	return 0;
}

static int unpack_waits(struct figures_unpacker *u)
{
	int r = unpack_processes(u, FIGURES_WAIT_PROCESS, u->n_waits);

	if (r < 0)
		return r;
	for (size_t i = 0; i < u->n_waits; i++)
		u->waits[i].process = (uint32_t)u->values[i];
#define WAIT(name, member, most) UNPACK_WAIT(FIGURES_WAIT_##name, most, w->member = (__typeof__(w->member))value);
#define WAIT_TEXT(name, member, at)                                                                                    \
	UNPACK_WAIT(FIGURES_WAIT_##name, UINT64_MAX, memcpy(w->member + (at), &value, sizeof(value)));
#include "archive/codec/account_columns.def"
	for (size_t i = 1; i < u->n_waits; i++)
		if (figures_compare_wait(&u->waits[i - 1], &u->waits[i]) >= 0)
			return -EBADMSG;
	return 0;
}

/* The head before the columns; sets u's counts and makes room for as many rows. */
static int unpack_head(struct figures_unpacker *u, struct varint_reader *reader, bool skips_accounts)
{
	const uint8_t *format = varint_get_bytes(reader, 1);
	uint64_t n[4] = { 0 };
	int r;

	if (*format == 0)
		return -EBADMSG;
	if (*format > FIGURES_FORMAT)
		return -ENOTSUP;
	for (size_t i = 0; i < (*format < FIGURES_FORMAT_ACCOUNTS ? 2 : ARRAY_SIZE(n)); i++) {
		n[i] = varint_get(reader);
		if (reader->failed || n[i] > FIGURES_ROWS_MAX)
			return -EBADMSG;
	}
	if (skips_accounts)
		n[2] = n[3] = 0;
	r = room_for(&u->values, MAX(MAX(n[0], n[1]), MAX(n[2], n[3])), sizeof(*u->values));
	if (r == 0)
		r = room_for(&u->figures, n[0], sizeof(*u->figures));
	if (r == 0)
		r = room_for(&u->behind, n[1], sizeof(*u->behind));
	if (r == 0)
		r = room_for(&u->parts, n[2], sizeof(*u->parts));
	if (r == 0)
		r = room_for(&u->waits, n[3], sizeof(*u->waits));
	if (r < 0)
		return r;
	u->n = n[0];
	u->n_behind = n[1];
	u->n_parts = n[2];
	u->n_waits = n[3];
	return 0;
}

#define LIST_TAKE(list, rows, n_rows)                                                                                  \
	do {                                                                                                           \
		(list)->items = TAKE_PTR(rows);                                                                        \
		(list)->n = (n_rows);                                                                                  \
		(list)->room = MAX((n_rows), 1u);                                                                      \
	} while (0)

int figures_decode(struct figures_decoder *decoder, const void *data, size_t n, uint32_t crc,
		   struct figures_blob *ret_blob)
{
	struct varint_reader reader = { .p = data, .end = data };
	CLEANUP(figures_unpacker_done) struct figures_unpacker u = { .columns = decoder->columns };
	int r;

	if (n == 0 || codec_crc(data, n) != crc)
		return -EBADMSG;
	reader.end += n;
	r = unpack_head(&u, &reader, decoder->skips_accounts);
	if (r == 0)
		r = column_find(reader.p, (size_t)(reader.end - reader.p), &u.index);
	if (r == 0)
		r = unpack_figures(&u);
	if (r == 0)
		r = unpack_behind(&u);
	if (r == 0 && !decoder->skips_accounts)
		r = unpack_parts(&u);
	if (r == 0 && !decoder->skips_accounts)
		r = unpack_waits(&u);
	if (r < 0)
		return r;

	*ret_blob = (struct figures_blob){ 0 };
	LIST_TAKE(&ret_blob->figures, u.figures, u.n);
	LIST_TAKE(&ret_blob->behind, u.behind, u.n_behind);
	LIST_TAKE(&ret_blob->parts, u.parts, u.n_parts);
	LIST_TAKE(&ret_blob->waits, u.waits, u.n_waits);
	return 0;
}

int figures_blob_decode(const void *data, size_t n, uint32_t crc, struct figures_blob *ret_blob)
{
	struct figures_decoder *decoder = NULL;
	int r = figures_decoder_new(&decoder);

	if (r == 0)
		r = figures_decode(decoder, data, n, crc, ret_blob);
	figures_decoder_free(decoder);
	return r;
}
