// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/figures_pack.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/codec/blame_parts.h"
#include "archive/codec/column.h"
#include "archive/codec/kept.h"

uint64_t figures_max_guess(const struct histogram *h)
{
	uint32_t last = histogram_last(h);

	return last < HISTOGRAM_BUCKETS ? histogram_bucket_low_ns(last) : 0;
}

uint8_t figures_total_bound(uint64_t n_calls, uint64_t max_ns)
{
	return (uint8_t)(varint_bits(n_calls) + varint_bits(max_ns));
}

struct figures_encoder {
	struct column_packer *columns;
	struct buf *out;
	ARRAY(uint64_t) values;
	ARRAY(uint64_t) more; /* second of two columns that are filled together */
	struct buf bounds;
};

int figures_encoder_new(struct figures_encoder **ret_encoder)
{
	struct figures_encoder *p = calloc(1, sizeof(*p));
	int r = p ? column_packer_new(&p->columns) : -ENOMEM;

	if (r < 0)
		free(p);
	else
		*ret_encoder = p;
	return r;
}

void figures_encoder_free(struct figures_encoder *p)
{
	if (!p)
		return;
	column_packer_free(p->columns);
	ARRAY_DONE(&p->values);
	ARRAY_DONE(&p->more);
	buf_done(&p->bounds);
	free(p);
}

void figures_encoder_set_plain(struct figures_encoder *p, bool is_plain)
{
	column_packer_set_plain(p->columns, is_plain);
}

/* Appends p->values as a column and clears them. */
static int pack_values(struct figures_encoder *p, enum figures_column id)
{
	struct column_context context = { .bounds = p->bounds.n ? p->bounds.data : NULL };
	int r = column_pack(p->columns, (uint8_t)id, p->values.items, p->values.n, &context, p->out);

	p->values.n = p->bounds.n = 0;
	return r;
}

/* Appends one column of `value`, an expression of `row` in a list of the blob; the first failure is kept in r. */
#define PACK_ROWS(list, row, id, value)                                                                                \
	for (size_t i = 0; r == 0 && i < blob->list.n; i++) {                                                          \
		const __typeof__(*blob->list.items) *row = &blob->list.items[i];                                       \
		r = ARRAY_PUSH(&p->values, (value));                                                                   \
	}                                                                                                              \
	if (r == 0)                                                                                                    \
	r = pack_values(p, id)

#define PACK_FIGURES(id, value) PACK_ROWS(figures, f, id, value)
#define PACK_BEHIND(id, value) PACK_ROWS(behind, b, id, value)

static int pack_histograms(struct figures_encoder *p, const struct figures_blob *blob)
{
	int r = 0;

	/* the number of filled buckets comes before their contents, so it is counted in a pass of its own */
	for (size_t i = 0; r == 0 && i < blob->figures.n; i++) {
		const struct histogram *h = &blob->figures.items[i].figures.durations;
		uint64_t n_filled = 0;

		for (uint32_t k = histogram_next(h, 0); k < HISTOGRAM_BUCKETS; k = histogram_next(h, k + 1))
			n_filled++;
		r = ARRAY_PUSH(&p->values, n_filled);
	}
	if (r == 0)
		r = pack_values(p, FIGURES_FILLED);

	for (size_t i = 0; r == 0 && i < blob->figures.n; i++) {
		const struct histogram *h = &blob->figures.items[i].figures.durations;
		uint32_t before = 0;

		for (uint32_t k = histogram_next(h, 0); r == 0 && k < HISTOGRAM_BUCKETS; k = histogram_next(h, k + 1)) {
			r = ARRAY_PUSH(&p->values, (uint64_t)(k - before));
			if (r == 0)
				r = ARRAY_PUSH(&p->more, histogram_count(h, k) - 1);
			before = k;
		}
	}
	if (p->values.n > FIGURES_BUCKETS_MAX)
		return -E2BIG;
	if (r == 0)
		r = pack_values(p, FIGURES_BUCKET);
	if (r == 0)
		r = column_pack(p->columns, FIGURES_COUNT, p->more.items, p->more.n, NULL, p->out);
	p->more.n = 0;
	return r;
}

