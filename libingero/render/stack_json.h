// SPDX-License-Identifier: Apache-2.0
/* Stacks and lines of programs as JSON: with the names that users of Ingero know; what is not known is absent. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/** stack_json_members() - append members "stack_id", "stack", "stack_complete" and, if it is not, "stack_why" */
void stack_json_members(struct buf *out, const Ingero__V1__Stack *stack);
/** stack_json_site() - append an object with "file", "func", "line" */
void stack_json_site(struct buf *out, const Ingero__V1__Site *site);
