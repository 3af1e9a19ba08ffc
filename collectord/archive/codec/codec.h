// SPDX-License-Identifier: Apache-2.0
/*
 * Packing of events and figures: rows of the tail, column blocks, blobs of figures.
 *
 * Pure functions over bytes. Files may be damaged or hostile: the checksum is checked first, then every length,
 * count, index, width and sum. Released formats stay decodable; a new column gets a new column id, which old readers
 * skip.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "bpf/record.h"
#include "figures/account.h"
#include "figures/figures.h"

/*
 * One event as stored in the file: a call, or a life record (exec, fork, exit, kill) in the columns of a call. A life
 * record has its header and the values of host_values(); its other columns are 0. In `call`, tgid, uid, comm, exec_gen
 * and slot belong to the process (row of table process) and are not packed; type and pad are unused, call.op follows
 * from op.
 */
struct stored_event {
	struct call_record call;
	uint32_t process;  /* row of table process */
	uint32_t op;	   /* row of table op; equal to the id of ops.def if it has one */
	uint32_t stack;	   /* row of table stack; 0: no stack */
	uint16_t measured; /* bits MEASURED(class) */
};

/* ---- tail: one commit's events of one owner ---- */

/**
 * tail_append() - append one event to an open tail row; @previous: the previous event in this row, NULL: none.
 * Return: 0 or -ENOMEM
 */
int tail_append(struct buf *row, const struct stored_event *previous, const struct stored_event *event);
/** typedef codec_event_func - Return: 0 to continue, else the result of the decoder */
typedef int (*codec_event_func)(const struct stored_event *event, void *data);
/**
 * tail_decode() - decode each event of a row, in order. Return: 0, -EBADMSG for damage, -ENOTSUP for a newer format, or
 * the result of func; members that are not packed are 0, call.op is op if it fits 16 bits
 */
int tail_decode(const void *data, size_t n, codec_event_func func, void *func_data);

/* ---- blocks ---- */

#define BLOCK_FORMAT 1
#define BLOCK_EVENTS_MAX 6144 /* blocks above 4 096 save less than 2 %, and scans skip whole blocks */

struct block_head {
	uint64_t t0_ns, t1_ns; /* start of the first event, latest end of an event */
	uint64_t max_ns;       /* longest duration */
	uint32_t n;
	uint32_t slow;	  /* number of events with RECORD_REASON_SLOW */
	uint32_t process; /* 0: several */
	uint32_t crc;	  /* of the packed columns */
	uint8_t ops[32];  /* bit per op below 255; bit 255: any op from 255 on */
};

/**
 * block_encode() - pack events of one owner, in order of start
 * @out: appended to
 * Return: 0; -E2BIG (more than BLOCK_EVENTS_MAX); -EINVAL (none, or not in order); -ENOMEM; `out` as it was on failure
 */
struct block_encoder; /* compression context and scratch memory, kept between blocks */
int block_encoder_new(struct block_encoder **ret_encoder);
void block_encoder_free(struct block_encoder *encoder);
int block_encode(struct block_encoder *encoder, const struct stored_event *events, size_t n, struct buf *out,
		 struct block_head *ret_head);

/* Columns of a block (events/columns.def): a reader decodes only the columns that it needs. */
enum block_column {
	BLOCK_TIME = 1,
	BLOCK_DURATION,
	BLOCK_OVERHEAD, /* raw_ns minus duration_ns */
	BLOCK_BLAME,
#define KEPT(name, id, place, group, member) BLOCK_##name = (id),
#include "events/columns.def"
	BLOCK_COLUMN_COUNT
};
#define BLOCK_COLUMN(id) (1u << (id))
#define BLOCK_ALL_COLUMNS (~0u)

struct block_decoder;
int block_decoder_new(struct block_decoder **ret_decoder);
void block_decoder_free(struct block_decoder *decoder);
/**
 * block_open() - check a block and find its columns
 * @data:  must live until block_columns()
 * @crc:   from the header row; checked first
 * @ret_n: number of its events, up to BLOCK_EVENTS_MAX
 * Return: 0, -EBADMSG for damage, -ENOTSUP for a newer format
 */
int block_open(struct block_decoder *decoder, const void *data, size_t n, uint32_t crc, size_t *ret_n);
/**
 * block_columns() - unpack some columns of some events of the last opened block
 * @columns: BLOCK_COLUMN() of the wanted columns; other members stay unchanged
 * @from, @to: positions of the first event and after the last
 * @events:  room for to - from
 * Return: 0, -EBADMSG for damage, -ENOMEM
 */
int block_columns(struct block_decoder *decoder, uint32_t columns, size_t from, size_t to, struct stored_event *events);
/**
 * block_decode() - open a block and unpack some columns of all events. @events: room for BLOCK_EVENTS_MAX
 * Return: as block_open() and block_columns()
 */
int block_decode(struct block_decoder *decoder, const void *data, size_t n, uint32_t crc, uint32_t columns,
		 struct stored_event *events, size_t *ret_n);

/* ---- figures of one bucket and owner ---- */

struct stored_figures {
	uint32_t process;
	uint32_t op; /* 0: the overflow cell */
	uint16_t measured;
	struct op_figures figures; /* max_ns: longest call of the bucket */
};

