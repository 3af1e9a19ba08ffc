// SPDX-License-Identifier: Apache-2.0
/*
 * One question in the reader child, as the methods see it. A method sends its replies and returns; after reader_fail()
 * it must send nothing more.
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

/* Numbers of an operation in a caller's SQL. */
struct op_number {
	uint32_t id; /* id of struct read_op */
	int64_t source, number;
};

struct reader_job {
	struct sqlite3 *db; /* database to read: the file, in one transaction begun before the seal, or its import */
	struct store_reader *reader; /* shows only rows of the caller's scope */
	struct read_scope scope;
	bool is_recorded; /* a recorder is writing the file */
	bool has_cost;	  /* the answer has the cost of recording already */
	uint64_t now_unix_ns;
	uint64_t from_unix_ns, to_unix_ns; /* bounds for tables without a column of time; 0: no bound */
	uint64_t limit_ns;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; extended by the time in which the caller does not read */
	const uint8_t *request;
	size_t request_bytes;
	struct buf packed; /* packed reply; its memory is reused */
	ARRAY(struct op_number) op_numbers;
	size_t n_own_ops; /* entries of op_numbers without a number of Ingero's */
	char note[256];	  /* one sentence about the request, sent with the answer; "": none */
};

#define READER_GAPS_MAX 1000 /* gaps in one answer; their losses are summed over all gaps */

/**
 * typedef reader_method_func - answer one question. Return: 0: the caller ends the answer with stream_finish(); else it
 * has ended
 */
typedef int (*reader_method_func)(struct reader_job *job);

#define QUESTION(ID, name, limit, stacks) int reader_##name(struct reader_job *job);
#include "archive/reader.def"

bool reader_is_late(const struct reader_job *job);
/** reader_deadline_set() - interrupt statements of a database after the deadline of the question */
void reader_deadline_set(struct reader_job *job, struct sqlite3 *db);
/** reader_reply() - send a reply. Return: 0, -EMSGSIZE (nothing was sent), or -errno: the daemon is gone */
int reader_reply(struct reader_job *job, const ProtobufCMessage *message);
/** reader_fail() - send an error to the caller, one sentence. Return: 1 */
int reader_fail(enum call_error code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** reader_fail_errno() - send an error of the reader to the caller. Return: 1 */
int reader_fail_errno(const struct reader_job *job, int r);
