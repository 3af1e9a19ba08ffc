// SPDX-License-Identifier: Apache-2.0
/* The text and the JSON of `ingero stacks`: where calls are made, those with most of a measure first. */
#pragma once

#include "libingero/answers/stack/sites.h"
#include "libingero/render/text.h"

/* The question, and how it is shown. */
struct stack_question {
	uint64_t now_unix_ns;
	uint64_t from_unix_ns; /* start that was asked for; 0: from the beginning */
	uint64_t to_unix_ns;   /* its end; 0: now */
	const char *words;     /* how the window was chosen, for the header; NULL: as asked */
	bool is_chosen;	       /* the caller gave a time */
	const uint32_t *pids;
	size_t n_pids;
	const char *op; /* NULL: all */
	enum stack_by by;
	struct stack_measure measure;
	uint64_t limit; /* most sites; 0: all */
	/* what the whole recording has, by process, for an answer without calls; NULL: not known */
	const Ingero__V1__ExplainReply *whole;
};

/** stack_window_append() - append the time of the answer: "14:02:51 to 14:07:51" */
void stack_window_append(const struct stack_question *question, const struct stack_rows *rows, struct buf *out);
/** stack_has_any() - whether one of the calls has a stack */
bool stack_has_any(const struct stack_rows *rows);
/**
 * stack_nothing_append() - append why no call has a stack, and the way out, as a sentence: nothing is recorded of what
 * was asked for, or stacks were not taken
 */
void stack_nothing_append(const struct stack_question *question, const struct stack_rows *rows, struct buf *out);
/** stack_report_append() - append the table. Return: 0 or -ENOMEM */
int stack_report_append(const struct stack_question *question, const struct stack_rows *rows,
			const struct stack_sites *sites, const struct text_style *style, struct buf *out);
/** stack_place_json() - append a place as a site of findings: {"file", "func", "line"}, without what is not known */
void stack_place_json(const struct stack_place *place, struct buf *out);
/** stack_json_append() - append one line, docs/schema/stacks.schema.json. Return: 0 or -ENOMEM */
int stack_json_append(const struct stack_question *question, const struct stack_rows *rows,
		      const struct stack_sites *sites, struct buf *out);
