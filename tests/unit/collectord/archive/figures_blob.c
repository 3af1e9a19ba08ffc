// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of a bucket add up in any order, come back bit for bit, and damage is told from figures.
 */
#include "archive/codec/codec.h"

#include <errno.h>

#include "base/cleanup.h"
#include "made_events.h"
#include "tests/support/check.h"

static void stored_figures_done(struct stored_figures *f)
{
	op_figures_done(&f->figures);
}

typedef void (*fill_func)(struct stored_figures *f, uint64_t *seed);

static void fill_zero(struct stored_figures *f, uint64_t *seed)
{
	(void)f;
	(void)seed;
}

static void fill_largest(struct stored_figures *f, uint64_t *seed)
{
	struct op_figures *sum = &f->figures;

	(void)seed;
	f->measured = UINT16_MAX;
	sum->total_ns = sum->raw_ns = sum->max_ns = sum->bytes = UINT64_MAX;
	sum->errors = sum->abandoned = sum->untimed = UINT64_MAX;
	for (int i = 0; i < BLAME_COUNT; i++)
		sum->blame_ns[i] = UINT64_MAX;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		(void)histogram_add(&sum->durations, i, UINT64_MAX);
}

static void fill_random(struct stored_figures *f, uint64_t *seed)
{
	struct op_figures *sum = &f->figures;

	f->measured = (uint16_t)made_random(seed);
	sum->total_ns = made_random_width(seed);
	sum->raw_ns = made_random_width(seed);
	sum->max_ns = made_random_width(seed);
	sum->bytes = made_random_width(seed);
	sum->errors = made_random_width(seed);
	sum->abandoned = made_random_width(seed);
	sum->untimed = made_random_width(seed);
	for (int i = 0; i < BLAME_COUNT; i++)
		sum->blame_ns[i] = made_random(seed) % 2 ? 0 : made_random_width(seed);
	for (uint64_t n = made_random(seed) % 40; n; n--)
		(void)histogram_add(&sum->durations, (uint32_t)(made_random(seed) % HISTOGRAM_BUCKETS),
				    made_random_width(seed));
}

/* Some calls, as they are counted. */
static void fill_ordinary(struct stored_figures *f, uint64_t *seed)
{
	struct op_figures *sum = &f->figures;

	f->measured = 0x3ff;
	for (uint64_t n = 1 + made_random(seed) % 20; n; n--) {
		uint64_t ns = made_random(seed) % 5000000, waited_ns = made_random(seed) % (ns + 1);

		sum->total_ns += ns;
		sum->raw_ns += ns + 800;
		sum->max_ns = MAX(sum->max_ns, ns);
		sum->bytes += 4096;
		sum->blame_ns[BLAME_RUNNABLE] += waited_ns;
		sum->blame_ns[BLAME_ON_CPU] += ns + 800 - waited_ns;
		(void)histogram_add(&sum->durations, histogram_bucket_of(ns), 1);
	}
}

static const struct {
	const char *name;
	fill_func fill;
	uint32_t n_processes;
	uint32_t n_ops;
	uint32_t n_behind;
} cases[] = {
	{ "nothing", NULL, 0, 0, 0 },
	{ "one, all zero", fill_zero, 1, 1, 1 },
	{ "zero", fill_zero, 20, 20, 0 },
	{ "largest", fill_largest, 2, 2, 0 },
	{ "random", fill_random, 30, 20, 100 },
	{ "one", fill_ordinary, 1, 1, 0 },
	{ "ordinary", fill_ordinary, 10, 25, 10 },
	{ "who was behind alone", NULL, 0, 0, 400 },
};

static void behind_of(uint64_t *seed, struct stored_behind *ret)
{
	*ret = (struct stored_behind){ .process = (uint32_t)(made_random(seed) % 4),
				       .tgid = (uint32_t)(made_random(seed) % 50),
				       .uid = made_random(seed) % 2 ? 0 : UINT32_MAX,
				       .ns = made_random_width(seed) };
	memcpy(ret->comm, made_random(seed) % 2 ? "logrotate\0\0\0\0\0\0" : "\xff no end at all ", sizeof(ret->comm));
}

