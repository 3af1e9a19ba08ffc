// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts of the threads of one process, each as last read.
 *
 * The kernel half splits the wall clock of each thread since its first call into parts. A reading may correct an
 * earlier one: the class of a wait may change when the wait ends. No reported part ever shrinks: a part that was
 * reported too large keeps its value, and parts that grew meanwhile are reported smaller instead, first those of the
 * same operation, then the time on the CPU between calls. So the parts always sum to the wall clock, and so do their
 * differences.
 *
 * A thread is driving if it made a fifth or more of the process's calls between two ticks. If no thread made a call,
 * each keeps its state; before the first call has ended, every thread is driving. Over its whole life a thread is
 * driving if the ticks in which it was driving make up at least half of its wall clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "figures/account.h"

#define ACCOUNT_OTHERS_MOST 7 /* non-driving threads that are listed singly: those with most calls */
#define ACCOUNT_ENDED_MOST 8  /* ended driving threads that are kept singly: the longest-lived */

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
 * account_book_note() - note one thread as read; of a torn record only that the thread exists
 * @reading: number of the reading, ascending
 * Return: 0 or -ENOMEM
 */
int account_book_note(struct account_book *book, const struct account_record *record, uint64_t reading);
/**
 * account_book_show() - list all threads since their first calls
 * @ret: driving threads, the 7 others with most calls, and the sum of the rest as tid 0; release with
 *       account_list_done()
 * Return: 0 or -ENOMEM
 */
int account_book_show(const struct account_book *book, struct account_list *ret);
/** account_book_tick() - the same since account_book_taken(); threads without any time since then are left out */
int account_book_tick(const struct account_book *book, struct account_list *ret);
/**
 * account_book_taken() - mark everything read so far as reported: later ticks leave it out
 * @reading: number of the last complete reading. A thread that is neither in it nor in the one before has ended; from
 *           then on most ended threads are summed as tid 0.
 */
void account_book_taken(struct account_book *book, uint64_t reading);
