// SPDX-License-Identifier: Apache-2.0
/*
 * Internal state of a probe set, included only by its own files: probe_set.c loads and opens, probe_library.c attaches
 * libraries, hooks.c attaches hooks, probe_policy.c sets which processes are traced, probe_figures.c,
 * probe_accounts.c, probe_behind.c and probe_waits.c read, probe_shares.c has the shares of users, probe_stacks.c the
 * rules of unwinding.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/attach.h"
#include "probes/attach_number.h"
#include "bpf/stack_record.h"
#include "events/left_out.h"
#include "probes/hooks.h"
#include "probes/probe_set.h"

#include "ingero.skel.h" /* after bpf/stack_record.h, whose types it uses */

#define CALIBRATION_SLOT (PROCESS_SLOTS - 1) /* bpf/maps.h */

/* An array of words in the kernel half, of which the first bytes are mapped. */
struct unwind_words {
	uint32_t *items; /* address space for n_bytes; NULL: nothing is mapped yet */
	size_t n_bytes, n_mapped;
};

/* Rules of unwinding: probe_stacks.c. */
struct unwind_tables {
	struct unwind_words pages, rows;
	struct unwind_side *sides;
};

struct probe_set {
	struct ingero *bpf;
	enum probe_back_end back_end;
	bool checks_stacks;	    /* as in struct probe_set_options */
	bool all_operations;	    /* attach all operations with every back end */
	bool is_thinned;	    /* libraries are attached in parts */
	int session_fd;		    /* lock of session_claim(); -1: not held */
	struct attach *calibration; /* stays attached, because closing takes longer than measuring */
	struct bpf_link *in_flight;
	struct bpf_link *accounts;				 /* NULL until first used */
	struct bpf_link *executable;				 /* NULL until first used */
	struct bpf_link *hooks[HOOK_COUNT];			 /* in the order of hooks.c */
	char hook_reasons[HOOK_FAMILY_COUNT][HOOK_REASON_BYTES]; /* why a family is absent, else "" */
	struct process_slot *slots;
	struct figure_cell *cells; /* address space for PROCESS_CELLS, of which n_cells_mapped are mapped */
	uint32_t n_cells_mapped;
	struct left_out *left_out; /* of each cell; NULL: nothing is left out */
	void (*left_out_mark)(void *data);
	void *left_out_data;
	void (*unseen)(struct account_record *record, void *data);
	void *unseen_data;
	struct behind_key *behind_keys; /* room for BEHIND_ROWS_MAX, as behind_values */
	struct behind_value *behind_values;
	struct wait_key *wait_keys; /* room for WAITS_MAX, as wait_values */
	struct wait_value *wait_values;
	struct unwind_tables unwind;
	struct attach_numbers numbers;
	size_t n_libraries; /* attached libraries, without loaders */
	size_t n_loaders;
	size_t n_collectors; /* attached Python interpreters */
	size_t n_watches;    /* of these, those whose freed code objects are seen */
	uint32_t last_watch; /* number of the last one attached */
	int n_cpus;
	uint64_t *cpu_values; /* room for n_cpus values of one counter */
	bool measures[BLAME_COUNT];
	struct probe_cost cost;
	uint64_t bystanders_before;		/* counter before the calibration */
	uint64_t kernel_bytes, kernel_bytes_ns; /* value and time of the last reading; 0: never read */
	uint64_t losses_before[LOSS_COUNT];
	uint64_t losses_found[LOSS_COUNT]; /* losses found by the daemon */
	struct share_losses losses_taken[USER_SHARES];
	bool shares_leaving[USER_SHARES]; /* their users have left them */
};

/* probe_library.c */

/** probe_set_call_attach() - attach the call programs, without bookkeeping. Return: 0 or -errno */
int probe_set_call_attach(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
			  struct attach **ret_attach);

/** probe_set_number_take() - number for a new attach, which is on; returned by attach_number_give() */
unsigned int probe_set_number_take(struct probe_set *set);

/* probe_policy.c */

/** probe_set_policy_changed() - make every thread decide anew, at its next call, whether it is traced */
void probe_set_policy_changed(struct probe_set *set);

/* probe_accounts.c */

/** probe_set_accounts_forget() - remove the unread accounts of ended threads of a slot */
void probe_set_accounts_forget(struct probe_set *set, uint32_t slot);

/* probe_figures.c */

/**
 * probe_set_memory_map() - map the memory of BPF maps, fill the pools. Return: 0, or -errno; then
 * probe_set_memory_unmap() cleans up
 */
int probe_set_memory_map(struct probe_set *set);
void probe_set_memory_unmap(struct probe_set *set);
/** probe_set_cells_map() - map the first n cells. Return: 0 or -errno */
int probe_set_cells_map(struct probe_set *set, uint32_t n);
/** probe_set_slot_row() - read which cells hold the figures of a slot's operations. Return: 0 or -errno */
int probe_set_slot_row(const struct probe_set *set, uint32_t slot, struct slot_row *ret_row);
/** probe_set_slot_empty() - free the cells of a slot. Return: 0 or -errno */
int probe_set_slot_empty(struct probe_set *set, uint32_t slot);
/** probe_set_counter() - value of a counter since loading, summed over all CPUs */
uint64_t probe_set_counter(const struct probe_set *set, uint32_t index);

/* probe_stacks.c */

/** probe_set_unwind_open() - no rules are known. Return: 0 or -errno */
int probe_set_unwind_open(struct probe_set *set);
void probe_set_unwind_close(struct probe_set *set);

/* probe_shares.c */

/** probe_set_shares_fill() - all shares of users are free. Return: 0 or -errno */
int probe_set_shares_fill(struct probe_set *set);
/** probe_set_rest_losses() - add the losses of users for whom no share was left */
void probe_set_rest_losses(const struct probe_set *set, uint64_t losses[LOSS_COUNT]);

/* Entries in a map of which users have shares: of all, and by share. */
struct share_entries {
	uint32_t all, of[USER_SHARES];
};
/** share_map_read() - read a map in one call; keys and values have room for `most`. Return: number of entries, or
 * -errno */
int share_map_read(const struct bpf_map *map, uint32_t most, void *keys, void *values);
/** share_entries_read() - read the kernel half's counts */
void share_entries_read(const uint32_t *all, const uint32_t of[USER_SHARES], struct share_entries *ret);
/**
 * share_entries_correct() - correct the kernel half's counts, which only grow there, by the difference between the
 * entries that are left and the counts before these were read. One added during the reading is counted twice until the
 * next time.
 */
void share_entries_correct(uint32_t *all, uint32_t of[USER_SHARES], const struct share_entries *before,
			   const struct share_entries *left);
/**
 * probe_set_target_put() - the wish for a process, with a place in the share of its user
 * Return: -ENOSPC: the share is full
 */
int probe_set_target_put(struct probe_set *set, uint32_t tgid, const struct process_wish *wish);
/** probe_set_target_drop() - the place is free again, if the process still has one */
int probe_set_target_drop(struct probe_set *set, uint32_t tgid);
/** share_entry_gone() - one entry of a share is free again */
void share_entry_gone(uint32_t *all, uint32_t of[USER_SHARES], uint32_t share);

/* probe_behind.c */

/** probe_set_behind_forget() - remove the rows of a slot */
void probe_set_behind_forget(struct probe_set *set, uint32_t slot);

/* probe_waits.c */

/** probe_set_waits_forget() - remove the waits of a slot */
void probe_set_waits_forget(struct probe_set *set, uint32_t slot);