static int pack_totals(struct figures_encoder *p, const struct figures_blob *blob)
{
	uint8_t *bounds;
	int r = 0;

	PACK_FIGURES(FIGURES_MAX, varint_fold(f->figures.max_ns - figures_max_guess(&f->figures.durations)));
	for (int turn = 0; r == 0 && turn < 2; turn++) {
		p->bounds.n = 0;
		bounds = buf_reserve(&p->bounds, blob->figures.n);
		if (!bounds)
			return -ENOMEM;
		for (size_t i = 0; i < blob->figures.n; i++) {
			const struct op_figures *f = &blob->figures.items[i].figures;

			bounds[i] = figures_total_bound(f->durations.sum, f->max_ns);
		}
		p->bounds.n = blob->figures.n;
		if (turn == 0) {
			PACK_FIGURES(FIGURES_TOTAL, f->figures.total_ns);
		} else {
			PACK_FIGURES(FIGURES_OVERHEAD, varint_fold(f->figures.raw_ns - f->figures.total_ns));
		}
	}
	return r;
}

static int figures_pack_blame(struct figures_encoder *p, const struct figures_blob *blob)
{
	struct column_context context = { .bounds = NULL };
	int r = 0;

	for (size_t i = 0; r == 0 && i < blob->figures.n; i++) {
		const struct op_figures *f = &blob->figures.items[i].figures;
		uint64_t parts[BLAME_COUNT], shape;
		__u64 blame_ns[BLAME_COUNT];
		uint32_t n;

		/* CPU time is the remainder here, too: only its difference from the remainder is stored. */
		memcpy(blame_ns, f->blame_ns, sizeof(blame_ns));
		for (uint32_t k = BLAME_ON_CPU + 1; k < BLAME_COUNT; k++)
			blame_ns[BLAME_ON_CPU] += f->blame_ns[k];
		blame_ns[BLAME_ON_CPU] -= f->raw_ns;

		shape = blame_parts_pack(blame_ns, f->raw_ns, parts);
		n = blame_parts_count(shape);
		r = ARRAY_PUSH(&p->values, shape);
		for (uint32_t k = 0; r == 0 && k < n; k++) {
			uint8_t bound = varint_bits(f->raw_ns);

			r = ARRAY_PUSH(&p->more, parts[k]);
			if (r == 0)
				r = buf_append(&p->bounds, &bound, 1);
		}
	}
	if (r == 0)
		r = column_pack(p->columns, FIGURES_BLAME, p->values.items, p->values.n, NULL, p->out);
	context.bounds = p->bounds.data;
	if (r == 0)
		r = column_pack(p->columns, FIGURES_BLAME_PARTS, p->more.items, p->more.n, &context, p->out);
	p->values.n = p->more.n = p->bounds.n = 0;
	return r;
}

static int pack_figures(struct figures_encoder *p, const struct figures_blob *blob)
{
	int r = 0;

	PACK_FIGURES(FIGURES_PROCESS, (uint64_t)(f->process - (i ? f[-1].process : 0)));
	PACK_FIGURES(FIGURES_OP, (uint64_t)f->op);
	PACK_FIGURES(FIGURES_MEASURED, (uint64_t)f->measured);
	if (r == 0)
		r = pack_histograms(p, blob);
	if (r == 0)
		r = pack_totals(p, blob);
	if (r == 0)
		r = figures_pack_blame(p, blob);
#define KEPT_FIGURE(name, id, member) PACK_FIGURES(FIGURES_##name, KEPT_GET(f->member));
#include "events/columns.def"
	return r;
}

