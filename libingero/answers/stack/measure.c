// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/measure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Those of blame in the order of their classes. */
const char *const stack_measure_names[] = { [STACK_TIME] = "time",
					    [STACK_COUNT] = "count",
					    [STACK_BYTES] = "bytes",
#define BLAME(id, field, label, phrase, remedy) [STACK_BLAME + BLAME_VIEW_##id] = "blame:" #field,
#include "bpf/blame.def"
#undef BLAME
					    NULL };

int stack_measure_parse(const char *text, struct stack_measure *ret)
{
	for (size_t i = 0; stack_measure_names[i]; i++) {
		if (strcmp(text, stack_measure_names[i]) != 0)
			continue;
		*ret = (struct stack_measure){ .kind = (enum stack_measure_kind)MIN(i, (size_t)STACK_BLAME) };
		if (ret->kind == STACK_BLAME)
			ret->class = (enum blame_view_class)(i - STACK_BLAME);
		return 0;
	}
	return -EINVAL;
}

struct flame_value stack_measure_value(const struct stack_measure *measure)
{
	size_t i = measure->kind == STACK_BLAME ? STACK_BLAME + measure->class : measure->kind;
	struct flame_value value = { .unit = measure->kind == STACK_COUNT   ? FLAME_COUNT
					     : measure->kind == STACK_BYTES ? FLAME_BYTES
									    : FLAME_NANOSECONDS };

	(void)snprintf(value.name, sizeof(value.name), "%s", stack_measure_names[i]);
	return value;
}

uint64_t stack_row_counted(const Ingero__V1__StackRow *row)
{
	return MAX(row->counted, row->count);
}

uint64_t stack_row_counted_ns(const Ingero__V1__StackRow *row)
{
	return MAX(row->counted_ns, row->total_ns);
}

uint64_t stack_measure_of(const struct stack_measure *measure, const Ingero__V1__StackRow *row)
{
	switch (measure->kind) {
	case STACK_TIME:
		return stack_row_counted_ns(row);
	case STACK_COUNT:
		return stack_row_counted(row);
	case STACK_BYTES:
		return row->bytes;
	case STACK_BLAME:
		break;
	}
	return blame_view_of(row->blame_ns).ns[measure->class];
}
