// SPDX-License-Identifier: Apache-2.0
#include "events/sites.h"

#include <stdbool.h>
#include <string.h>

#include "events/stack.h"

void sites_note(struct sites *sites, struct stack *stack, uint64_t ns)
{
	size_t least = 0;

	for (size_t i = 0; i < sites->n; i++) {
		if (sites->items[i].stack == stack) {
			sites->items[i].ns += ns;
			return;
		}
		if (sites->items[i].ns < sites->items[least].ns)
			least = i;
	}
	if (sites->n < SITES_MAX) {
		sites->items[sites->n++] = (struct site_sum){ stack_ref(stack), ns };
		return;
	}
	/* What was lost at stacks that left is in the sums of those that came: a heavy one stays (Misra, Gries). */
	(void)stack_unref(sites->items[least].stack);
	sites->items[least].stack = stack_ref(stack);
	sites->items[least].ns += ns;
}

static bool is_same_place(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->line == b->line && strcmp(a->file, b->file) == 0 && (a->line || strcmp(a->symbol, b->symbol) == 0);
}

const struct stack_frame *sites_most(const struct sites *sites)
{
	const struct stack_frame *most = NULL;
	uint64_t most_ns = 0;

	for (size_t i = 0; i < sites->n; i++) {
		const struct stack_frame *place = stack_site(sites->items[i].stack), *other;
		uint64_t ns = 0;

		for (size_t k = 0; place && k < sites->n; k++) {
			other = stack_site(sites->items[k].stack);
			if (other && is_same_place(place, other))
				ns += sites->items[k].ns;
		}
		if (ns > most_ns) {
			most = place;
			most_ns = ns;
		}
	}
	return most;
}

void sites_done(struct sites *sites)
{
	for (size_t i = 0; i < sites->n; i++)
		(void)stack_unref(sites->items[i].stack);
	sites->n = 0;
}
