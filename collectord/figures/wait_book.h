// SPDX-License-Identifier: Apache-2.0
/*
 * What the threads of one process waited for, each wait by thread, place, resource and waker, as last read.
 *
 * An entry of the kernel's map may be evicted and begin anew at 0: the time read before is kept. The waits with the
 * most time are kept singly, the others as one sum for each thread, operation, class and kind of resource, without the
 * resource and the waker. Beyond WAITS_MOST sums, further sums have no thread and no kind of resource either.
 *
 * The kernel counts a wait when it has ended. A wait in progress is listed separately until then: .is_open.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "figures/account.h"

#define WAITS_MOST 128 /* waits of one process that are kept singly */

struct wait_list {
	struct account_wait *items;
	size_t n;
	size_t room;
};

struct wait_book;

struct wait_book *wait_book_new(void);
void wait_book_free(struct wait_book *book);
/**
 * wait_book_note() - note one entry of the kernel's map
 * @path: path of the file waited for, NULL: unknown
 * @reading: number of the reading
 * Return: 0 or -ENOMEM
 */
int wait_book_note(struct wait_book *book, const struct wait_key *key, const struct wait_value *value, const char *path,
		   uint64_t reading);
/**
 * wait_book_open() - note a thread's wait in progress: ticks report it as it grows, and only the rest when it has ended
 * @record: a record whose wait_since_ns is not 0
 * @path: as for wait_book_note()
 * @reading: number of the reading of accounts
 * Return: 0 or -ENOMEM
 */
int wait_book_open(struct wait_book *book, const struct account_record *record, const char *path, uint64_t reading);
/** wait_book_opened() - end the waits in progress that were not in this complete reading of accounts */
void wait_book_opened(struct wait_book *book, uint64_t reading);
/**
 * wait_list_fold() - shorten a list by merging waits
 * @list: sorted, longest first; stays sorted
 * @singly: number of waits that stay; the others are merged into one for each thread, operation, class and kind of
 *          resource; those for children by their name and user, too, without their numbers
 * @most: maximum length: a longer list keeps its longest waits; a list within it is not changed
 */
void wait_list_fold(struct wait_list *list, size_t singly, size_t most);
/** wait_book_forget() - drop entries that were not in this complete reading: they are no longer in the map */
void wait_book_forget(struct wait_book *book, uint64_t reading);
/**
 * wait_book_show() - list all waits since the start
 * @accounts: accounts of the process: waits of a thread without one are listed under tid 0. Empty: all keep their
 *            thread
 * @ret: sorted by time, longest first; release with ARRAY_DONE()
 * Return: 0 or -ENOMEM
 */
int wait_book_show(const struct wait_book *book, const struct account *accounts, size_t n_accounts,
		   struct wait_list *ret);
/** wait_book_tick() - the same since wait_book_taken(). max_ns is an upper bound unless it is the longest wait ever */
int wait_book_tick(const struct wait_book *book, const struct account *accounts, size_t n_accounts,
		   struct wait_list *ret);
/** wait_book_taken() - mark everything noted so far as reported: later ticks leave it out */
void wait_book_taken(struct wait_book *book);
