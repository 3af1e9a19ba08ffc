// SPDX-License-Identifier: Apache-2.0
/* Events whose message has each stack once: an event names it by its id. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/**
 * stack_of_event() - the stack of an event
 * @stacks: n stacks of the message that has the event
 * Return: that of its id; else what the event has itself; NULL: none was taken
 */
const Ingero__V1__Stack *stack_of_event(const Ingero__V1__Event *event, Ingero__V1__Stack *const *stacks, size_t n);
/** stack_event_json_line() - append the line of an event with its stack. Return: 0 or -ENOMEM with nothing appended */
int stack_event_json_line(struct buf *out, const Ingero__V1__Event *event, Ingero__V1__Stack *const *stacks, size_t n);
