// SPDX-License-Identifier: Apache-2.0
/*
 * Whether two answers are the same but for what belongs to the moment: the answer about another's
 * process beside the one about a process that does not exist.
 */
#pragma once

struct question;
struct subject;
struct wire_answer;

/** alike_check() - code, sentence, number of messages and what is in them; what the caller himself said is left out */
void alike_check(const char *name, const struct question *q, const struct wire_answer *a,
		 const struct subject *subject_a, const struct wire_answer *b, const struct subject *subject_b);
