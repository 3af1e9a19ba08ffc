// SPDX-License-Identifier: Apache-2.0
/*
 * Exact figures of every traced process: the kernel half's cells, read once per period and kept with the process's
 * entry in the table.
 *
 * Cells count in 32 bits and wrap around; the figures here add up their differences in 64 bits. A process that is gone
 * keeps its figures until the daemon forgets it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"
#include "figures/account.h"
#include "figures/behind.h"
#include "figures/op_figures.h"
#include "procs/process_table.h"

/* State that only ticks need (tick.c). */
struct figures_taken {
	struct account_book *book;	 /* NULL: no account yet */
	struct wait_book *wait_book;	 /* NULL: no wait yet */
	struct behind_book *behind_book; /* NULL: no neighbour yet */
	/* figures at the last tick */
	struct op_list ops;
	struct behind_list behind;
};

struct process_figures {
	uint64_t id;		 /* never reused */
	struct process *process; /* a reference; replaced by another entry when the process becomes guarded */
	uint64_t first_call_ns;
	uint64_t gone_ns;   /* 0 while the process runs */
	uint32_t slot;	    /* 0 after it was released */
	bool was_told;	    /* a tick has reported the process */
	bool was_gone;	    /* a tick has reported its end: later ticks leave it out */
	struct op_list ops; /* recent_ns: longest call since figures_restart_max() */
	struct behind_list behind;
	/*
	 * Since the first calls of the threads: driving threads, the 7 others with most calls, the sum of the rest as
	 * tid 0. Which threads are listed singly may change. After a tick has reported the end: only the driving thread
	 * with most calls, for 128 processes, those of each user that ended last; none for others.
	 */
	ARRAY(struct account) accounts;
	uint64_t n_outer;		  /* calls at depth 0 of all threads, as in the last reading of accounts */
	ARRAY(struct account_wait) waits; /* threads as in `accounts`; longest first */
	struct wait_sites *wait_sites;	  /* where its threads waited; NULL: not known */
	struct figures_taken *taken;	  /* NULL: no tick yet, or no further tick */
};

struct account_book;
struct figures;
struct file_table;
struct stack;
struct wait_book;
struct wait_record;
struct wait_sites;

/* The kernel half's memory, or a test's. */
struct figures_source {
	const struct process_slot *slots; /* PROCESS_SLOTS */
	struct figure_cell *cells;	  /* slow_ns and max_ns are written */
	const struct left_out *left_out;  /* of each cell; NULL: nothing is left out */
	/*
	 * Returns the index from which on cells were never used; 0: cells cannot be read now. Called after the states
	 * of the slots were read: a process that had ended by then claims no further cell.
	 */
	uint32_t (*cells_used)(void *data);
	void *data;
};

/** figures_new() - @table: borrowed. Return: 0 or -ENOMEM */
int figures_new(struct process_table *table, struct figures **ret_figures);
void figures_free(struct figures *figures);
/**
 * figures_set_files() - set the table of paths of files that threads wait for; borrowed. Paths of a slot are dropped
 * with the slot
 */
void figures_set_files(struct figures *figures, struct file_table *files);
/**
 * figures_slot_identity() - identity of the process in a slot; its start by the wall clock uses the clocks' current
 * offset
 */
void figures_slot_identity(const struct process_slot *slot, struct process_identity *ret);
/** figures_finish() - a tick has reported the end of the process: release what no answer needs */
void figures_finish(struct process_figures *process);
/**
 * figures_set_error() - set the error code of figures since some time, if any call failed since then
 * @op: the figures. @id: id of their operation. @since_ns: on the source's clock
 */
void figures_set_error(struct op_figures *op, const struct process *process, uint32_t id, uint64_t since_ns);
/** figures_taken_free() - NULL is allowed */
void figures_taken_free(struct figures_taken *taken);
/**
 * figures_collect() - read the changed figures
 * Also sets each cell's threshold for slow calls and resets its maximum.
 * Return: 0, or -ENOMEM (what could not be read or kept is read again next time)
 */
