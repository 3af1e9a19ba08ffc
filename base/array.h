// SPDX-License-Identifier: Apache-2.0
/*
 * A typed growing array: `struct { T *items; size_t n, room; }`.
 *
 * ARRAY(T) declares one, ARRAY_PUSH appends (0 or -ENOMEM), ARRAY_FIT releases unused room, ARRAY_DONE frees. Elements
 * move when it grows; keep indexes, not pointers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define ARRAY(type)                                                                                                    \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t n;                                                                                              \
		size_t room;                                                                                           \
	}

/** array_grow() - make room for one more element of `size` bytes. Return: 0, or -ENOMEM with the array untouched */
int array_grow(void *items, size_t n, size_t *room, size_t size);

#define ARRAY_PUSH(a, value)                                                                                           \
	({                                                                                                             \
		int push_r_ = array_grow(&(a)->items, (a)->n, &(a)->room, sizeof(*(a)->items));                        \
		if (push_r_ == 0)                                                                                      \
			(a)->items[(a)->n++] = (value);                                                                \
		push_r_;                                                                                               \
	})

/* Removes element i by moving the last one into its place: order is not kept. */
#define ARRAY_REMOVE_SWAP(a, i) ((a)->items[i] = (a)->items[--(a)->n])

/*
 * Binary search: index of the first of `count` sorted entries for which `is_before`, an expression of index i, is
 * false.
 */
#define SORTED_PLACE(count, i, is_before)                                                                              \
	({                                                                                                             \
		size_t sorted_low_ = 0, sorted_high_ = (count);                                                        \
		while (sorted_low_ < sorted_high_) {                                                                   \
			size_t i = sorted_low_ + (sorted_high_ - sorted_low_) / 2;                                     \
			if (is_before)                                                                                 \
				sorted_low_ = i + 1;                                                                   \
			else                                                                                           \
				sorted_high_ = i;                                                                      \
		}                                                                                                      \
		sorted_low_;                                                                                           \
	})

/* Releases the memory of unused room. */
#define ARRAY_FIT(a)                                                                                                   \
	do {                                                                                                           \
		void *fit_ = (a)->n ? realloc((a)->items, (a)->n * sizeof(*(a)->items)) : NULL;                        \
		if (fit_) {                                                                                            \
			(a)->items = fit_;                                                                             \
			(a)->room = (a)->n;                                                                            \
		}                                                                                                      \
	} while (0)

#define ARRAY_DONE(a)                                                                                                  \
	do {                                                                                                           \
		free((a)->items);                                                                                      \
		(a)->items = NULL;                                                                                     \
		(a)->n = (a)->room = 0;                                                                                \
	} while (0)
