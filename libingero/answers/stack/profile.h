// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of the daemon's answer as a profile for flame graphs: the process outermost, the called function innermost.
 * A stack that is not complete says so in the frame below its process, and calls without a stack have one frame for it.
 */
#pragma once

#include "libingero/answers/stack/sites.h"
#include "libingero/render/flame.h"

/**
 * stack_profile_init() - prepare an empty profile
 * @rows: the rows that will be added: of the classes of blame it has those that one of them has
 * Return: 0 or -ENOMEM
 */
int stack_profile_init(const struct stack_rows *rows, struct flame *ret);
/**
 * stack_profile_init_change() - prepare an empty profile of two values: the measure, and the same of an earlier time
 * Return: 0 or -ENOMEM
 */
int stack_profile_init_change(const struct stack_measure *measure, struct flame *ret);
/** stack_profile_value() - which value of a profile is a measure. Return: 0 where none is */
size_t stack_profile_value(const struct flame *profile, const struct stack_measure *measure);
/**
 * stack_profile_add() - add the rows of sites
 * @limit: of so many sites, the first; 0: of all
 * @takes_inner: also calls within others, in whose values theirs are, too: for calls of one operation
 * Return: 0 or -ENOMEM
 */
int stack_profile_add(struct flame *profile, const struct stack_sites *sites, uint64_t limit, bool takes_inner);
/**
 * stack_profile_add_change() - add rows to a profile of a change
 * @takes_inner: as of stack_profile_add()
 * @is_before: they are of the earlier time
 * Return: 0 or -ENOMEM
 */
int stack_profile_add_change(struct flame *profile, const struct stack_measure *measure, const struct stack_rows *rows,
			     bool takes_inner, bool is_before);
