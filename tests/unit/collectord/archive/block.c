// SPDX-License-Identifier: Apache-2.0
/*
 * Whatever is packed into a block comes back bit for bit, a column alone touches its own members
 * alone, and damage is told from events.
 */
#include "archive/codec/codec.h"

#include <errno.h>

#include "base/cleanup.h"
#include "made_events.h"
#include "tests/support/check.h"

static struct block_encoder *encoder;
static struct block_decoder *decoder;
static struct stored_event got[BLOCK_EVENTS_MAX];

static void check_head(const char *name, const struct stored_event *events, size_t n, const struct block_head *head)
{
	uint64_t t1_ns = 0, max_ns = 0;
	uint32_t slow = 0, process = events[0].process;
	bool has_ops = true;

	for (size_t i = 0; i < n; i++) {
		const struct call_record *call = &events[i].call;
		uint32_t bit = MIN(events[i].op, 255u);

		t1_ns = MAX(t1_ns, call->duration_ns > UINT64_MAX - call->start_ns
					   ? UINT64_MAX
					   : call->start_ns + call->duration_ns);
		max_ns = MAX(max_ns, call->duration_ns);
		slow += (call->reason & RECORD_REASON_SLOW) != 0;
		process = events[i].process == process ? process : 0;
		has_ops = has_ops && head->ops[bit / 8] >> bit % 8 & 1;
	}
	CHECK_INT_EQ(name, head->n, n);
	CHECK(name, head->t0_ns == events[0].call.start_ns);
	CHECK(name, head->t1_ns == t1_ns);
	CHECK(name, head->max_ns == max_ns);
	CHECK_INT_EQ(name, head->slow, slow);
	CHECK_INT_EQ(name, head->process, process);
	CHECK(name, has_ops);
}

static void check_same(const char *name, const struct stored_event *events, size_t n)
{
	size_t n_same = 0;

	for (size_t i = 0; i < n; i++)
		n_same += made_is_same(&events[i], &got[i]);
	CHECK_INT_EQ(name, n_same, n);
}

/* A column that was asked for alone is right, and a second time all else is untouched. */
static void check_columns_alone(const char *name, const struct stored_event *events, const struct buf *out,
				const struct block_head *head)
{
	static struct stored_event all[BLOCK_EVENTS_MAX];
	size_t n, n_same = 0;

	memset(all, 0xa5, sizeof(all));
	for (uint32_t id = BLOCK_TIME; id < BLOCK_COLUMN_COUNT; id++)
		CHECK_INT_EQ(name, block_decode(decoder, out->data, out->n, head->crc, BLOCK_COLUMN(id), all, &n), 0);
	for (size_t i = 0; i < head->n; i++)
		n_same += made_is_same(&events[i], &all[i]) && all[i].call.uid == 0xa5a5a5a5 &&
			  all[i].call.tgid == 0xa5a5a5a5;
	CHECK_INT_EQ(name, n_same, head->n);
}

static void test_round_trip(void)
{
	static const size_t sizes[] = { 1, 2, 7, 63, 64, 255, 256, 257, 258, 1000, 4096, BLOCK_EVENTS_MAX };

	for (size_t k = 0; k < n_made_kinds; k++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			CLEANUP(freep) struct stored_event *events = made_events(&made_kinds[k], sizes[s]);
			CLEANUP(buf_done) struct buf out = BUF_INIT;
			const char *name = made_kinds[k].name;
			struct block_head head;
			size_t n = 0;

			CHECK_INT_EQ(name, block_encode(encoder, events, sizes[s], &out, &head), 0);
			check_head(name, events, sizes[s], &head);
			memset(got, 0, sizeof(got));
			CHECK_INT_EQ(name, block_decode(decoder, out.data, out.n, head.crc, BLOCK_ALL_COLUMNS, got, &n),
				     0);
			CHECK_INT_EQ(name, n, sizes[s]);
			check_same(name, events, sizes[s]);
			check_columns_alone(name, events, &out, &head);
		}
}

static const struct made_kind *kind_of(const char *name)
{
	for (size_t k = 0; k < n_made_kinds; k++)
		if (strcmp(made_kinds[k].name, name) == 0)
			return &made_kinds[k];
	abort();
}

