// SPDX-License-Identifier: Apache-2.0
/*
 * The accounts of the threads of one process, each as last read.
 *
 * The kernel half says of each thread how its wall clock falls into parts since its first call. A reading may correct
 * an earlier one: what a wait was taken for while it lasted may turn out as another class. No part ever shrinks: what
 * was told too much of is kept, and what grew meanwhile is told less of, first in the same operation, then of the time
 * on the CPU between calls. So the parts always sum to the wall clock, and so do their differences.
 *
 * Driving is a thread that made a fifth or more of the process's calls between two ticks; without a call it is what it
 * was before, and before the first call ended each is. Over its whole life it is driving if it was so in ticks that
 * make up at least half of its clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "figures/account.h"

#define ACCOUNT_OTHERS_MOST 7 /* threads that are not driving and told singly: those that called most */
#define ACCOUNT_ENDED_MOST 8  /* driving threads that ended and are remembered singly: those that lived longest */

struct account_list {
	struct account *items;
	size_t n;
	size_t room;
};

struct account_book;

struct account_book *account_book_new(void);
void account_book_free(struct account_book *book);
/** account_list_done() - release a list of accounts */
void account_list_done(struct account_list *list);

/**
 * account_book_note() - one thread, as read; a torn record says only that the thread is there
 * @reading: number of the reading, ascending
 * Return: 0 or -ENOMEM
 */
int account_book_note(struct account_book *book, const struct account_record *record, uint64_t reading);
/**
 * account_book_show() - all threads since their first calls
 * @ret: driving ones, the 7 others that called most, all others as tid 0; release with account_list_done()
 * Return: 0 or -ENOMEM
 */
int account_book_show(const struct account_book *book, struct account_list *ret);
/** account_book_tick() - likewise, since account_book_taken(); threads without any time since are left out */
int account_book_tick(const struct account_book *book, struct account_list *ret);
/**
 * account_book_taken() - what was read so far is in no later tick
 * @reading: the last whole one. A thread that was in neither this reading nor the one before has ended; most that ended
 *           are summed as tid 0 from then on.
 */
void account_book_taken(struct account_book *book, uint64_t reading);
