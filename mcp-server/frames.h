// SPDX-License-Identifier: Apache-2.0
/* Stacks in answers: frames as short texts, since a model reads them. */
#pragma once

#include "libingero/answers/stack/place.h"
#include "mcp-server/writer.h"

/** frames_place_write() - append members `from`, a line of a program, and `module`, if it is known */
void frames_place_write(struct writer *w, const struct stack_place *place);
/** frames_write() - append members `stack_id`, `stack_complete`, `stack_why`, and `frames`, innermost first */
void frames_write(struct writer *w, const Ingero__V1__Stack *stack);
