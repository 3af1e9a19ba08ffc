// SPDX-License-Identifier: Apache-2.0
/*
 * Which processes ran while threads of one process were ready to run, as last read.
 *
 * A row of the kernel's map may be removed and begin anew at 0: the time read before is kept. A row may be the sum of a
 * user's processes. The BEHIND_MOST
 * processes with the most time are listed singly, the others as one sum for each user. Beyond BEHIND_SUMS_MOST sums,
 * further ones are one sum of several users. A process in a sum is listed singly again once it runs for longer between
 * two readings than another one on the list ever did. So a list is short, however many processes come and go, and no
 * time is missing in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define BEHIND_MOST 256
#define BEHIND_SUMS_MOST 64
#define BEHIND_UID_SEVERAL UINT32_MAX

struct behind_figures {
	uint64_t ns;
	uint64_t number; /* of this entry of the list: another one if its process was part of a sum meanwhile */
	uint32_t tgid;	 /* 0: a sum of several processes */
	uint32_t uid;	 /* of a sum of several users: BEHIND_UID_SEVERAL */
	bool is_between; /* between calls; false: in a call */
	bool is_guarded; /* its own user may not inspect it */
	char comm[RECORD_COMM_BYTES];
};

/* Ascending by tgid, is_between and uid, so sums come first; each once. Release with ARRAY_DONE(). */
struct behind_list {
	struct behind_figures *items;
	size_t n;
	size_t room;
};

struct behind_book;

struct behind_book *behind_book_new(void);
void behind_book_free(struct behind_book *book);
/**
 * behind_book_note() - note one row of the kernel's map for behind_book_read(); with time 0: the row was removed
 * Return: 0 or -ENOMEM
 */
int behind_book_note(struct behind_book *book, const struct behind_key *key, const struct behind_value *value);
/**
 * behind_book_read() - add what was noted since the last reading to the list
 * @is_complete: the reading was complete: a missing row was removed
 * Return: 0; -ENOMEM: the list is as before, the next reading adds it
 */
int behind_book_read(struct behind_book *book, struct behind_list *list, bool is_complete);
/** behind_fold() - keep the processes with the most time singly */
void behind_fold(struct behind_list *list, size_t singly);
/** behind_copy() - @ret: a copy. Return: 0 or -ENOMEM */
int behind_copy(const struct behind_list *list, struct behind_list *ret);
/**
 * behind_since() - the time of each entry since an earlier state of the same list, in one pass over both
 * @then: NULL: all of it
 * @ret: entries with any time; release with ARRAY_DONE()
 * Return: 0 or -ENOMEM
 */
int behind_since(const struct behind_list *now, const struct behind_list *then, struct behind_list *ret);
