// SPDX-License-Identifier: Apache-2.0
#include "archive/job.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "archive/reader.h"
#include "base/cleanup.h"
#include "children/stream.h"
#include "clock.h"

#define PROGRESS_OPCODES 1000

bool reader_is_late(const struct reader_job *job)
{
	return clock_now_ns() >= job->deadline_ns;
}

static int on_progress(void *data)
{
	return reader_is_late(data);
}

void reader_deadline_set(struct reader_job *job, struct sqlite3 *db)
{
	sqlite3_progress_handler(db, PROGRESS_OPCODES, on_progress, job);
}

int reader_reply(struct reader_job *job, const ProtobufCMessage *message)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	uint64_t before_ns = clock_now_ns();
	uint8_t *p;
	int r;

	if (n > READER_REPLY_MAX)
		return -EMSGSIZE;
	job->packed.n = 0;
	p = buf_reserve(&job->packed, n + 1);
	if (!p)
		return -ENOMEM;
	(void)protobuf_c_message_pack(message, p);
	r = stream_send(p, n);
	job->deadline_ns += clock_now_ns() - before_ns;
	return r;
}

int reader_fail(enum call_error code, const char *fmt, ...)
{
	char text[STREAM_WHY_BYTES];

	FORMAT_INTO(text, sizeof(text), fmt);
	stream_fail((uint8_t)code, "%s", text);
	return 1;
}

int reader_fail_errno(const struct reader_job *job, int r)
{
	switch (-r) {
	case ETIME:
		return reader_fail(CALL_ERROR_DEADLINE,
				   "this took longer than its limit of %.3g s: ask about a shorter time or fewer "
				   "processes",
				   (double)job->limit_ns / 1e9);
	case EBADMSG:
		return reader_fail(CALL_ERROR_UNAVAILABLE, "the database is damaged: %s", sqlite3_errmsg(job->db));
	case ENOMEM:
		return reader_fail(CALL_ERROR_QUOTA,
				   "this takes more memory than a question may: ask about a shorter time or fewer "
				   "processes");
	case EPIPE:
		return 1; /* the caller is gone */
	default:
		return reader_fail(CALL_ERROR_UNAVAILABLE, "the database cannot be read: %s", strerror(-r));
	}
}