/* Time for which a process had the CPU while threads of another process were ready to run. */
struct stored_behind {
	uint32_t process; /* process whose threads waited */
	uint32_t tgid;	  /* process that ran */
	uint32_t uid;
	uint64_t ns;
	bool is_between; /* between calls; false: in a call */
	bool is_guarded; /* the process that ran was guarded, in any of the summed rows */
	char comm[RECORD_COMM_BYTES];
};

/* Part of a thread's account: figures/account.h. */
struct stored_part {
	uint64_t ns;
	uint32_t process;
	uint32_t tid; /* 0: sum of several threads */
	uint32_t op;  /* row of table op; 0: between calls, or several */
	uint8_t where;
	uint8_t class;
	bool is_driving;
};

struct stored_wait {
	uint32_t process;
	struct account_wait wait; /* .op: row of table op */
};

/* Release with figures_blob_done(). */
struct figures_blob {
	ARRAY(struct stored_figures) figures; /* sorted by process, op; each once */
	ARRAY(struct stored_behind) behind;   /* sorted by process, tgid, uid, comm, is_between; each once */
	ARRAY(struct stored_part) parts;      /* sorted by process, tid, is_driving, where, op, class; each once */
	ARRAY(struct stored_wait) waits;      /* sorted by process and the whole key of a wait; each once */
};
void figures_blob_done(struct figures_blob *blob);
/** figures_blob_add() - add one row's figures to those of the same process and op. Return: 0 or -ENOMEM */
int figures_blob_add(struct figures_blob *blob, const struct stored_figures *figures);
/**
 * figures_blob_at() - figures of a process and operation, created if missing. Return: borrowed until the next call;
 * NULL without memory
 */
struct op_figures *figures_blob_at(struct figures_blob *blob, uint32_t process, uint32_t op);
int figures_blob_add_behind(struct figures_blob *blob, const struct stored_behind *behind);
int figures_blob_add_part(struct figures_blob *blob, const struct stored_part *part);
int figures_blob_add_wait(struct figures_blob *blob, const struct stored_wait *wait);
/** figures_blob_sort() - after rows were changed in place: put them in order, and sum equal ones. Return: 0 or -ENOMEM
 */
int figures_blob_sort(struct figures_blob *blob);
/** figures_blob_rows() - number of rows of all kinds */
size_t figures_blob_rows(const struct figures_blob *blob);
/** figures_blob_merge() - add all rows of another blob, as a containing bucket does. Return: 0 or -ENOMEM */
int figures_blob_merge(struct figures_blob *blob, const struct figures_blob *other);
/** figures_blob_take() - the same, for a blob that is released next: it may lose its histograms */
int figures_blob_take(struct figures_blob *blob, struct figures_blob *other);
#define FIGURES_THREADS_MOST 64 /* maximum threads of a process with parts of their own */
#define FIGURES_WAITS_MOST 128	/* maximum waits of a process with rows of their own, as in live figures */
/**
 * figures_blob_fold() - limit the rows of each process: the 64 threads with the most wall clock and the 128 longest
 * waits stay, the others are added to thread 0, and to the sum of waits of their thread, operation, class and kind
 * Return: 0; -ENOMEM: the accounts in the blob are incomplete
 */
int figures_blob_fold(struct figures_blob *blob);
struct figures_encoder; /* compression context and scratch memory, kept between blobs */
int figures_encoder_new(struct figures_encoder **ret_encoder);
void figures_encoder_free(struct figures_encoder *encoder);
/** figures_encoder_set_plain() - from now on prefer speed to size (column_packer_set_plain()) */
void figures_encoder_set_plain(struct figures_encoder *encoder, bool is_plain);
/**
 * figures_encode() - encode a blob. @out: appended to; @ret_crc: for the row. Return: 0, -E2BIG (over 262 144 rows of
 * one kind) or -ENOMEM
 */
int figures_encode(struct figures_encoder *encoder, const struct figures_blob *blob, struct buf *out,
		   uint32_t *ret_crc);
/** figures_blob_encode() - figures_encode() with an encoder of its own */
int figures_blob_encode(const struct figures_blob *blob, struct buf *out, uint32_t *ret_crc);
struct figures_decoder; /* decompression context, kept between blobs */
int figures_decoder_new(struct figures_decoder **ret_decoder);
void figures_decoder_free(struct figures_decoder *decoder);
/** figures_decoder_skip_accounts() - from now on blobs are decoded without parts and waits */
void figures_decoder_skip_accounts(struct figures_decoder *decoder);
/** figures_decode() - decode a blob. Return: 0, -EBADMSG for damage, -ENOTSUP, -ENOMEM */
int figures_decode(struct figures_decoder *decoder, const void *data, size_t n, uint32_t crc,
		   struct figures_blob *ret_blob);
/** figures_blob_decode() - figures_decode() with a decoder of its own */
int figures_blob_decode(const void *data, size_t n, uint32_t crc, struct figures_blob *ret_blob);

/** codec_crc() - checksum of every row that is packed (crc32 of zlib) */
uint32_t codec_crc(const void *data, size_t n);
