// SPDX-License-Identifier: Apache-2.0
/*
 * What every traced process did, exactly: the kernel half's cells read once per
 * period, and hung on the process's entry in the table.
 *
 * Cells count in 32 bits and wrap; here everything is 64 bits, by difference. A
 * process that is gone keeps its figures until the daemon forgets it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"
#include "figures/account.h"
#include "figures/op_figures.h"
#include "procs/process_table.h"

/* Someone who ran while calls of this process were runnable. */
struct behind_figures {
	uint32_t tgid;
	uint32_t uid;
	uint64_t ns;
	uint64_t last_ns; /* the kernel's figure when last read: smaller means it started anew */
	bool is_between;  /* calls, else in one */
	char comm[RECORD_COMM_BYTES];
};

/* What ticks need (tick.c). */
struct figures_taken {
	struct account_book *book;   /* NULL: no account yet */
	struct wait_book *wait_book; /* likewise */
	/* what it had done when a tick was last taken */
	struct op_list ops;
	ARRAY(struct behind_figures) behind;
};

struct process_figures {
	uint64_t id;		 /* never reused */
	struct process *process; /* a reference; another entry from the moment on that it becomes guarded */
	uint64_t first_call_ns;
	uint64_t gone_ns;   /* 0 while it lives */
	uint32_t slot;	    /* 0 once given back */
	bool was_told;	    /* in a tick: from its first sight on it is known */
	bool was_gone;	    /* in that tick: none tells of it any more */
	struct op_list ops; /* recent_ns: longest call since figures_restart_max() */
	ARRAY(struct behind_figures) behind;
	/*
	 * Since the first calls of the threads: driving ones, the 7 others that called most, all others as tid 0. Which
	 * thread is told singly may change. Gone and told in a tick: the driving thread that called most, of the 128
	 * processes that went last; of others: none.
	 */
	ARRAY(struct account) accounts;
	ARRAY(struct account_wait) waits; /* likewise; the longest first */
	struct figures_taken *taken;	  /* NULL: nothing yet, or nothing more */
};

struct account_book;
struct figures;
struct file_table;
struct wait_book;

/* The kernel half's memory, or a test's. */
struct figures_source {
	const struct process_slot *slots; /* PROCESS_SLOTS */
	struct figure_cell *cells;	  /* slow_ns and max_ns are written */
	/*
	 * Cells from the returned index on were never used; 0: what is there cannot be read now. Asked once the states
	 * of slots are known: a process that has ended by then has claimed its last cell.
	 */
	uint32_t (*cells_used)(void *data);
	void *data;
};

/** figures_new() - @table: borrowed. Return: 0 or -ENOMEM */
int figures_new(struct process_table *table, struct figures **ret_figures);
void figures_free(struct figures *figures);
/** figures_set_files() - paths of the files that are waited for; borrowed. Those of a slot go with it */
void figures_set_files(struct figures *figures, struct file_table *files);
/** figures_slot_identity() - of the process that has a slot now; its start by the wall clock as mapped now */
void figures_slot_identity(const struct process_slot *slot, struct process_identity *ret);
/** figures_finish() - its end was told in a tick: what no answer needs is released */
void figures_finish(struct process_figures *process);
/** figures_taken_free() - NULL is fine */
void figures_taken_free(struct figures_taken *taken);
/**
 * figures_collect() - read what changed
 * Also sets each cell's threshold of a slow call and takes its maximum away, to know the next one's.
 * Return: 0, or -ENOMEM (what could not be read or kept is read again next time)
 */
int figures_collect(struct figures *figures, const struct figures_source *source);
/** figures_behind() - note one entry of the kernel's map, after figures_collect(). Return: 0 or -ENOMEM */
int figures_behind(struct figures *figures, const struct behind_key *key, const struct behind_value *value);
/**
 * figures_account() - note the account of a thread, after figures_collect()
 * The same one again, an older one and one that was changed while it was copied are no harm.
 * Return: 0, -ENOMEM, or -ENOBUFS: too many of processes that are not known yet; the next reading has it if the thread
 *         still lives
 */
int figures_account(struct figures *figures, const struct account_record *record);
/** figures_wait() - note one entry of the kernel's map, after figures_collect(). Return: 0 or -ENOMEM */
int figures_wait(struct figures *figures, const struct wait_key *key, const struct wait_value *value);
/**
 * figures_accounts_read() - the accounts and waits of processes are of now
 * @all_accounts: every thread was noted: one that is missing in two such readings has ended
 * @all_waits: every entry was noted: one that is missing will begin anew
 * Return: 0 or -ENOMEM (those of some processes are as before)
 */
int figures_accounts_read(struct figures *figures, bool all_accounts, bool all_waits);
/** figures_accounts_lost() - how many accounts were noted that no process has, or for which there was no room */
uint64_t figures_accounts_lost(const struct figures *figures);
/** figures_accounts_taken() - the accounts so far were told in a tick, or nobody watches: later ticks tell the rest */
void figures_accounts_taken(struct figures *figures);
/** typedef figures_release_func - a gone process was read for the last time: its slot may be reused */
typedef void (*figures_release_func)(uint32_t slot, void *data);
/** figures_release_gone() - let go of the slots that the last figures_collect() saw gone and read whole */
void figures_release_gone(struct figures *figures, const struct figures_source *source, figures_release_func release,
			  void *data);

/** figures_gone() - how many those are */
size_t figures_gone(const struct figures *figures);
size_t figures_count(const struct figures *figures);
/** figures_get() - processes in the order they were first seen; borrowed until the next collect or forget */
struct process_figures *figures_get(const struct figures *figures, size_t i);
/** figures_restart_max() - from now on the recent maxima are of later calls */
void figures_restart_max(struct figures *figures);
/** figures_find_slot() - live process in a slot, NULL if none */
const struct process_figures *figures_find_slot(const struct figures *figures, uint32_t slot);
typedef void (*figures_forget_func)(const struct process_figures *process, void *data);
/**
 * figures_forget_gone() - drop processes gone before a time; keeps at most `most` of those gone later
 * @func: told of each before it is dropped; NULL: nobody
 * Return: how many were dropped
 */
size_t figures_forget_gone(struct figures *figures, uint64_t before_ns, size_t most, figures_forget_func func,
			   void *data);

/* Of all that were forgotten. */
struct figures_forgotten {
	uint64_t calls;
	uint64_t busiest_calls; /* of one process */
	uint64_t removed_ns;	/* the tracer's share that was taken out of durations */
};
struct figures_forgotten figures_forgotten(const struct figures *figures);
