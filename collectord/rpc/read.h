// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to the database: each is answered by a sealed process of its own, whose
 * replies are handed on unread.
 *
 * Few run at once, of one user and in all; others wait their turn.
 */
#pragma once

#include <stdbool.h>

/*
 * All are guesses: revisit with real dashboards. One process may use a CPU and 64 MiB. Of one user so many run, or one
 * less than the machine has CPUs, so that from three on he leaves one to the others; but two, since one may wait for
 * its reader.
 */
#define READ_USER_RUNNING 4
#define READ_USER_RUNNING_MIN 2
#define READ_TOTAL_RUNNING 16 /* without root's, who must always get in */
#define READ_USER_WAITING 32
#define READ_TOTAL_WAITING 256

struct read_hub;

/**
 * read_hub_start() - begin to answer one question that waits, if it may run: of the user of whom fewest run
 *
 * Once in a turn of the loop, behind all requests that came with it: the loop stands still while a process starts,
 * and a question that is cancelled at once needs none. Return: whether there may be another
 */
bool read_hub_start(struct read_hub *hub);
int read_hub_new(struct read_hub **ret_hub);
/** read_hub_free() - after every call is over; NULL is fine */
void read_hub_free(struct read_hub *hub);
