// SPDX-License-Identifier: Apache-2.0
/* An answer on its way from the body of a tool to what is shown, and how it is cut to its budget. */
#pragma once

#include "mcp-server/answer.h"
#include "mcp-server/tree.h"

/*
 * Bytes of JSON in a token, with digits and punctuation: public tokenizers make 2.4 to 3.2 of our answers. A budget is
 * a promise, so the estimate is at the low end.
 */
#define TOKEN_BYTES 2.5

/* What is cut. */
struct view_cut {
	uint32_t kept[ANSWER_LISTS_MAX];       /* elements of each list that are shown */
	uint32_t inner_most[ANSWER_LISTS_MAX]; /* elements of the list in each of its elements that are shown */
	bool is_spare_out;		       /* spare members were */
};

struct view {
	const struct tree *tree;    /* the body, as the tool wrote it */
	const char *const *details; /* members to leave out; NULL: none */
	const struct answer_shape *shape;
	uint32_t from[ANSWER_LISTS_MAX]; /* first element of each list that is shown */
	struct view_cut cut_at;
	uint32_t inner_longest[ANSWER_LISTS_MAX]; /* of all of them, the longest */
	uint64_t skipped;			  /* details that were left out: a bit for each row */
	bool is_verbose;
	struct buf text;	  /* scratch */
	struct buf clean;	  /* the object, cleaned and without details */
	struct tree clean_tree;	  /* of it */
	struct buf cut;		  /* the same with its lists cut */
	struct buf shown;	  /* that, as the text has it */
	struct view_cut shown_at; /* of `cut`, while `shown` is not empty */
};

/** view_fit() - cut what may be cut until the budget is kept, and make what is shown. Return: 0 or -ENOMEM */
int view_fit(struct view *view, const struct answer *answer);
/** view_list_length() - elements of a list, as the daemon sent it */
uint32_t view_list_length(const struct view *view, size_t list);
/** view_list_more() - elements that the daemon did not send */
uint32_t view_list_more(const struct view *view, size_t list);
/** view_inner_length() - length of the list in the k-th element of a list */
uint32_t view_inner_length(const struct view *view, size_t list, uint32_t k);
