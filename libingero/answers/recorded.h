// SPDX-License-Identifier: Apache-2.0
/* Why an answer is empty: what the recording has instead, in a sentence. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/answers.h"

/* What an answer lacks. */
enum recorded_lack {
	RECORDED_LACKS_UNKNOWN,	  /* what the recording has is not known */
	RECORDED_LACKS_ALL,	  /* there is no recording */
	RECORDED_LACKS_TIME,	  /* none of the time that was asked for */
	RECORDED_LACKS_CALLS,	  /* nobody made a call */
	RECORDED_LACKS_OPERATION, /* nobody called it */
	RECORDED_LACKS_PROCESS,	  /* it made no call */
	RECORDED_LACKS_HERE,	  /* not in the time that was asked for, or not both of these together */
};

/* A question whose answer was empty. */
struct recorded_question {
	uint64_t now_unix_ns;
	uint64_t from_unix_ns; /* start that was asked for; 0: from the beginning */
	uint64_t to_unix_ns;   /* its end; 0: now */
	const uint32_t *pids;
	size_t n_pids;
	const char *op;	  /* NULL: any */
	const char *part; /* operations that have this in their names; NULL: all */
};

/**
 * recorded_ask() - ask what the whole recording has, of all processes
 * Return: as ingero_explain(); release with ingero_explanation_done()
 */
int recorded_ask(struct ingero *ingero, struct ingero_explanation *ret);
/** recorded_lack() - @whole: the whole recording, by process; NULL: not known */
enum recorded_lack recorded_lack(const struct recorded_question *question, const Ingero__V1__ExplainReply *whole);
/** recorded_has_process() - whether one of the processes that were asked for made a call */
bool recorded_has_process(const struct recorded_question *question, const Ingero__V1__ExplainReply *whole);
/** recorded_lack_append() - append the sentence: what is missing, and what is recorded instead; nothing if unknown */
void recorded_lack_append(const struct recorded_question *question, const Ingero__V1__ExplainReply *whole,
			  struct buf *out);
/**
 * recorded_processes_append() - append "python3 (pid 29207), trainer (pid 4711) and 3 more": processes that made calls,
 * those whose calls took longest first; nothing where none did
 */
void recorded_processes_append(const Ingero__V1__ExplainReply *whole, struct buf *out);
/** recorded_process_first() - Return: the pid of the first of these, 0 where there is none */
uint32_t recorded_process_first(const Ingero__V1__ExplainReply *whole);
