// SPDX-License-Identifier: Apache-2.0
/*
 * Where the threads of one process waited between their calls: the stacks of those waits whose stack was taken, by
 * thread, class and resource. They are samples: which place has most is an estimate, and no time is told from them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct account_wait;
struct sites;
struct stack;
struct wait_key;
struct wait_sites;

#define WAIT_SITES_MOST 32 /* threads, classes and resources of one process; the one with least makes place */

struct wait_sites *wait_sites_new(void);
/** wait_sites_free() - NULL is allowed */
void wait_sites_free(struct wait_sites *sites);
/** wait_sites_note() - a wait of `ns` nanoseconds with this stack has ended */
void wait_sites_note(struct wait_sites *sites, const struct wait_key *key, struct stack *stack, uint64_t ns);
/** wait_sites_note_open() - a wait in progress has this stack; its time counts when it has ended */
void wait_sites_note_open(struct wait_sites *sites, const struct wait_key *key, struct stack *stack);
/** wait_sites_open() - Return: stack of the last wait like this that was in progress, borrowed; NULL: not known */
const struct stack *wait_sites_open(const struct wait_sites *sites, const struct account_wait *wait);
/**
 * wait_sites_find() - the stacks of waits of the same thread, class and resource
 * @is_tick: of the last tick alone
 * Return: borrowed until the next note; NULL: none was taken
 */
const struct sites *wait_sites_find(const struct wait_sites *sites, const struct account_wait *wait, bool is_tick);
/** wait_sites_taken() - a tick is taken: what was noted since the one before is its part */
void wait_sites_taken(struct wait_sites *sites);
