// SPDX-License-Identifier: Apache-2.0
/*
 * What somebody meant who typed a name that does not exist.
 */
#pragma once

#include <stddef.h>

#define NAME_MAX_BYTES 64 /* names longer than this are not compared */

/**
 * name_nearest() - the name a user may have meant
 * @names: n names; NULL entries are passed over
 * Return: one of them, or NULL when none is near
 */
const char *name_nearest(const char *typed, const char *const *names, size_t n);
