// SPDX-License-Identifier: Apache-2.0
/*
 * Cost of storing and reading an event: bytes by column, CPU seconds to pack and to unpack.
 *
 * The events are less compressible than real ones: 926 a second in bursts, 254 threads of 50 processes of
 * 5 users, 30 operations, 2 000 stacks; half slow calls with two or three parts of blame, half
 * samples with one or two; durations, parts and gaps are random. Figures: one call in eight
 * makes a row of its own. Prints JSON.
 *
 *   bench_store [EVENTS]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "archive/codec/codec.h"
#include "archive/codec/column.h"
#include "archive/codec/varint.h"

#define PROCESSES 50
#define USERS 5
#define STACKS 40 /* stacks of each process */
#define OPS 30
#define RATE_PER_S 926
#define BURST 20
#define BURST_GAP_NS 300000
#define SEAL_EVENTS 65536
#define BLOCK_EVENTS 4096
#define MIXED_BELOW 512 /* processes with fewer events at a seal share a block with others of their user */

struct sealed {
	uint8_t *data;
	size_t n;
	uint32_t crc;
};

struct bench {
	struct block_encoder *encoder;
	ARRAY(struct sealed) blocks;
	size_t n_events;
	size_t tail_bytes;
	size_t block_bytes;
	size_t column_bytes[COLUMN_IDS];
	double tail_cpu_s;
	double encode_cpu_s;
	uint64_t seed;
	uint64_t now_ns;
	uint32_t burst_process;
	uint32_t burst_left;
};

static double cpu_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t random_u64(struct bench *b)
{
	uint64_t z = b->seed += 0x9e3779b97f4a7c15ull; /* splitmix64, public domain */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static double random_ratio(struct bench *b)
{
	return (double)(random_u64(b) >> 11) / (double)(1ull << 53);
}

static uint64_t random_gap_ns(struct bench *b, double mean_ns)
{
	return (uint64_t)(-log(1 - random_ratio(b)) * mean_ns);
}

/* Random number below n; small ones are more frequent. */
static uint32_t random_skewed(struct bench *b, uint32_t n)
{
	double ratio = random_ratio(b);

	return (uint32_t)(ratio * ratio * n);
}

static uint64_t random_between_powers(struct bench *b, double low, double high)
{
	return (uint64_t)exp2(low + random_ratio(b) * (high - low));
}

static void blame_add(struct bench *b, struct call_record *call, uint32_t n_parts)
{
	uint64_t left_ns = call->raw_ns;

	/* one of the parts is the CPU time, the remainder */
	for (uint32_t i = 1; i < n_parts; i++) {
		uint64_t part_ns = (uint64_t)(random_ratio(b) * (double)left_ns);

		call->blame_ns[1 + random_skewed(b, BLAME_COUNT - 1)] += part_ns;
		left_ns -= part_ns;
	}
}

static void event_make(struct bench *b, struct stored_event *e)
{
	bool is_slow = random_u64(b) % 2;

	*e = (struct stored_event){ 0 };
	if (b->burst_left == 0) {
		b->burst_process = random_skewed(b, PROCESSES);
		b->burst_left = 1 + (uint32_t)random_gap_ns(b, BURST);
		b->now_ns += random_gap_ns(b, BURST * (1e9 / RATE_PER_S - BURST_GAP_NS));
	}
	b->burst_left--;
	b->now_ns += random_gap_ns(b, BURST_GAP_NS);

	e->process = 1 + b->burst_process;
	e->op = 1 + random_skewed(b, OPS);
	e->stack = b->burst_process * STACKS + random_skewed(b, STACKS);
	e->measured = (1u << BLAME_COUNT) - 1;
	e->call.start_ns = b->now_ns;
	e->call.duration_ns = is_slow ? random_between_powers(b, 15, 28) : random_between_powers(b, 10, 18);
	e->call.raw_ns = e->call.duration_ns + 700 + e->op * 13 + 260 * (random_u64(b) % 4);
	e->call.tid = 4000 + b->burst_process * 50 + random_skewed(b, b->burst_process < 4 ? 6 : 5);
	e->call.args[0] = 256 * (1 + random_u64(b) % 200);
	e->call.args[1] = random_skewed(b, 5);
	e->call.ret = random_u64(b) % 100 ? 0 : 2;
	e->call.reason = (is_slow ? RECORD_REASON_SLOW : RECORD_REASON_SAMPLE) |
			 (e->call.ret ? RECORD_REASON_ERROR : 0) | (e->op % 3 ? 0 : RECORD_REASON_SYNC);
	e->call.depth = e->op % 2;
	blame_add(b, &e->call, (is_slow ? 2 : 1) + (uint32_t)(random_u64(b) % 2));
}

/* ---- packing ---- */

/* Count the bytes of a block by column. */
static int columns_count(struct bench *b, const uint8_t *data, size_t n)
{
	struct varint_reader reader = { .p = data + 5, .end = data + n };
	struct column_index index;
	int r;

	(void)varint_get(&reader);
	(void)varint_get(&reader);
	r = column_find(reader.p, (size_t)(reader.end - reader.p), &index);
	if (r < 0)
		return r;
	for (int i = 0; i < COLUMN_IDS; i++)
		if (index.columns[i].bytes)
			b->column_bytes[i] += index.columns[i].n_bytes + 3;
	return 0;
}

static int block_keep(struct bench *b, const struct stored_event *events, size_t n)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct block_head head;
	double begin_s = cpu_s();
	int r;

	r = block_encode(b->encoder, events, n, &out, &head);
	b->encode_cpu_s += cpu_s() - begin_s;
	if (r == 0)
		r = columns_count(b, out.data, out.n);
	if (r == 0)
		r = ARRAY_PUSH(&b->blocks, ((struct sealed){ .data = out.data, .n = out.n, .crc = head.crc }));
	if (r < 0)
		return r;
	b->block_bytes += out.n;
	out = (struct buf)BUF_INIT; /* now owned by the list */
	return 0;
}

