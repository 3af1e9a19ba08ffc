// SPDX-License-Identifier: Apache-2.0
/* Answers that are made of an explanation: what they share. */
#pragma once

#include "ingero/answers.h"
#include "mcp-server/nothing.h"

/* Lists and details of an explanation. */
extern const struct answer_shape findings_shape;
/* Its members that go first. */
extern const char *const findings_spare[];

/* What was asked, as far as the sentence needs it. */
struct findings_question {
	const char *more;		       /* further members in front, JSON with a comma at its end; NULL: none */
	bool is_chosen;			       /* the caller named the window, or one finding */
	const struct param_pids *pids;	       /* NULL: all */
	const char *tool;		       /* that answers; NULL: an empty answer names nothing to ask next */
	bool is_of_file;		       /* where nothing can be traced */
	const Ingero__V1__ExplainReply *whole; /* the whole recording, where the answer is empty; NULL: not asked */
	size_t findings_max;		       /* of the answer; the sentence counts all. 0: no limit */
};

/** findings_write() - write an explanation as the body: a sentence that sums it up, and the JSON of `ingero explain` */
int findings_write(struct ingero_explanation *explanation, const struct findings_question *question,
		   struct answer *answer);
/** findings_answer() - ask, and write the explanation. Return: as the function of a tool */
int findings_answer(const struct tool_call *call, const struct ingero_explain_wish *wish,
		    const struct findings_question *question, struct answer *answer);
/** findings_next() - name what to ask next: each of the first findings, one of its calls, or where time went */
void findings_next(const struct ingero_explanation *explanation, struct answer *answer);
