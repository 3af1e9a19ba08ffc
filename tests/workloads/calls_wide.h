// SPDX-License-Identifier: Apache-2.0
/*
 * Calls whose arguments are many or lie in structures; rows of calls_wide.def. They are made by address, which
 * needs no prototype: integers and pointers of any type travel alike.
 */
#pragma once

#include "calls.h"

#define WIDE(export, said, ...) int calls_wide_##export(struct caller * caller, struct call_args * args);
#include "calls_wide.def"
#undef WIDE

/** calls_wide_find() - a function of the libraries loaded; without it the program ends */
void *calls_wide_find(const char *name);