static int blocks_keep(struct bench *b, const struct stored_event *events, size_t n)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < n; at += BLOCK_EVENTS)
		r = block_keep(b, events + at, MIN(n - at, (size_t)BLOCK_EVENTS));
	return r;
}

static uint32_t user_of(uint32_t process)
{
	return process % USERS;
}

/* Make blocks of one process each, and one for the small processes of each user; each is in order of time. */
static int seal(struct bench *b, const struct stored_event *events, size_t n, struct stored_event *room)
{
	size_t count[PROCESSES + 1] = { 0 };

	for (size_t i = 0; i < n; i++)
		count[events[i].process]++;
	for (uint32_t process = 1; process <= PROCESSES; process++) {
		size_t k = 0;
		int r;

		for (size_t i = 0; i < n && count[process] >= MIXED_BELOW; i++)
			if (events[i].process == process)
				room[k++] = events[i];
		r = blocks_keep(b, room, k);
		if (r < 0)
			return r;
	}
	for (uint32_t user = 0; user < USERS; user++) {
		size_t k = 0;
		int r;

		for (size_t i = 0; i < n; i++)
			if (user_of(events[i].process) == user && count[events[i].process] < MIXED_BELOW)
				room[k++] = events[i];
		r = blocks_keep(b, room, k);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Make rows of the tail: one for each second and user. */
static int tail_keep(struct bench *b, const struct stored_event *events, size_t n)
{
	struct buf rows[USERS] = { 0 };
	const struct stored_event *previous[USERS] = { NULL };
	double begin_s = cpu_s();
	uint32_t crc = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t user = user_of(events[i].process);

		if (i % RATE_PER_S == 0)
			for (uint32_t k = 0; k < USERS; k++) {
				crc ^= codec_crc(rows[k].data, rows[k].n);
				b->tail_bytes += rows[k].n;
				rows[k].n = 0;
				previous[k] = NULL;
			}
		r = tail_append(&rows[user], previous[user], &events[i]);
		previous[user] = &events[i];
	}
	b->tail_cpu_s += cpu_s() - begin_s;
	for (uint32_t k = 0; k < USERS; k++) {
		b->tail_bytes += rows[k].n;
		buf_done(&rows[k]);
	}
	b->seed ^= crc & 0; /* used, so that the compiler keeps it */
	return r;
}

static int events_keep(struct bench *b, size_t n_events)
{
	CLEANUP(freep) struct stored_event *events = calloc(SEAL_EVENTS, sizeof(*events));
	CLEANUP(freep) struct stored_event *room = calloc(SEAL_EVENTS, sizeof(*room));
	int r = 0;

	if (!events || !room)
		return -ENOMEM;
	while (r == 0 && b->n_events < n_events) {
		size_t n = MIN(n_events - b->n_events, (size_t)SEAL_EVENTS);

		for (size_t i = 0; i < n; i++)
			event_make(b, &events[i]);
		r = tail_keep(b, events, n);
		if (r == 0)
			r = seal(b, events, n, room);
		b->n_events += n;
	}
	return r;
}

/* ---- unpacking ---- */

static const struct {
	const char *name;
	uint32_t columns;
} passes[] = {
	{ "all columns", BLOCK_ALL_COLUMNS },
	{ "operation, duration, blame",
	  BLOCK_COLUMN(BLOCK_OP) | BLOCK_COLUMN(BLOCK_DURATION) | BLOCK_COLUMN(BLOCK_BLAME) },
	{ "time, duration, operation",
	  BLOCK_COLUMN(BLOCK_TIME) | BLOCK_COLUMN(BLOCK_DURATION) | BLOCK_COLUMN(BLOCK_OP) },
	{ "explain: without arguments and results",
	  BLOCK_ALL_COLUMNS & ~(BLOCK_COLUMN(BLOCK_ARG0) | BLOCK_COLUMN(BLOCK_ARG1) | BLOCK_COLUMN(BLOCK_RET) |
				BLOCK_COLUMN(BLOCK_DEPTH) | BLOCK_COLUMN(BLOCK_TID)) },
};

static int pass_time(const struct bench *b, uint32_t columns, double *ret_cpu_s)
{
	static struct stored_event events[BLOCK_EVENTS_MAX];
	struct block_decoder *decoder;
	double begin_s = cpu_s();
	size_t n, n_events = 0;
	int r = block_decoder_new(&decoder);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < b->blocks.n; i++) {
		const struct sealed *block = &b->blocks.items[i];

		r = block_decode(decoder, block->data, block->n, block->crc, columns, events, &n);
		n_events += r == 0 ? n : 0;
	}
	block_decoder_free(decoder);
	*ret_cpu_s = cpu_s() - begin_s;
	return r == 0 && n_events != b->n_events ? -EBADMSG : r;
}

