// SPDX-License-Identifier: Apache-2.0
/*
 * What the reader child is asked. One process answers one question and ends.
 *
 * Two messages go to it: the path of the database, or the paths of several with a NUL between, which it opens before
 * it is sealed, and
 * struct reader_question with the packed request behind it. What comes back are the packed
 * replies of the method, as stream.h frames them; the daemon hands them on unread.
 */
#pragma once

#include <stdint.h>

#define READER_PATH_MAX 4096 /* bytes of a path */
#define READER_FILES_MAX 16
#define READER_REQUEST_MAX (64u * 1024) /* bytes of the packed request: what a client's frame may hold */
#define READER_REPLY_MAX (960u * 1024)	/* bytes of one reply: a frame's, less what the daemon may add */

#define READER_ROLE "reader"
#define READER_TITLE "ingero query" /* as others see it who had to wait for it */

#define READER_LIMIT_NS 30000000000ull /* of a question that names none */
#define READER_LIMIT_MAX_NS 600000000000ull

struct reader_question {
	uint64_t limit_ns;    /* of work: time in which nobody read the answer is not counted */
	uint64_t now_unix_ns; /* what "now" means in this answer */
	uint32_t method;      /* enum method_id, of a row of reader.def */
	uint32_t uid;	      /* of the caller */
	uint8_t all;	      /* may read every owner's rows */
	uint8_t names_hidden;
	uint8_t has_cost; /* the daemon captures, and says itself what that costs */
	uint8_t pad[5];
};

struct child_role;
extern const struct child_role reader_role;