/* @step: another order for each that is no divisor */
static void build(size_t at, uint32_t step, struct figures_blob *blob)
{
	uint32_t n = cases[at].n_processes * cases[at].n_ops;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = (uint32_t)((uint64_t)i * step % n);
		uint64_t seed = k;
		CLEANUP(stored_figures_done)
		struct stored_figures f = { .process = k / cases[at].n_ops * 1000, .op = k % cases[at].n_ops };

		cases[at].fill(&f, &seed);
		CHECK_INT_EQ(cases[at].name, figures_blob_add(blob, &f), 0);
	}
	for (uint32_t i = 0; i < cases[at].n_behind; i++) {
		uint64_t seed = (uint64_t)i * step % cases[at].n_behind;
		struct stored_behind b;

		behind_of(&seed, &b);
		CHECK_INT_EQ(cases[at].name, figures_blob_add_behind(blob, &b), 0);
	}
}

static bool is_same(const struct stored_figures *a, const struct stored_figures *b)
{
	const struct op_figures *x = &a->figures, *y = &b->figures;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram_count(&x->durations, i) != histogram_count(&y->durations, i))
			return false;
	return a->process == b->process && a->op == b->op && a->measured == b->measured && x->total_ns == y->total_ns &&
	       x->raw_ns == y->raw_ns && x->max_ns == y->max_ns && x->bytes == y->bytes &&
	       memcmp(x->blame_ns, y->blame_ns, sizeof(x->blame_ns)) == 0 && x->errors == y->errors &&
	       x->abandoned == y->abandoned && x->untimed == y->untimed && x->durations.sum == y->durations.sum;
}

static void check_same(const char *name, const struct figures_blob *got, const struct figures_blob *want)
{
	size_t n_same = 0;

	CHECK_INT_EQ(name, got->figures.n, want->figures.n);
	for (size_t i = 0; i < MIN(got->figures.n, want->figures.n); i++)
		n_same += is_same(&got->figures.items[i], &want->figures.items[i]);
	CHECK_INT_EQ(name, n_same, want->figures.n);
	CHECK_INT_EQ(name, got->behind.n, want->behind.n);
	n_same = 0;
	for (size_t i = 0; i < MIN(got->behind.n, want->behind.n); i++) {
		const struct stored_behind *x = &got->behind.items[i], *y = &want->behind.items[i];

		n_same += x->process == y->process && x->tgid == y->tgid && x->uid == y->uid && x->ns == y->ns &&
			  memcmp(x->comm, y->comm, sizeof(x->comm)) == 0;
	}
	CHECK_INT_EQ(name, n_same, want->behind.n);
}

static void test_round_trip(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(figures_blob_done) struct figures_blob blob = { 0 }, got = { 0 };
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		uint32_t crc = 0;

		build(i, 1, &blob);
		(void)buf_append_text(&out, "before");
		CHECK_INT_EQ(cases[i].name, figures_blob_encode(&blob, &out, &crc), 0);
		CHECK_INT_EQ(cases[i].name, figures_blob_decode(out.data + 6, out.n - 6, crc, &got), 0);
		check_same(cases[i].name, &got, &blob);
		CHECK_INT_EQ(cases[i].name, figures_blob_decode(out.data + 6, out.n - 6, ~crc, &got), -EBADMSG);
	}
}

static void test_order(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(figures_blob_done) struct figures_blob blob = { 0 }, other = { 0 };

		build(i, 1, &blob);
		build(i, 4099, &other); /* a prime */
		check_same(cases[i].name, &other, &blob);
		for (size_t k = 1; k < blob.figures.n; k++)
			CHECK(cases[i].name, blob.figures.items[k - 1].process < blob.figures.items[k].process ||
						     blob.figures.items[k - 1].op < blob.figures.items[k].op);
	}
}

/* What a bucket holds twice over is twice as much, but for the longest call. */
static void test_merge(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
			CLEANUP(figures_blob_done) struct figures_blob merged = { 0 }, other = { 0 }, want = { 0 };

			build(i, 1, &merged);
			build(k, 1, &other);
			build(i, 1, &want);
			build(k, 1, &want);
			CHECK_INT_EQ(cases[i].name, figures_blob_merge(&merged, &other), 0);
			check_same(cases[k].name, &merged, &want);
		}
}

