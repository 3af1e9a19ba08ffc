// SPDX-License-Identifier: Apache-2.0
/*
 * What the threads of one process waited for, each wait by thread, place, resource and waker, as last read.
 *
 * An entry of the kernel's map may be evicted and begin anew at 0: what was read of it before stays. The entries with
 * the most time are kept singly, the others as one sum for each thread, operation, class and kind of resource, without
 * the resource and the waker. Of more sums than WAITS_MOST, those of further ones have no thread and no kind either.
 *
 * The kernel counts a wait when it is over. One that goes on is told apart until then: .is_open.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "figures/account.h"

#define WAITS_MOST 128 /* kept singly, of a process */

struct wait_list {
	struct account_wait *items;
	size_t n;
	size_t room;
};

struct wait_book;

struct wait_book *wait_book_new(void);
void wait_book_free(struct wait_book *book);
/**
 * wait_book_note() - one entry of the kernel's map
 * @path:    of the file that it is about, NULL: none is known
 * @reading: number of the reading
 * Return: 0 or -ENOMEM
 */
int wait_book_note(struct wait_book *book, const struct wait_key *key, const struct wait_value *value, const char *path,
		   uint64_t reading);
/**
 * wait_book_open() - the wait of a thread that goes on: told in ticks as it grows, and at its end no more of it
 * @record: its wait_since_ns is not 0
 * @path:   as of wait_book_note()
 * @reading: number of the reading of accounts
 * Return: 0 or -ENOMEM
 */
int wait_book_open(struct wait_book *book, const struct account_record *record, const char *path, uint64_t reading);
/** wait_book_opened() - waits that were not in this reading of accounts, which was whole, have ended */
void wait_book_opened(struct wait_book *book, uint64_t reading);
/**
 * wait_list_fold() - make few waits of many
 * @list:   the longest first; remains so
 * @singly: so many remain; the others become one for each thread, operation, class and kind of resource
 * @most:   a list that is no longer is left as it is; of a longer one so many remain, the longest
 */
void wait_list_fold(struct wait_list *list, size_t singly, size_t most);
/** wait_book_forget() - entries that were not in this reading, which was whole, are not in the map any more */
void wait_book_forget(struct wait_book *book, uint64_t reading);
/**
 * wait_book_show() - all waits since the first
 * @accounts: of the process: waits of a thread that is not among them are those of tid 0; of no account: as they are
 * @ret: by time, the longest first; release with ARRAY_DONE()
 * Return: 0 or -ENOMEM
 */
int wait_book_show(const struct wait_book *book, const struct account *accounts, size_t n_accounts,
		   struct wait_list *ret);
/** wait_book_tick() - likewise, since wait_book_taken(); max_ns: at most so long, where it was not the longest ever */
int wait_book_tick(const struct wait_book *book, const struct account *accounts, size_t n_accounts,
		   struct wait_list *ret);
/** wait_book_taken() - what was noted so far is in no later tick */
void wait_book_taken(struct wait_book *book);
