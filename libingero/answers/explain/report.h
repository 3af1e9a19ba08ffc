// SPDX-License-Identifier: Apache-2.0
/*
 * What went wrong and why: a function from an answer to lines of text. Worst first,
 * on one screen; with nothing to tell, one line that says what was watched.
 */
#pragma once

#include <stdbool.h>

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* What was asked for, and what the answer cannot know. */
struct explain_question {
	uint64_t now_unix_ns;
	uint64_t from_unix_ns;	    /* asked for; 0: from the beginning */
	uint64_t to_unix_ns;	    /* 0: to now */
	const char *whose;	    /* to follow "process": "of alice", "of pid 4711" */
	const char *words;	    /* how the window was chosen, for the header; NULL: as asked */
	uint64_t kept_from_unix_ns; /* what there is at all, where the window is empty; 0: nothing, or not asked */
	uint64_t kept_to_unix_ns;
	bool is_chosen;	     /* the caller said which time: where figures reach beyond it, that is told */
	bool is_one;	     /* one finding or call */
	bool is_list;	     /* findings as lines: --chains */
	bool is_per_process; /* with the table of operations */
	const char *db;	     /* --db, to ask again; NULL: not given */
	bool is_forgotten;   /* the database is removed after this answer */
};

/**
 * explain_report_append() - the whole report
 * Return: 0 or -ENOMEM
 */
int explain_report_append(const struct explain_question *question, const Ingero__V1__ExplainReply *reply,
			  const struct text_style *style, struct buf *out);
/** explain_head_append() - what the answer is about; without findings the sentence that says so, with what is missing
 */
void explain_head_append(const struct explain_question *question, const Ingero__V1__ExplainReply *reply,
			 const struct text_style *style, struct buf *out);
/** explain_footer_append() - what was lost and when something is missing: lines for the end of any answer */
void explain_footer_append(const Ingero__V1__Lost *lost, Ingero__V1__Gap *const *gaps, size_t n_gaps,
			   uint64_t now_unix_ns, const struct text_style *style, struct buf *out);
