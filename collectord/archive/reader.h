// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to the reader child. One process answers one question and ends.
 *
 * It gets two messages: the path of the database, or several paths separated by NUL, which it opens before it is
 * sealed; and struct reader_question followed by the packed request. It returns the packed replies of the method,
 * framed as in stream.h; the daemon passes them on unread.
 */
#pragma once

#include <stdint.h>

#define READER_PATH_MAX 4096 /* bytes of a path */
#define READER_FILES_MAX 16
#define READER_REQUEST_MAX (64u * 1024) /* bytes of the packed request: the limit of a client's frame */
#define READER_REPLY_MAX (960u * 1024)	/* bytes of one reply: the limit of a frame, minus what the daemon may add */

#define READER_ROLE "reader"
#define READER_TITLE "ingero query" /* its name in `behind` of processes that waited for it */

#define READER_LIMIT_NS 30000000000ull /* limit of a question that names none */
#define READER_LIMIT_MAX_NS 600000000000ull

struct reader_question {
	uint64_t limit_ns;    /* limit of working time: time in which the caller did not read is not counted */
	uint64_t now_unix_ns; /* the present moment for this answer */
	uint32_t method;      /* enum method_id, of a row of reader.def */
	uint32_t uid;	      /* user id of the caller */
	uint8_t all;	      /* may read every owner's rows */
	uint8_t names_hidden;
	uint8_t has_cost;   /* the daemon captures, and adds the cost itself */
	uint8_t has_stacks; /* the answer needs stacks (reader.def) */
	uint8_t pad[4];
};

struct child_role;
extern const struct child_role reader_role;
