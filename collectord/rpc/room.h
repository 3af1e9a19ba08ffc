// SPDX-License-Identifier: Apache-2.0
/* The connection to close when all are in use and another user connects. */
#pragma once

#include <stdint.h>

struct peer;

/**
 * room_find() - connection to close so that another one of this uid can be opened
 * @first:  the list of all, youngest first
 * @n_held: connections that this uid has
 *
 * Of the user with most connections: the one idle for longest, or the youngest if all are busy. A user who has
 * connections already takes only idle ones, of users with more, or own ones. Root's are never closed.
 * Return: borrowed; NULL: none
 */
struct peer *room_find(struct peer *first, uint32_t uid, unsigned int n_held);