static void print_events(const struct bench *b)
{
	static const char *const names[BLOCK_COLUMN_COUNT] = {
		[BLOCK_TIME] = "time",	     [BLOCK_DURATION] = "duration", [BLOCK_OVERHEAD] = "overhead",
		[BLOCK_BLAME] = "blame",     [BLOCK_ARG0] = "argument 0",   [BLOCK_ARG1] = "argument 1",
		[BLOCK_TID] = "thread",	     [BLOCK_OP] = "operation",	    [BLOCK_PROCESS] = "process",
		[BLOCK_REASON] = "reason",   [BLOCK_DEPTH] = "depth",	    [BLOCK_RET] = "result",
		[BLOCK_STACK] = "stack",     [BLOCK_MEASURED] = "measured", [BLOCK_ARG2] = "argument 2",
		[BLOCK_ARG3] = "argument 3", [BLOCK_ARG4] = "argument 4",   [BLOCK_ARG5] = "argument 5",
	};
	double n = (double)b->n_events;

	printf("{\"events\": %zu, \"blocks\": %zu, \"hours\": %.2f,\n", b->n_events, b->blocks.n,
	       (double)b->now_ns / 3.6e12);
	printf(" \"bytes_per_event\": %.3f, \"tail_bytes_per_event\": %.3f,\n", (double)b->block_bytes / n,
	       (double)b->tail_bytes / n);
	printf(" \"encode_cpu_s_per_million\": %.4f, \"tail_cpu_s_per_million\": %.4f,\n", b->encode_cpu_s / n * 1e6,
	       b->tail_cpu_s / n * 1e6);
	printf(" \"column_bytes_per_event\": {");
	for (int i = BLOCK_TIME; i < BLOCK_COLUMN_COUNT; i++)
		printf("%s\"%s\": %.3f", i == BLOCK_TIME ? "" : ", ", names[i],
		       (double)(b->column_bytes[i] + b->column_bytes[32 + i]) / n);
	printf("},\n");
}

