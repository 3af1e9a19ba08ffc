// SPDX-License-Identifier: Apache-2.0
/* An answer that is empty says why, and names what to ask instead. */
#pragma once

#include "libingero/answers/recorded.h"
#include "mcp-server/window.h"

/* A question whose answer was empty. */
struct nothing {
	const char *tool; /* that was asked */
	uint64_t from_unix_ns, to_unix_ns;
	const struct param_pids *pids;
	const char *op;	  /* NULL: any */
	const char *part; /* as in struct recorded_question */
	bool is_of_file;  /* where nothing can be traced */
};

#define NOTHING_MEMBER                                                                                                 \
	{                                                                                                              \
		"notice", "string", "Why the answer is empty, and what is recorded; absent: it is not"                 \
	}

/** nothing_next() - name what to ask next; @whole: as of recorded_lack() */
void nothing_next(const struct nothing *nothing, const Ingero__V1__ExplainReply *whole, struct answer *answer);
/**
 * nothing_write() - ask what is recorded, put the reason first in the body as `notice`, and name what to ask next
 * Return: 0 or -ENOMEM
 */
int nothing_write(struct ingero *ingero, const struct nothing *nothing, struct answer *answer);
/** nothing_write_rows() - the same of an answer of run_sql, if it has no row */
int nothing_write_rows(const struct tool_call *call, const struct nothing *nothing, struct answer *answer);