static uint64_t text_piece(const char *text, size_t at)
{
	uint64_t value;

	_Static_assert(RECORD_COMM_BYTES == 2 * sizeof(value), "a name is two columns");
	_Static_assert(ACCOUNT_PATH_BYTES == 32 * sizeof(value), "the name of a resource is 32 columns");
	_Static_assert(ACCOUNT_DEVICE_BYTES == 2 * sizeof(value), "the name of a device is two columns");
	memcpy(&value, text + at, sizeof(value));
	return value;
}

static int pack_behind(struct figures_encoder *p, const struct figures_blob *blob)
{
	int r = 0;

	PACK_BEHIND(FIGURES_BEHIND_PROCESS, (uint64_t)(b->process - (i ? b[-1].process : 0)));
	PACK_BEHIND(FIGURES_BEHIND_TGID, (uint64_t)b->tgid);
	PACK_BEHIND(FIGURES_BEHIND_UID, (uint64_t)b->uid);
	PACK_BEHIND(FIGURES_BEHIND_NS, b->ns);
	PACK_BEHIND(FIGURES_BEHIND_COMM, text_piece(b->comm, 0));
	PACK_BEHIND(FIGURES_BEHIND_COMM_REST, text_piece(b->comm, sizeof(uint64_t)));
	PACK_BEHIND(FIGURES_BEHIND_BETWEEN, (uint64_t)b->is_between);
	PACK_BEHIND(FIGURES_BEHIND_GUARDED, (uint64_t)b->is_guarded);
	return r;
}

static int pack_accounts(struct figures_encoder *p, const struct figures_blob *blob)
{
	int r = 0;

	PACK_ROWS(parts, x, FIGURES_PART_PROCESS, (uint64_t)(x->process - (i ? x[-1].process : 0)));
#define PART(name, member, most) PACK_ROWS(parts, x, FIGURES_PART_##name, (uint64_t)x->member);
#include "archive/codec/account_columns.def"
	PACK_ROWS(waits, w, FIGURES_WAIT_PROCESS, (uint64_t)(w->process - (i ? w[-1].process : 0)));
#define WAIT(name, member, most) PACK_ROWS(waits, w, FIGURES_WAIT_##name, (uint64_t)w->member);
#define WAIT_TEXT(name, member, at) PACK_ROWS(waits, w, FIGURES_WAIT_##name, text_piece(w->member, at));
#include "archive/codec/account_columns.def"
	return r;
}

int figures_encode(struct figures_encoder *p, const struct figures_blob *blob, struct buf *out, uint32_t *ret_crc)
{
	size_t begin = out->n;
	uint8_t *at;
	int r;

	if (blob->figures.n > FIGURES_ROWS_MAX || blob->behind.n > FIGURES_ROWS_MAX ||
	    blob->parts.n > FIGURES_ROWS_MAX || blob->waits.n > FIGURES_ROWS_MAX)
		return -E2BIG;
	p->out = out;
	p->values.n = p->more.n = p->bounds.n = 0; /* left by an encoding that failed */
	p->bounds.failed = false;
	at = buf_reserve(out, 1 + 4 * VARINT_BYTES_MAX);
	if (!at)
		return -ENOMEM;
	*at++ = FIGURES_FORMAT;
	at = varint_put(at, blob->figures.n);
	at = varint_put(at, blob->behind.n);
	at = varint_put(at, blob->parts.n);
	at = varint_put(at, blob->waits.n);
	out->n = (size_t)(at - out->data);

	r = pack_figures(p, blob);
	if (r == 0)
		r = pack_behind(p, blob);
	if (r == 0)
		r = pack_accounts(p, blob);
	if (r < 0) {
		out->n = begin;
		return r;
	}
	*ret_crc = codec_crc(out->data + begin, out->n - begin);
	return 0;
}

int figures_blob_encode(const struct figures_blob *blob, struct buf *out, uint32_t *ret_crc)
{
	struct figures_encoder *encoder = NULL;
	int r = figures_encoder_new(&encoder);

	r = r ? r : figures_encode(encoder, blob, out, ret_crc);
	figures_encoder_free(encoder);
	return r;
}
