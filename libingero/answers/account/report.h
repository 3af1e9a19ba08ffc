// SPDX-License-Identifier: Apache-2.0
/* The text of `ingero blame`: where the wall clock of each thread went, every part of it. */
#pragma once

#include <stdbool.h>

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* The question, and what the answer does not contain. */
struct account_question {
	uint64_t now_unix_ns;
	uint64_t from_unix_ns; /* start that was asked for; 0: from the beginning */
	uint64_t to_unix_ns;   /* its end; 0: now */
	const char *whose;     /* completes "thread": "of alice", "of pid 4711" */
	const char *words;     /* how the window was chosen, for the header; NULL: as asked */
	bool has_pids;	       /* --pid restricts the question */
	const char *op;	       /* operation whose calls alone are shown; NULL: all parts */
};

/**
 * account_report_append() - append the whole report
 * Return: 0 or -ENOMEM
 */
int account_report_append(const struct account_question *question, const Ingero__V1__BlameReply *reply,
			  const struct text_style *style, struct buf *out);
