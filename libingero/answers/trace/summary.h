// SPDX-License-Identifier: Apache-2.0
/*
 * Figures that arrive in pieces, as one message.
 *
 * The daemon cuts a large Summary into pieces that carry `more`. The view joins their lists and takes all other fields
 * from the last piece that has them.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"

struct trace_summary {
	ARRAY(Ingero__V1__Summary *) pieces; /* owned */
	Ingero__V1__Summary view; /* valid while is_whole; its pointers belong to the pieces, its lists are owned */
	bool is_whole;
};

#define TRACE_SUMMARY_INIT                                                                                             \
	{                                                                                                              \
		.is_whole = false                                                                                      \
	}

void trace_summary_done(struct trace_summary *s);
/**
 * trace_summary_add() - copy the next piece; a piece after the last one starts anew
 * Return: 0; -ENOMEM, or -E2BIG beyond what a daemon can have (then the pieces so far are dropped)
 */
int trace_summary_add(struct trace_summary *s, const Ingero__V1__Summary *piece);
/** trace_summary_take() - move everything to an empty or old summary, which is released first */
void trace_summary_take(struct trace_summary *to, struct trace_summary *from);
