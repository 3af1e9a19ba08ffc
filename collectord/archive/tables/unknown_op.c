// SPDX-License-Identifier: Apache-2.0
#include "archive/tables/unknown_op.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/op_name.h"
#include "archive/read/read.h"

/* Known names, in their form for comparison and in their form for display. */
struct known {
	struct arena arena;
	ARRAY(const char *) lower;
	ARRAY(const char *) shown;
};

static char *lower_copy(struct arena *arena, const char *text)
{
	char *copy = arena_copy_text(arena, text);

	for (char *p = copy; p && *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return copy;
}

static int name_add(struct known *known, const char *name)
{
	const char *shown = arena_copy_text(&known->arena, name), *lower = lower_copy(&known->arena, name);
	int r = shown && lower ? ARRAY_PUSH(&known->lower, lower) : -1;

	return r ? r : ARRAY_PUSH(&known->shown, shown);
}

static int op_names_add(const struct read_op *op, void *data)
{
	struct known *known = data;
	char shown[NAME_MAX_BYTES + 1];
	int r;

	if (op->is_unlisted)
		return 0;
	op_name_short(op->name, shown, sizeof(shown));
	r = name_add(known, shown);
	return r || strcmp(shown, op->name) == 0 ? r : name_add(known, op->name);
}

void unknown_op_say(struct store_reader *reader, const char *typed, char ret[UNKNOWN_OP_BYTES])
{
	struct known known = { .arena = ARENA_INIT };
	const char *lower = lower_copy(&known.arena, typed), *near = NULL;

	(void)store_reader_ops(reader, op_names_add, &known); /* on an error, the names found so far are used */
	if (lower)
		near = name_nearest(lower, known.lower.items, known.shown.n);
	for (size_t i = 0; near && i < known.shown.n; i++) {
		if (known.lower.items[i] != near)
			continue;
		near = known.shown.items[i];
		break;
	}
	if (near)
		(void)snprintf(ret, UNKNOWN_OP_BYTES, "no operation is called '%.64s' here; did you mean '%.64s'?",
			       typed, near);
	else
		(void)snprintf(
			ret, UNKNOWN_OP_BYTES,
			"no operation is called '%.64s' here; to list the names: ingero query 'SELECT name FROM ops'",
			typed);
	ARRAY_DONE(&known.lower);
	ARRAY_DONE(&known.shown);
	arena_done(&known.arena);
}
