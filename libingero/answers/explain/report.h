// SPDX-License-Identifier: Apache-2.0
/*
 * What went wrong and why: a function from an answer to lines of text. Worst first, on one screen; without a problem,
 * one line that names what was watched.
 */
#pragma once

#include <stdbool.h>

#include "ingero/answers.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* The question, and what the answer does not contain. */
struct explain_question {
	uint64_t now_unix_ns;
	uint64_t from_unix_ns;	    /* start that was asked for; 0: from the beginning */
	uint64_t to_unix_ns;	    /* its end; 0: now */
	const char *whose;	    /* completes "process": "of alice", "of pid 4711" */
	const char *words;	    /* how the window was chosen, for the header; NULL: as asked */
	uint64_t kept_from_unix_ns; /* bounds of the whole recording, where the window is empty; 0: nothing recorded, or
				       not asked */
	uint64_t kept_to_unix_ns;
	const Ingero__V1__ExplainReply *whole; /* the whole recording, by process, where those asked for made no call;
						  NULL: not asked */
	const char *from_word;		       /* how a question names its start; NULL: "--from" */
	bool is_chosen;	     /* the caller gave a time: a line names the part of the figures beyond it */
	bool is_one;	     /* asks for one finding or call */
	bool is_list;	     /* findings as single lines: --chains */
	bool is_per_process; /* adds the table of operations */
	const char *db;	     /* --db, for commands in the text; NULL: not given */
	bool is_forgotten;   /* the database is removed after this answer */
};

/* How the window of an answer was chosen. */
enum explain_window {
	EXPLAIN_WINDOW_ASKED,	   /* by the caller, or the recording has no more */
	EXPLAIN_WINDOW_DEFAULT,	   /* the last 5 minutes: an earlier start covers more */
	EXPLAIN_WINDOW_LAST,	   /* recording has stopped: the last 5 minutes that were recorded */
	EXPLAIN_WINDOW_LAST_WHOLE, /* likewise, and that is the whole recording */
};

/** explain_window_of() - @is_chosen: the caller named the window, or one finding or call */
enum explain_window explain_window_of(const struct ingero_explanation *answer, bool is_chosen);
/**
 * explain_report_append() - append the whole report
 * Return: 0 or -ENOMEM
 */
int explain_report_append(const struct explain_question *question, const Ingero__V1__ExplainReply *reply,
			  const struct text_style *style, struct buf *out);
/**
 * explain_head_append() - append what the answer covers; without findings the sentence for that, and what is missing
 */
void explain_head_append(const struct explain_question *question, const Ingero__V1__ExplainReply *reply,
			 const struct text_style *style, struct buf *out);
/** explain_footer_append() - append the losses and gaps: lines for the end of any answer */
void explain_footer_append(const Ingero__V1__Lost *lost, Ingero__V1__Gap *const *gaps, size_t n_gaps,
			   uint64_t now_unix_ns, const struct text_style *style, struct buf *out);
