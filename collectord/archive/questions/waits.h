// SPDX-License-Identifier: Apache-2.0
/* Processes whose main thread waited for most of the time, outside calls. */
#pragma once

#include "base/arena.h"
#include "ingero/v1/ingero.pb-c.h"
#include "archive/read/read.h"

/** reader_waits() - list such processes in a window, longest wait first. Return: 0 or -ENOMEM */
int reader_waits(struct arena *arena, const struct read_window *window, Ingero__V1__Wait ***ret_waits, size_t *ret_n);
