// SPDX-License-Identifier: Apache-2.0
/* The stacks of calls or waits that lost most: the place in the program that a finding names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stack;
struct stack_frame;

#define SITES_MAX 8 /* stacks; a guess: with more, those with least share what they lost with the newcomers */

struct site_sum {
	struct stack *stack; /* a reference */
	uint64_t ns;
};

struct sites {
	struct site_sum items[SITES_MAX];
	size_t n;
};

/** sites_note() - a call or wait with this stack lost so much. Without room the one with least makes place, and leaves
 * its sum
 */
void sites_note(struct sites *sites, struct stack *stack, uint64_t ns);
/**
 * sites_most() - the place that lost most, stacks with the same place taken together
 * Return: borrowed until the next call of sites_note() or sites_done(); NULL: not known
 */
const struct stack_frame *sites_most(const struct sites *sites);
/** sites_done() - release all: it is empty, and may be used again */
void sites_done(struct sites *sites);