static void test_sum(void)
{
	CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
	CLEANUP(stored_figures_done) struct stored_figures f = { .process = 7, .op = 3, .measured = 2 };
	const struct op_figures *sum;

	f.figures = (struct op_figures){ .total_ns = 10,
					 .raw_ns = 12,
					 .max_ns = 9,
					 .bytes = 5,
					 .errors = 1,
					 .untimed = 2,
					 .abandoned = 3,
					 .blame_ns = { [BLAME_LOCK] = 4 } };
	(void)histogram_add(&f.figures.durations, 100, 6);
	CHECK_INT_EQ("add", figures_blob_add(&blob, &f), 0);
	f.figures.max_ns = 8;
	f.measured = 4;
	(void)histogram_add(&f.figures.durations, 300, 1);
	CHECK_INT_EQ("add", figures_blob_add(&blob, &f), 0);

	CHECK_INT_EQ("one row", blob.figures.n, 1);
	sum = &blob.figures.items[0].figures;
	CHECK_INT_EQ("total", sum->total_ns, 20);
	CHECK_INT_EQ("raw", sum->raw_ns, 24);
	CHECK_INT_EQ("longest", sum->max_ns, 9);
	CHECK_INT_EQ("bytes", sum->bytes, 10);
	CHECK_INT_EQ("errors", sum->errors, 2);
	CHECK_INT_EQ("untimed", sum->untimed, 4);
	CHECK_INT_EQ("abandoned", sum->abandoned, 6);
	CHECK_INT_EQ("blame", sum->blame_ns[BLAME_LOCK], 8);
	CHECK_INT_EQ("calls", sum->durations.sum, 13);
	CHECK_INT_EQ("bucket", histogram_count(&sum->durations, 100), 12);
	CHECK_INT_EQ("new bucket", histogram_count(&sum->durations, 300), 1);
	CHECK_INT_EQ("measured at any time", blob.figures.items[0].measured, 6);
}

static int decode_again(const uint8_t *data, size_t n)
{
	struct figures_blob blob = { 0 };
	int r = figures_blob_decode(data, n, codec_crc(data, n), &blob);

	figures_blob_done(&blob);
	return r;
}

static void test_damage(void)
{
	static const struct {
		const char *name;
		uint8_t data[24];
		size_t n;
		int want;
	} by_hand[] = {
		{ "no byte", { 0 }, 0, -EBADMSG },
		{ "no format", { 0, 0, 0 }, 3, -EBADMSG },
		{ "later format", { 2, 0, 0 }, 3, -ENOTSUP },
		{ "nothing", { 1, 0, 0 }, 3, 0 },
		{ "one row of zero", { 1, 1, 0 }, 3, 0 },
		{ "the same row twice", { 1, 2, 0 }, 3, -EBADMSG },
		{ "the same behind twice", { 1, 0, 2 }, 3, -EBADMSG },
		{ "too many", { 1, 0x81, 0x80, 0x10, 0 }, 5, -EBADMSG },
		{ "a bucket beyond the last", { 1, 1, 0, 13, 0, 1, 1, 14, 0, 2, 0xe0, 3 }, 12, -EBADMSG },
		{ "the last bucket", { 1, 1, 0, 13, 0, 1, 1, 14, 0, 2, 0xdf, 3 }, 12, 0 },
		{ "the second beyond the last", { 1, 1, 0, 13, 0, 1, 2, 14, 0, 2, 0xdf, 3 }, 12, -EBADMSG },
		{ "a bucket twice", { 1, 1, 0, 13, 0, 1, 2 }, 7, -EBADMSG },
	};
	CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	uint32_t crc;

	for (size_t i = 0; i < ARRAY_SIZE(by_hand); i++)
		CHECK_INT_EQ(by_hand[i].name, decode_again(by_hand[i].data, by_hand[i].n), by_hand[i].want);

	build(6, 1, &blob);
	CHECK_INT_EQ("packed", figures_blob_encode(&blob, &out, &crc), 0);
	for (size_t n = 0; n < out.n; n += 7)
		CHECK("cut", decode_again(out.data, n) == -EBADMSG || n > 3);
	for (size_t i = 0; i < out.n * 8; i += 5) {
		int r;

		out.data[i / 8] ^= (uint8_t)(1u << i % 8);
		r = decode_again(out.data, out.n);
		CHECK("a bit turned", r == 0 || r == -EBADMSG || r == -ENOTSUP);
		out.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}

int main(void)
{
	test_round_trip();
	test_order();
	test_merge();
	test_sum();
	test_damage();
	return check_result();
}
