// SPDX-License-Identifier: Apache-2.0
/*
 * What `ingero blame` says: where the wall clock of each thread went, to the smallest part.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* What was asked for, and what the answer cannot know. */
struct account_question {
	uint64_t now_unix_ns;
	uint64_t from_unix_ns; /* asked for; 0: from the beginning */
	uint64_t to_unix_ns;   /* 0: to now */
	const char *whose;     /* to follow "thread": "of alice", "of pid 4711" */
	const char *op;	       /* parts in its calls alone; NULL: all */
};

/**
 * account_report_append() - the whole report
 * Return: 0 or -ENOMEM
 */
int account_report_append(const struct account_question *question, const Ingero__V1__BlameReply *reply,
			  const struct text_style *style, struct buf *out);
