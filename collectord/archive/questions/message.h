// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of the database as messages. Texts are borrowed from the reader.
 */
#pragma once

#include "base/arena.h"
#include "ingero/v1/ingero.pb-c.h"
#include "archive/read/read.h"

/* An id typed by a user: NODE:ID, or ID, which may be of any node. */
struct reader_node_id {
	const char *node; /* not NUL-terminated */
	size_t n_node;
	const char *id;
};
/** reader_node_id() - split a typed id; the result points into @typed */
struct reader_node_id reader_node_id(const char *typed);
/** reader_node_is() - whether an id may belong to a node; an id without a node may belong to any */
bool reader_node_is(const struct reader_node_id *id, const char *node);
/** reader_event() - make the message of a call with all its columns. Return: NULL without memory */
Ingero__V1__Event *reader_event(struct arena *arena, struct store_reader *reader, const struct read_event *event);
#define READER_STACK_BYTES                                                                                             \
	(256u * 1024) /* maximum of the message of a stack: of further frames it tells that they are cut */
/** reader_stack() - make the message of a stack. Return: NULL without memory */
Ingero__V1__Stack *reader_stack(struct arena *arena, const struct read_stack *stack);
/** reader_stack_id() - the same with its id alone */
Ingero__V1__Stack *reader_stack_id(struct arena *arena, uint32_t id);
/** reader_event_with_stack() - as reader_event(), with the frames of its stack */
Ingero__V1__Event *reader_event_with_stack(struct arena *arena, struct store_reader *reader,
					   const struct read_event *event);
/** reader_operation() - make the message of an operation. Return: NULL without memory */
Ingero__V1__Operation *reader_operation(struct arena *arena, const struct read_figures *figures);
/** reader_lost_add() - add a gap's count to the field of the same name. Return: whether the field exists */
bool reader_lost_add(Ingero__V1__Lost *lost, const char *reason, uint64_t n);
/** reader_gap_copy() - make the message of a gap. Return: NULL without memory */
Ingero__V1__Gap *reader_gap_copy(struct arena *arena, const Ingero__V1__Gap *gap);
/** reader_calls_count() - set the number of calls and of calling processes, from figures */
void reader_calls_count(const struct read_window *figures, Ingero__V1__Window *window);
