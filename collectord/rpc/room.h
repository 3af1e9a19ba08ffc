// SPDX-License-Identifier: Apache-2.0
/*
 * Who goes when all connections are in use and another user comes.
 */
#pragma once

#include <stdint.h>

struct peer;

/**
 * room_find() - connection to close so that another of this uid can be opened
 * @first:  of the list of all, youngest first
 * @n_held: connections that this uid has
 *
 * Of the user who holds most: the one that has been idle for longest, or where each of them is busy the youngest. A
 * user who has connections already takes only idle ones, of users who hold more, or his own. Root's are left alone.
 * Return: borrowed; NULL: none
 */
struct peer *room_find(struct peer *first, uint32_t uid, unsigned int n_held);
