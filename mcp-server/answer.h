// SPDX-License-Identifier: Apache-2.0
/*
 * What a tool answers. A tool writes one JSON object, with all it knows, and names what could be asked next. From it
 * come the text for the model and the structured content, the same for every tool: texts cleaned and framed as data
 * (mcp-server/untrusted.h), details and ends of lists left out until the budget is kept, and what was left out named,
 * with the way to ask for it. The text is in short form (mcp-server/tsc.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "mcp-server/writer.h"

#define ANSWER_NEXT_MAX 5
#define ANSWER_LISTS_MAX 12

/* A list of the answer that can be cut at its end. */
struct answer_list {
	const char *name;  /* member of the answer */
	const char *how;   /* to ask for the rest: "narrow since or pid, or raise max_tokens" */
	const char *more;  /* member that counts what the daemon left out of it; NULL: it leaves out nothing */
	const char *inner; /* member of each element that is a list, and cut likewise; NULL: none */
};

/* What may be left out of an answer; a column of the table of tools. */
struct answer_shape {
	const struct answer_list *lists; /* the least important first */
	size_t n_lists;
	/* names of members for whoever asks for details: at any depth, or with "/" before it of the answer alone;
	 * NULL-terminated */
	const char *const *details; /* at most 64 */
	const char *details_how;
	const char *const *spare; /* members of the answer that go before the last list is cut; NULL: none */
};

struct answer_next {
	const char *tool;
	const char *why;
	struct buf arguments; /* a JSON object */
};

struct answer {
	struct buf body;  /* one JSON object; texts as they came */
	struct buf error; /* a sentence instead; empty: none */
	struct answer_next next[ANSWER_NEXT_MAX];
	size_t n_next;
	uint64_t tokens_max; /* of the object in the text */
	bool has_details;
	bool is_verbose;    /* the text has the object as the structured content has it, not in its short form */
	bool takes_cursor;  /* the call can be made again for the rest of a list */
	bool has_cursor;    /* ... as this one was: */
	size_t cursor_list; /* the list of the shape that goes on, alone */
	uint32_t cursor_at; /* its first element that is shown */
};

#define ANSWER_INIT                                                                                                    \
	{                                                                                                              \
		.n_next = 0                                                                                            \
	}

void answer_done(struct answer *answer);
/** answer_fail() - answer with a sentence: what happened, and what to do. Return: -EINVAL */
int answer_fail(struct answer *answer, const char *fmt, ...) PRINTF_LIKE(2, 3);
/**
 * answer_next() - name a tool to call next
 * @key: of its only argument; NULL: none
 * @value: untrusted; the tool is named only if it is one word (mcp-server/offer.h), since it stands outside the frame
 */
void answer_next(struct answer *answer, const char *tool, const char *why, const char *key, const char *value);
/** answer_next_arguments() - with arguments that are a JSON object of ours */
void answer_next_arguments(struct answer *answer, const char *tool, const char *why, const char *arguments);
/** answer_next_number() - with a number as its only argument */
void answer_next_number(struct answer *answer, const char *tool, const char *why, const char *key, uint64_t value);
/** answer_put_first_json() - put a member in front of the others of the body; @name: of ours */
void answer_put_first_json(struct answer *answer, const char *name, const char *json);
/** answer_put_first() - put a text in front of the other members of the body; @name: of ours */
void answer_put_first(struct answer *answer, const char *name, const char *text);
/**
 * answer_forms() - append the text, and the structured content as JSON: nothing of an answer that failed
 * Return: as answer_write()
 */
int answer_forms(struct answer *answer, const struct answer_shape *shape, struct buf *text, struct buf *structured);
/**
 * answer_write() - append content, structuredContent and isError: members of a result of tools/call
 * @shape: NULL: nothing may be left out
 * Return: 0; -ENOMEM; -EPROTO, where the body is no object
 */
int answer_write(struct answer *answer, const struct answer_shape *shape, struct writer *result);
/** answer_tokens() - an upper estimate for a text of n bytes */
uint64_t answer_tokens(size_t n);
