// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of the database as messages. Texts are borrowed from the reader.
 */
#pragma once

#include "base/arena.h"
#include "ingero/v1/ingero.pb-c.h"
#include "store/read.h"

/** reader_blame() - @measured: classes that are there; @whole_ns: the time that is split. Return: NULL without memory
 */
Ingero__V1__Blame *reader_blame(struct arena *arena, const __u64 blame_ns[BLAME_COUNT], uint16_t measured,
				uint64_t whole_ns);
/** reader_event() - a call with all its columns. Return: NULL without memory */
Ingero__V1__Event *reader_event(struct arena *arena, struct store_reader *reader, const struct read_event *event);
/** reader_operation() - Return: NULL without memory */
Ingero__V1__Operation *reader_operation(struct arena *arena, const struct read_figures *figures);
/** reader_lost_add() - add a gap's count to the field of the same name. Return: whether there is one */
bool reader_lost_add(Ingero__V1__Lost *lost, const char *reason, uint64_t n);
/** reader_gap_copy() - Return: NULL without memory */
Ingero__V1__Gap *reader_gap_copy(struct arena *arena, const Ingero__V1__Gap *gap);
