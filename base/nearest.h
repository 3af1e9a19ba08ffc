// SPDX-License-Identifier: Apache-2.0
/* Suggestions for a mistyped name. */
#pragma once

#include <stddef.h>

#define NAME_MAX_BYTES 64 /* names longer than this are not compared */

/**
 * name_nearest() - the name a user may have meant
 * @names: n names; NULL entries are skipped
 * Return: one of them, or NULL when none is near
 */
const char *name_nearest(const char *typed, const char *const *names, size_t n);