/* Bytes an event may take; a little above what it takes now. */
static void test_size(void)
{
	static const struct {
		const char *kind;
		size_t n;
		size_t most_bytes;
	} cases[] = {
		{ "zero", BLOCK_EVENTS_MAX, 16 }, { "largest", BLOCK_EVENTS_MAX, 2048 },
		{ "ordinary", 4096, 4096 * 16 },  { "ordinary", 16, 16 * 40 },
		{ "random", 4096, 4096 * 162 }, /* 149 bytes that nothing can shorten
						 */
		{ "again", 4096, 4096 * 13 / 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) struct stored_event *events = made_events(kind_of(cases[i].kind), cases[i].n);
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		struct block_head head;

		CHECK_INT_EQ(cases[i].kind, block_encode(encoder, events, cases[i].n, &out, &head), 0);
		CHECK_INT_IN(cases[i].kind, out.n, 1, cases[i].most_bytes);
	}
}

static void test_refused(void)
{
	CLEANUP(freep) struct stored_event *events = made_events(kind_of("ordinary"), BLOCK_EVENTS_MAX + 1);
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct block_head head;

	(void)buf_append_text(&out, "before");
	CHECK_INT_EQ("none", block_encode(encoder, events, 0, &out, &head), -EINVAL);
	CHECK_INT_EQ("too many", block_encode(encoder, events, BLOCK_EVENTS_MAX + 1, &out, &head), -E2BIG);
	events[1].call.start_ns = events[0].call.start_ns - 1;
	CHECK_INT_EQ("not in order", block_encode(encoder, events, 2, &out, &head), -EINVAL);
	out.cap = 40;
	CHECK_INT_EQ("no room", block_encode(encoder, events + 2, 1000, &out, &head), -ENOMEM);
	CHECK_INT_EQ("nothing was appended", out.n, 6);
	out.cap = 0;
	CHECK_INT_EQ("appended", block_encode(encoder, events + 2, 1000, &out, &head), 0);
	CHECK("what was there is untouched", memcmp(out.data, "before", 6) == 0);
	CHECK("the checksum is of what was appended", head.crc == codec_crc(out.data + 6, out.n - 6));
}

/* With a checksum that fits, as in a hostile file. Return: what block_decode() says */
static int decode_again(const uint8_t *data, size_t n)
{
	size_t n_events;

	return block_decode(decoder, data, n, codec_crc(data, n), BLOCK_ALL_COLUMNS, got, &n_events);
}

static void test_damage(void)
{
	CLEANUP(freep) struct stored_event *events = made_events(kind_of("ordinary"), 300);
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	static const uint8_t unknown[] = { 200, 77, 3, 1, 2, 3 };
	struct block_head head;
	size_t n = 4711, n_whole = 0;

	CHECK_INT_EQ("packed", block_encode(encoder, events, 300, &out, &head), 0);
	CHECK_INT_EQ("wrong checksum", block_decode(decoder, out.data, out.n, head.crc ^ 1, BLOCK_ALL_COLUMNS, got, &n),
		     -EBADMSG);
	CHECK_INT_EQ("nothing was told", n, 4711);

	/* cut between columns it is a block without those: what it says of itself is in the header row */
	for (size_t i = 0; i < out.n; i++) {
		int r = decode_again(out.data, i);

		n_whole += r == 0;
		CHECK("cut", r == 0 || r == -EBADMSG);
	}
	CHECK_INT_IN("cut between columns", n_whole, 1, 2 * BLOCK_COLUMN_COUNT);
	for (size_t i = 0; i < out.n * 8; i++) {
		int r;

		out.data[i / 8] ^= (uint8_t)(1u << i % 8);
		r = decode_again(out.data, out.n);
		CHECK("a bit turned", r == 0 || r == -EBADMSG || r == -ENOTSUP);
		out.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}

	CHECK_INT_EQ("a column of a later version",
		     buf_append(&out, unknown, sizeof(unknown)) + decode_again(out.data, out.n), 0);
	check_same("a column of a later version is skipped", events, 300);
	out.data[0]++;
	CHECK_INT_EQ("no block", decode_again(out.data, out.n), -EBADMSG);
	out.data[0]--;
	out.data[4] = BLOCK_FORMAT + 1;
	CHECK_INT_EQ("later format", decode_again(out.data, out.n), -ENOTSUP);
}

