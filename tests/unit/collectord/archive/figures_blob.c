// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of a bucket add up in any order, come back bit for bit, and damage is told from figures.
 */
#include "archive/codec/figures_pack.h"

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
	memset(&sum->left_out, 0xff, sizeof(sum->left_out));
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
	sum->error_code = (int32_t)made_random(seed);
	sum->abandoned = made_random_width(seed);
	sum->untimed = made_random_width(seed);
	sum->left_out = (struct left_out){ .calls = made_random_width(seed),
					   .ns = made_random_width(seed),
					   .bytes = made_random_width(seed),
					   .variance = made_random_width(seed),
					   .bias = made_random_width(seed),
					   .ms = made_random_width(seed) };
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
	uint32_t n_parts;
	uint32_t n_waits;
} cases[] = {
	{ "nothing", NULL, 0, 0, 0, 0, 0 },
	{ "one, all zero", fill_zero, 1, 1, 1, 0, 0 },
	{ "zero", fill_zero, 20, 20, 0, 0, 0 },
	{ "largest", fill_largest, 2, 2, 0, 0, 0 },
	{ "random", fill_random, 30, 20, 100, 0, 0 },
	{ "one", fill_ordinary, 1, 1, 0, 0, 0 },
	{ "ordinary", fill_ordinary, 10, 25, 10, 0, 0 },
	{ "who was behind alone", NULL, 0, 0, 400, 0, 0 },
	{ .name = "parts alone", .n_parts = 300 },
	{ .name = "waits alone", .n_waits = 300 },
	{ .name = "one of each",
	  .fill = fill_ordinary,
	  .n_processes = 1,
	  .n_ops = 1,
	  .n_behind = 1,
	  .n_parts = 1,
	  .n_waits = 1 },
	{ .name = "many of each",
	  .fill = fill_ordinary,
	  .n_processes = 10,
	  .n_ops = 9,
	  .n_behind = 60,
	  .n_parts = 500,
	  .n_waits = 700 },
};

static void behind_of(uint64_t *seed, struct stored_behind *ret)
{
	*ret = (struct stored_behind){ .process = (uint32_t)(made_random(seed) % 4),
				       .tgid = (uint32_t)(made_random(seed) % 50),
				       .uid = made_random(seed) % 2 ? 0 : UINT32_MAX,
				       .ns = made_random_width(seed),
				       .is_between = made_random(seed) % 2,
				       .is_guarded = made_random(seed) % 2 };
	memcpy(ret->comm, made_random(seed) % 2 ? "logrotate\0\0\0\0\0\0" : "\xff no end at all ", sizeof(ret->comm));
}

static void part_of(uint64_t *seed, struct stored_part *ret)
{
	*ret = (struct stored_part){ .process = (uint32_t)(made_random(seed) % 3),
				     .tid = made_random(seed) % 2 ? UINT32_MAX : (uint32_t)(made_random(seed) % 5),
				     .op = made_random(seed) % 2 ? 0 : (uint32_t)made_random_width(seed),
				     .where = (uint8_t)(made_random(seed) % ACCOUNT_WHERE_COUNT),
				     .class = (uint8_t)(made_random(seed) % BLAME_COUNT),
				     .is_driving = made_random(seed) % 2,
				     .ns = made_random_width(seed) };
}

