// SPDX-License-Identifier: Apache-2.0
/*
 * One question in the reader child, as the methods see it. A method sends its replies and
 * returns; with reader_fail() it has said its last word.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"
#include "archive/reader.h"
#include "proto/frame.h" /* enum call_error */
#include "archive/read/read.h"

struct sqlite3;

/* By which numbers a caller's SQL calls an operation. */
struct op_number {
	uint32_t id; /* of struct read_op */
	int64_t source, number;
};

struct reader_job {
	struct sqlite3
		*db; /* what is read: the file, in one transaction from before the seal, or what was made of it */
	struct store_reader *reader; /* bound to the caller */
	struct read_scope scope;
	bool is_recorded; /* a recorder has the file, just now */
	bool has_cost;	  /* what recording costs is in the answer already */
	uint64_t now_unix_ns;
	uint64_t from_unix_ns, to_unix_ns; /* of tables that have no column of time; 0: no bound */
	uint64_t limit_ns;
	uint64_t deadline_ns; /* monotonic; moves with the time in which nobody reads */
	const uint8_t *request;
	size_t request_bytes;
	struct buf packed; /* room for replies, kept between them */
	ARRAY(struct op_number) op_numbers;
	size_t n_own_ops; /* of these, those that Ingero has no number for */
	char note[256];	  /* on the caller's words, one sentence beside the answer; "": none */
};

#define READER_GAPS_MAX 1000 /* in one answer; what they lost is summed over all */

/** typedef reader_method_func - Return: 0 when all is said and stream_finish() is due; else it is over already */
typedef int (*reader_method_func)(struct reader_job *job);

#define QUESTION(ID, name, limit) int reader_##name(struct reader_job *job);
#include "archive/reader.def"

bool reader_is_late(const struct reader_job *job);
/** reader_deadline_set() - what a database is asked ends as interrupted once the question is late */
void reader_deadline_set(struct reader_job *job, struct sqlite3 *db);
/** reader_reply() - Return: 0, -EMSGSIZE (nothing was sent), or -errno: the daemon is gone */
int reader_reply(struct reader_job *job, const ProtobufCMessage *message);
/** reader_fail() - an error for the caller, one sentence. Return: 1 */
int reader_fail(enum call_error code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** reader_fail_errno() - what an error of the reader means to the caller. Return: 1 */
int reader_fail_errno(const struct reader_job *job, int r);