/* By hand, each a block of two events but for what its name says. */
static void test_by_hand(void)
{
	static const struct {
		const char *name;
		uint8_t data[40];
		size_t n;
		int want;
	} cases[] = {
		{ "no column", { 'I', 'g', 'b', 'k', 1, 2, 9 }, 7, 0 },
		{ "no event", { 'I', 'g', 'b', 'k', 1, 0, 9 }, 7, -EBADMSG },
		{ "too many events", { 'I', 'g', 'b', 'k', 1, 0x81, 0x30, 9 }, 8, -EBADMSG },
		{ "constant", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 0, 1, 5 }, 11, 0 },
		{ "constant with more behind", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 0, 2, 5, 5 }, 12, -EBADMSG },
		{ "twice", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 0, 1, 5, BLOCK_TID, 0, 1, 5 }, 15, -EBADMSG },
		{ "no such form", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 4, 1, 5 }, 11, -EBADMSG },
		{ "too large", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_REASON, 0, 2, 0x80, 2 }, 12, -EBADMSG },
		{ "dictionary", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 1, 5, 2, 5, 1, 0, 1 }, 15, 0 },
		{ "empty dictionary", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 1, 3, 0, 0, 0 }, 13, -EBADMSG },
		{ "index beyond", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 1, 5, 2, 5, 1, 0, 2 }, 15, -EBADMSG },
		{ "a word twice", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 1, 5, 2, 5, 0, 0, 1 }, 15, -EBADMSG },
		{ "bits", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 2, 3, 3, 2, 7 }, 13, 0 },
		{ "a length of 65",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_ARG0, 2, 10, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		  20,
		  -EBADMSG },
		{ "a length of 64",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_ARG0, 2, 10, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		  20,
		  0 },
		{ "fewer bits than said", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 2, 2, 3, 2 }, 12, -EBADMSG },
		{ "more bits than said", { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 2, 4, 3, 2, 7, 0 }, 14, -EBADMSG },
		{ "time passes its end",
		  { 'I',  'g',	'b',  'k',  1,	  2,	9,    BLOCK_TIME, 0,	10,
		    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,	  0xff, 1 },
		  20,
		  -EBADMSG },
		{ "a number of 65 bits",
		  { 'I',  'g',	'b',  'k',  1,	  2,	9,    BLOCK_ARG0, 0,	10,
		    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,	  0xff, 2 },
		  20,
		  -EBADMSG },
		{ "ranks",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_OP, 1, 5, 2, 5, 1, 0, 1, BLOCK_DEPTH, 4, 7, 2, 1, 2, 1, 4, 0, 0 },
		  25,
		  0 },
		{ "a rank beyond its group",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_OP, 1, 5, 2, 5, 1, 0, 1, BLOCK_DEPTH, 4, 7, 2, 1, 2, 1, 4, 1, 0 },
		  25,
		  -EBADMSG },
		{ "a group that has none",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_OP, 1, 5, 2, 5, 1, 0, 1, BLOCK_DEPTH, 4, 5, 1, 1, 2, 0, 0 },
		  23,
		  -EBADMSG },
		{ "more groups than can be",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_DEPTH, 4, 4, 0x81, 2, 0, 0 },
		  14,
		  -EBADMSG },
		{ "groups of operations too large to be few",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_OP, 0, 2, 0x80, 2, BLOCK_DEPTH, 4, 5, 1, 1, 2, 0, 0 },
		  20,
		  -EBADMSG },
		{ "ranks where nothing groups",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_TID, 4, 5, 1, 1, 2, 0, 0 },
		  15,
		  0 },
		{ "a class of blame that is none",
		  { 'I', 'g', 'b', 'k', 1, 2, 9, BLOCK_BLAME, 0, 2, 0x80, 0x50 },
		  12,
		  -EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_INT_EQ(cases[i].name, decode_again(cases[i].data, cases[i].n), cases[i].want);
}

int main(void)
{
	if (block_encoder_new(&encoder) < 0 || block_decoder_new(&decoder) < 0)
		abort();
	test_round_trip();
	test_size();
	test_refused();
	test_damage();
	test_by_hand();
	block_encoder_free(encoder);
	block_decoder_free(decoder);
	return check_result();
}