static void wait_of(uint64_t *seed, struct stored_wait *ret)
{
	*ret = (struct stored_wait){
		.process = (uint32_t)(made_random(seed) % 3),
		.wait = { .ns = made_random_width(seed),
			  .max_ns = made_random_width(seed),
			  .count = made_random_width(seed),
			  .resource = made_random(seed) % 2 ? UINT64_MAX : made_random(seed) % 3,
			  .device = made_random(seed) % 2 ? UINT32_MAX : 0,
			  .tid = (uint32_t)(made_random(seed) % 3),
			  .op = (uint32_t)(made_random(seed) % 3),
			  .waker_tgid = made_random(seed) % 2 ? UINT32_MAX : 0,
			  .waker_tid = made_random(seed) % 2 ? UINT32_MAX : 0,
			  .waker_uid = made_random(seed) % 2 ? UINT32_MAX : 0,
			  .is_waker_guarded = made_random(seed) % 2,
			  .class = (uint8_t)(made_random(seed) % BLAME_COUNT),
			  .kind = (uint8_t)(made_random(seed) % RESOURCE_COUNT),
			  .is_meanwhile = made_random(seed) % 2 },
	};
	memcpy(ret->wait.waker_comm, made_random(seed) % 2 ? "pt_data_worker\0" : "\xff no end at all ",
	       sizeof(ret->wait.waker_comm));
	if (made_random(seed) % 2)
		(void)snprintf(ret->wait.name, sizeof(ret->wait.name), "/data/train-00017-of-00256.tar");
	else
		for (size_t i = 0; i < sizeof(ret->wait.name); i++)
			ret->wait.name[i] = (char)(1 + i % 255); /* not one byte of it is a zero */
	memcpy(ret->wait.device_name, made_random(seed) % 2 ? "nvme0n1p2\0\0\0\0\0\0" : "\xff no end at all ",
	       sizeof(ret->wait.device_name));
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
	for (uint32_t i = 0; i < cases[at].n_parts; i++) {
		uint64_t seed = (uint64_t)i * step % cases[at].n_parts;
		struct stored_part part;

		part_of(&seed, &part);
		CHECK_INT_EQ(cases[at].name, figures_blob_add_part(blob, &part), 0);
	}
	for (uint32_t i = 0; i < cases[at].n_waits; i++) {
		uint64_t seed = (uint64_t)i * step % cases[at].n_waits;
		struct stored_wait wait;

		wait_of(&seed, &wait);
		CHECK_INT_EQ(cases[at].name, figures_blob_add_wait(blob, &wait), 0);
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
	       x->error_code == y->error_code && x->abandoned == y->abandoned && x->untimed == y->untimed &&
	       memcmp(&x->left_out, &y->left_out, sizeof(x->left_out)) == 0 && x->durations.sum == y->durations.sum;
}

static bool is_same_wait(const struct stored_wait *a, const struct stored_wait *b)
{
	const struct account_wait *x = &a->wait, *y = &b->wait;

	return a->process == b->process && x->ns == y->ns && x->max_ns == y->max_ns && x->count == y->count &&
	       x->resource == y->resource && x->device == y->device && x->tid == y->tid && x->op == y->op &&
	       x->waker_tgid == y->waker_tgid && x->waker_tid == y->waker_tid && x->waker_uid == y->waker_uid &&
	       x->is_waker_guarded == y->is_waker_guarded && x->class == y->class && x->kind == y->kind &&
	       x->is_meanwhile == y->is_meanwhile && memcmp(x->waker_comm, y->waker_comm, sizeof(x->waker_comm)) == 0 &&
	       memcmp(x->name, y->name, sizeof(x->name)) == 0;
}

static void check_same_accounts(const char *name, const struct figures_blob *got, const struct figures_blob *want)
{
	size_t n_same = 0;

	CHECK_INT_EQ(name, got->parts.n, want->parts.n);
	for (size_t i = 0; i < MIN(got->parts.n, want->parts.n); i++) {
		const struct stored_part *x = &got->parts.items[i], *y = &want->parts.items[i];

		n_same += x->process == y->process && x->tid == y->tid && x->op == y->op && x->where == y->where &&
			  x->class == y->class && x->is_driving == y->is_driving && x->ns == y->ns;
	}
	CHECK_INT_EQ(name, n_same, want->parts.n);
	CHECK_INT_EQ(name, got->waits.n, want->waits.n);
	n_same = 0;
	for (size_t i = 0; i < MIN(got->waits.n, want->waits.n); i++)
		n_same += is_same_wait(&got->waits.items[i], &want->waits.items[i]);
	CHECK_INT_EQ(name, n_same, want->waits.n);
	CHECK_INT_EQ(name, figures_blob_rows(got), figures_blob_rows(want));
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
			  x->is_between == y->is_between && x->is_guarded == y->is_guarded &&
			  memcmp(x->comm, y->comm, sizeof(x->comm)) == 0;
	}
	CHECK_INT_EQ(name, n_same, want->behind.n);
	check_same_accounts(name, got, want);
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

/* A reader of figures alone finds all but parts and waits. */
static void test_without_accounts(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(figures_blob_done) struct figures_blob blob = { 0 }, got = { 0 };
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		struct figures_decoder *decoder = NULL;
		uint32_t crc = 0;

		build(i, 1, &blob);
		CHECK_INT_EQ(cases[i].name, figures_blob_encode(&blob, &out, &crc), 0);
		CHECK_INT_EQ(cases[i].name, figures_decoder_new(&decoder), 0);
		figures_decoder_skip_accounts(decoder);
		CHECK_INT_EQ(cases[i].name, figures_decode(decoder, out.data, out.n, crc, &got), 0);
		figures_decoder_free(decoder);
		ARRAY_DONE(&blob.parts);
		ARRAY_DONE(&blob.waits);
		check_same(cases[i].name, &got, &blob);
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

/* The first rows' histograms are moved, more are added. */
static void test_take(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(figures_blob_done) struct figures_blob sum = { 0 }, first = { 0 }, more = { 0 }, want = { 0 };

		build(i, 1, &first);
		build(0, 1, &more);
		build(i, 1, &want);
		build(0, 1, &want);
		CHECK_INT_EQ(cases[i].name, figures_blob_take(&sum, &first), 0);
		for (size_t k = 0; k < first.figures.n; k++)
			CHECK(cases[i].name, !first.figures.items[k].figures.durations.counts);
		CHECK_INT_EQ(cases[i].name, figures_blob_take(&sum, &more), 0);
		check_same(cases[i].name, &sum, &want);
	}
}

#define REVERSE(list)                                                                                                  \
	for (size_t k = 0; k < (list)->n / 2; k++) {                                                                   \
		__typeof__(*(list)->items) other_ = (list)->items[k];                                                  \
		(list)->items[k] = (list)->items[(list)->n - 1 - k];                                                   \
		(list)->items[(list)->n - 1 - k] = other_;                                                             \
	}

static void test_sort(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(figures_blob_done) struct figures_blob blob = { 0 }, want = { 0 };

		build(i, 1, &blob);
		build(i, 1, &want);
		REVERSE(&blob.figures);
		REVERSE(&blob.behind);
		REVERSE(&blob.parts);
		REVERSE(&blob.waits);
		CHECK_INT_EQ(cases[i].name, figures_blob_sort(&blob), 0);
		check_same(cases[i].name, &blob, &want);
		/* Rows that come to be alike are one: twice as much. */
		for (size_t k = 1; k < blob.parts.n; k++)
			blob.parts.items[k] = blob.parts.items[0];
		CHECK_INT_EQ(cases[i].name, figures_blob_sort(&blob), 0);
		CHECK_INT_EQ(cases[i].name, blob.parts.n, MIN(want.parts.n, 1u));
		if (want.parts.n)
			CHECK_INT_EQ(cases[i].name, blob.parts.items[0].ns, want.parts.n * want.parts.items[0].ns);
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

/* A thread's parts and waits are summed; who drove and who waited for what stay apart. */
static void test_sum_accounts(void)
{
	static const struct stored_part parts[] = {
		{ .ns = 5, .process = 1, .tid = 7, .where = ACCOUNT_BETWEEN, .class = BLAME_LOCK },
		{ .ns = 9, .process = 1, .tid = 7, .where = ACCOUNT_BETWEEN, .class = BLAME_LOCK, .is_driving = true },
		{ .ns = 6, .process = 1, .tid = 7, .where = ACCOUNT_BETWEEN, .class = BLAME_LOCK },
		{ .ns = 1, .process = 1, .tid = 7, .where = ACCOUNT_IN, .class = BLAME_LOCK },
		{ .ns = 2, .process = 1, .tid = 7, .where = ACCOUNT_IN, .op = 3, .class = BLAME_LOCK },
	};
	static const uint64_t want_part[] = { 11, 1, 2, 9 };
	static const struct stored_wait waits[] = {
		{ .process = 1, .wait = { .ns = 5, .max_ns = 4, .count = 2, .tid = 7, .waker_tgid = 9 } },
		{ .process = 1, .wait = { .ns = 3, .max_ns = 3, .count = 1, .tid = 7, .waker_tgid = 8 } },
		{ .process = 1, .wait = { .ns = 9, .max_ns = 6, .count = 3, .tid = 7, .waker_tgid = 9 } },
		{ .process = 1, .wait = { .ns = 1, .max_ns = 1, .count = 1, .tid = 7, .waker_tgid = 9, .name = "x" } },
	};
	CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		CHECK_INT_EQ("part", figures_blob_add_part(&blob, &parts[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		CHECK_INT_EQ("wait", figures_blob_add_wait(&blob, &waits[i]), 0);
	CHECK_INT_EQ("parts", blob.parts.n, ARRAY_SIZE(want_part));
	for (size_t i = 0; i < MIN(blob.parts.n, ARRAY_SIZE(want_part)); i++)
		CHECK_INT_EQ("ns of a part", blob.parts.items[i].ns, want_part[i]);
	CHECK_INT_EQ("waits", blob.waits.n, 3);
	CHECK_INT_EQ("another waker", blob.waits.items[0].wait.ns, 3);
	CHECK_INT_EQ("sum of waits", blob.waits.items[1].wait.ns, 14);
	CHECK_INT_EQ("longest wait", blob.waits.items[1].wait.max_ns, 6);
	CHECK_INT_EQ("number of waits", blob.waits.items[1].wait.count, 5);
	CHECK_INT_EQ("another name", blob.waits.items[2].wait.ns, 1);
}

/* What accounts add to a row of 10 s: a few bytes for each part and wait. */
static void test_bytes(void)
{
	static const uint8_t classes[] = { BLAME_ON_CPU, BLAME_RUNNABLE, BLAME_LOCK, BLAME_DEVICE, BLAME_MEMORY };
	CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
	CLEANUP(buf_done) struct buf out = BUF_INIT, without = BUF_INIT;
	uint64_t seed = 1;
	uint32_t crc;

	CHECK_INT_EQ("without", figures_blob_encode(&blob, &without, &crc), 0);
	for (uint32_t tid = 0; tid < 8; tid++) {
		for (size_t i = 0; i < 10 * ARRAY_SIZE(classes) / 2; i++) {
			struct stored_part part = { .ns = made_random(&seed) % 2000000000,
						    .process = 5,
						    .tid = 4711 + tid,
						    .is_driving = tid == 0,
						    .where = i < 5 ? ACCOUNT_BETWEEN : ACCOUNT_IN,
						    .op = i < 5 ? 0 : 100 + (uint32_t)i / 5,
						    .class = classes[i % 5] };

			CHECK_INT_EQ("part", figures_blob_add_part(&blob, &part), 0);
		}
		for (uint32_t i = 0; i < 4; i++) {
			struct stored_wait wait = { .process = 5,
						    .wait = { .ns = made_random(&seed) % 2000000000,
							      .max_ns = made_random(&seed) % 100000000,
							      .count = made_random(&seed) % 100,
							      .resource = 0x7f0012340000 + i * 64,
							      .tid = 4711 + tid,
							      .class = BLAME_LOCK,
							      .kind = RESOURCE_FUTEX,
							      .waker_tgid = 4711,
							      .waker_tid = 4711 + i,
							      .waker_uid = 1000,
							      .waker_comm = "python3" } };

			CHECK_INT_EQ("wait", figures_blob_add_wait(&blob, &wait), 0);
		}
	}
	CHECK_INT_EQ("with", figures_blob_encode(&blob, &out, &crc), 0);
	CHECK("few bytes a row", out.n - without.n <= 8 * (blob.parts.n + blob.waits.n));
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
		{ "later format", { 3, 0, 0, 0, 0 }, 5, -ENOTSUP },
		{ "nothing", { 1, 0, 0 }, 3, 0 },
		{ "nothing, accounts too", { 2, 0, 0, 0, 0 }, 5, 0 },
		{ "no number of waits", { 2, 0, 0, 0 }, 4, -EBADMSG },
		{ "the same part twice", { 2, 0, 0, 2, 0 }, 5, -EBADMSG },
		{ "the same wait twice", { 2, 0, 0, 0, 2 }, 5, -EBADMSG },
		{ "too many parts", { 2, 0, 0, 0x81, 0x80, 0x10, 0 }, 7, -EBADMSG },
		{ "too many waits", { 2, 0, 0, 0, 0x81, 0x80, 0x10 }, 7, -EBADMSG },
		{ "one part of zero", { 2, 0, 0, 1, 0 }, 5, 0 },
		{ "the last place of a part", { 2, 0, 0, 1, 0, FIGURES_PART_WHERE, 0, 1, 2 }, 9, 0 },
		{ "no place of a part", { 2, 0, 0, 1, 0, FIGURES_PART_WHERE, 0, 1, 3 }, 9, -EBADMSG },
		{ "no class of a part", { 2, 0, 0, 1, 0, FIGURES_PART_CLASS, 0, 1, BLAME_COUNT }, 9, -EBADMSG },
		{ "driving or not", { 2, 0, 0, 1, 0, FIGURES_PART_DRIVING, 0, 1, 2 }, 9, -EBADMSG },
		{ "the last class of a wait", { 2, 0, 0, 0, 1, FIGURES_WAIT_CLASS, 0, 1, BLAME_COUNT - 1 }, 9, 0 },
		{ "no class of a wait", { 2, 0, 0, 0, 1, FIGURES_WAIT_CLASS, 0, 1, BLAME_COUNT }, 9, -EBADMSG },
		{ "no kind of a wait", { 2, 0, 0, 0, 1, FIGURES_WAIT_KIND, 0, 1, RESOURCE_COUNT }, 9, -EBADMSG },
		{ "between or not", { 2, 0, 1, 0, 0, FIGURES_BEHIND_BETWEEN, 0, 1, 2 }, 9, -EBADMSG },
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

	build(ARRAY_SIZE(cases) - 1, 1, &blob);
	CHECK_INT_EQ("packed", figures_blob_encode(&blob, &out, &crc), 0);
	for (size_t n = 0; n < out.n; n += 7)
		CHECK("cut", decode_again(out.data, n) == -EBADMSG || n > 7);
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
	test_without_accounts();
	test_order();
	test_merge();
	test_take();
	test_sort();
	test_sum();
	test_sum_accounts();
	test_bytes();
	test_damage();
	return check_result();
}
