// SPDX-License-Identifier: Apache-2.0
/*
 * Waits in progress of the threads of one process: ticks report each as it grows. After its end a wait is kept until
 * the kernel has counted it, since what ticks have reported is subtracted then.
 *
 * Threads are found by a hash of their ids: a process may have very many that wait.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"
#include "figures/account.h"

struct open_wait {
	struct account_wait wait;
	uint64_t since_ns; /* 0: no wait */
	uint64_t told_ns;  /* reported in ticks */
	uint64_t reading;  /* number of the last reading that had it */
};

struct open_thread {
	uint32_t tid;
	struct open_wait now;
	/* The last that ended: earlier ones were counted, or never will be. */
	struct open_wait over;
};

struct open_waits {
	ARRAY(struct open_thread) threads;
	uint32_t *slots; /* hash: index + 1; 0: empty */
	size_t n_slots;	 /* power of two */
};

void open_waits_done(struct open_waits *w);
/**
 * open_waits_note() - note a thread's wait in progress
 * @since_ns: its start, not 0
 * @reading: number of the reading of accounts
 * Return: 0 or -ENOMEM; @ret_wait: the noted wait, borrowed until the next call; NULL: the record changed while it was
 * read
 */
int open_waits_note(struct open_waits *w, const struct account_wait *wait, uint64_t since_ns, uint64_t reading,
		    struct account_wait **ret_wait);
/** open_waits_settle() - the kernel has counted a wait: forget it. Return: the part of @ns that ticks have reported */
uint64_t open_waits_settle(struct open_waits *w, const struct account_wait *wait, uint64_t ns);
/** open_waits_end() - end the waits that were not in this complete reading of accounts */
void open_waits_end(struct open_waits *w, uint64_t reading);
/** open_waits_taken() - mark everything noted so far as reported */
void open_waits_taken(struct open_waits *w);