static int print_passes(const struct bench *b)
{
	printf(" \"decode_cpu_s_per_10_million\": {");
	for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
		double s;
		int r = pass_time(b, passes[i].columns, &s);

		if (r < 0)
			return r;
		printf("%s\"%s\": %.4f", i ? ", " : "", passes[i].name, s / (double)b->n_events * 1e7);
	}
	printf("},\n");
	return 0;
}

/* ---- figures ---- */

#define MINUTES 1440
#define KEYS 250   /* (process, operation) of a user */
#define CALLS 1389 /* a minute and user: 10 million a day */

static int bucket_make(struct bench *b, uint32_t user, struct figures_blob *blob)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t key = random_skewed(b, KEYS);
		struct stored_figures f = { .process = user * 10 + key / 25, .op = 1 + key % 25, .measured = 0x3ff };
		uint64_t ns = random_between_powers(b, 10 + f.op % 8, 16 + f.op % 8);
		struct op_figures *sum = &f.figures;
		int r;

		sum->total_ns = sum->max_ns = ns;
		sum->raw_ns = ns + 700 + 260 * (random_u64(b) % 4);
		sum->bytes = f.op % 3 ? 0 : 4096 * (1 + random_u64(b) % 200);
		sum->errors = random_u64(b) % 100 == 0;
		sum->blame_ns[BLAME_ON_CPU] = sum->raw_ns;
		for (uint32_t class = 1 + f.op % 4; class < 6 && random_u64(b) % 2; class ++) {
			sum->blame_ns[class] = random_u64(b) % (sum->blame_ns[BLAME_ON_CPU] + 1);
			sum->blame_ns[BLAME_ON_CPU] -= sum->blame_ns[class];
		}
		r = histogram_add(&sum->durations, histogram_bucket_of(ns), 1);
		if (r == 0)
			r = figures_blob_add(blob, &f);
		op_figures_done(sum);
		if (r < 0)
			return r;
	}
	return 0;
}

static int print_figures(struct bench *b)
{
	CLEANUP(figures_blob_done) struct figures_blob day = { 0 };
	double encode_s = 0, decode_s = 0, merge_s = 0, begin_s;
	size_t n_rows = 0, n_bytes = 0, n_blobs = 0;
	int r = 0;

	for (uint32_t minute = 0; minute < MINUTES; minute++)
		for (uint32_t user = 0; user < USERS; user++) {
			CLEANUP(figures_blob_done) struct figures_blob blob = { 0 }, again = { 0 };
			CLEANUP(buf_done) struct buf out = BUF_INIT;
			uint32_t crc;

			r = bucket_make(b, user, &blob);
			begin_s = cpu_s();
			if (r == 0)
				r = figures_blob_encode(&blob, &out, &crc);
			encode_s += cpu_s() - begin_s;
			begin_s = cpu_s();
			if (r == 0)
				r = figures_blob_decode(out.data, out.n, crc, &again);
			decode_s += cpu_s() - begin_s;
			begin_s = cpu_s();
			if (r == 0)
				r = figures_blob_merge(&day, &again);
			merge_s += cpu_s() - begin_s;
			if (r < 0)
				return r;
			n_rows += blob.figures.n;
			n_bytes += out.n;
			n_blobs++;
		}
	printf(" \"figures\": {\"rows\": %zu, \"blobs\": %zu, \"bytes_per_row\": %.2f, \"encode_cpu_s\": %.3f, "
	       "\"decode_cpu_s\": %.3f, \"merge_cpu_s\": %.3f}}\n",
	       n_rows, n_blobs, (double)n_bytes / (double)n_rows, encode_s, decode_s, merge_s);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .seed = 1 };
	uint64_t n_events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	int r = block_encoder_new(&b.encoder);

	if (r == 0)
		r = events_keep(&b, n_events);
	if (r == 0) {
		print_events(&b);
		r = print_passes(&b);
	}
	if (r == 0)
		r = print_figures(&b);
	for (size_t i = 0; i < b.blocks.n; i++)
		free(b.blocks.items[i].data);
	ARRAY_DONE(&b.blocks);
	block_encoder_free(b.encoder);
	if (r < 0)
		fprintf(stderr, "bench_store: %s\n", strerror(-r));
	return r < 0;
}