int figures_collect(struct figures *figures, const struct figures_source *source);
/**
 * figures_guarded() - read which processes are guarded; call after everything else of them was read. Data from before a
 * process was guarded may count as later, never the other way round
 */
void figures_guarded(struct figures *figures, const struct figures_source *source);
/** figures_behind() - note one entry of the kernel's map, after figures_collect(). Return: 0 or -ENOMEM */
int figures_behind(struct figures *figures, const struct behind_key *key, const struct behind_value *value);
/**
 * figures_behind_read() - bring the lists of neighbours up to date with what was noted
 * @is_complete: the reading was complete: a missing entry was evicted
 * Return: 0 or -ENOMEM (some processes keep their previous lists)
 */
int figures_behind_read(struct figures *figures, bool is_complete);
/**
 * figures_account() - note the account of a thread; call after figures_collect()
 * A repeated or older account, or one that changed while it was copied, does no harm.
 * Return: 0, -ENOMEM, or -ENOBUFS: too many accounts of processes that are not known yet; the next reading has it if
 * the thread still runs
 */
int figures_account(struct figures *figures, const struct account_record *record);
/** figures_wait() - note one entry of the kernel's map, after figures_collect(). Return: 0 or -ENOMEM */
int figures_wait(struct figures *figures, const struct wait_key *key, const struct wait_value *value);
/** figures_open_stack() - note where the wait in progress of an account is, if its process is known already */
void figures_open_stack(struct figures *figures, const struct account_record *record, struct stack *stack);
/** figures_wait_stack() - note where a wait was, if its process is known already */
void figures_wait_stack(struct figures *figures, const struct wait_record *record, struct stack *stack);
/**
 * figures_accounts_read() - bring the accounts and waits of processes up to date
 * @all_accounts: the reading was complete: a thread missing in two complete readings has ended
 * @all_waits: the reading was complete: a missing entry was evicted
 * Return: 0 or -ENOMEM (some processes keep their previous accounts)
 */
int figures_accounts_read(struct figures *figures, bool all_accounts, bool all_waits);
/** figures_accounts_lost() - number of noted accounts without a known process or without room */
uint64_t figures_accounts_lost(const struct figures *figures);
/**
 * figures_accounts_taken() - mark the accounts so far as reported: later ticks report only the rest. Also called while
 * no one needs ticks
 */
void figures_accounts_taken(struct figures *figures);
/** typedef figures_release_func - a gone process was read for the last time; its slot may be reused */
typedef void (*figures_release_func)(uint32_t slot, void *data);
/**
 * figures_release_gone() - release the slots whose process was gone at the last figures_collect() and is read
 * completely
 */
void figures_release_gone(struct figures *figures, const struct figures_source *source, figures_release_func release,
			  void *data);

/** figures_gone() - number of these slots */
size_t figures_gone(const struct figures *figures);
size_t figures_count(const struct figures *figures);
/** figures_get() - process by index, in the order of first sight; borrowed until the next collect or forget */
struct process_figures *figures_get(const struct figures *figures, size_t i);
/** figures_restart_max() - reset the recent maxima */
void figures_restart_max(struct figures *figures);
/** figures_find_slot() - running process in a slot; NULL: none */
const struct process_figures *figures_find_slot(const struct figures *figures, uint32_t slot);
typedef void (*figures_forget_func)(const struct process_figures *process, void *data);
/**
 * figures_forget_gone() - drop processes that ended before a time; of later ones keep at most `most`
 * @func: called for each process before it is dropped; may be NULL
 * Return: number of dropped processes
 */
size_t figures_forget_gone(struct figures *figures, uint64_t before_ns, size_t most, figures_forget_func func,
			   void *data);

/* Sums of all processes that were forgotten. */
struct figures_forgotten {
	uint64_t calls;
	uint64_t removed_ns; /* the tracer's share that was subtracted from durations */
};
struct figures_forgotten figures_forgotten(const struct figures *figures);
