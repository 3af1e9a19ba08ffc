// SPDX-License-Identifier: Apache-2.0
/*
 * A probe set as its own files see it: probe_set.c loads and opens, probe_library.c
 * attaches, hooks.c the hooks, probe_policy.c says whom to trace, probe_figures.c and probe_accounts.c read. Nobody
 * else includes this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/attach.h"
#include "probes/hooks.h"
#include "probes/probe_set.h"

#include "ingero.skel.h" /* last: it uses the ABI's types */

#define CALIBRATION_SLOT (PROCESS_SLOTS - 1) /* bpf/maps.h */
#define COUNTER_BYSTANDER LOSS_COUNT	     /* bpf/maps.h */
#define BEHIND_ROOM 4096		     /* entries of map `behind` */

struct probe_set {
	struct ingero *bpf;
	enum probe_back_end back_end;
	bool all_operations;	    /* whatever the back end */
	int session_fd;		    /* the lock that goes with session links; -1: not held */
	struct attach *calibration; /* stays attached: closing it takes longer than measuring */
	struct bpf_link *in_flight;
	struct bpf_link *accounts;				 /* NULL until it is asked for */
	struct bpf_link *executable;				 /* NULL until it is asked for */
	struct bpf_link *hooks[HOOK_COUNT];			 /* in the order of hooks.c */
	char hook_reasons[HOOK_FAMILY_COUNT][HOOK_REASON_BYTES]; /* why it is absent, "" unless it is */
	struct process_slot *slots;
	struct figure_cell *cells; /* PROCESS_CELLS reserved, n_cells_mapped there */
	uint32_t n_cells_mapped;
	struct behind_key *behind_keys;
	struct behind_value *behind_values;
	struct wait_key *wait_keys; /* WAITS_MAX, as the next */
	struct wait_value *wait_values;
	unsigned int last_number; /* of an attach */
	size_t n_libraries;	  /* without loaders */
	size_t n_loaders;
	size_t n_collectors; /* of Python interpreters */
	int n_cpus;
	uint64_t *cpu_values; /* n_cpus, room for reading one counter */
	bool measures[BLAME_COUNT];
	struct probe_cost cost;
	uint64_t bystanders_before;		/* of the calibration */
	uint64_t kernel_bytes, kernel_bytes_ns; /* as they were then; 0: not asked yet */
	uint64_t losses_before[LOSS_COUNT];
	uint64_t losses_found[LOSS_COUNT]; /* by the daemon */
};

/* probe_library.c */

/** probe_set_call_attach() - the call programs alone, without bookkeeping. Return: 0 or -errno */
int probe_set_call_attach(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
			  struct attach **ret_attach);

/* probe_policy.c */

/** probe_set_policy_changed() - every thread decides anew, at its next call, whether it is traced */
void probe_set_policy_changed(struct probe_set *set);

/* probe_accounts.c */

/** probe_set_accounts_forget() - those of a slot that ended and were not read */
void probe_set_accounts_forget(struct probe_set *set, uint32_t slot);

/* probe_figures.c */

/** probe_set_memory_map() - share the maps' memory, fill the pools. Return: 0, or -errno with the rest for
 * probe_set_memory_unmap() */
int probe_set_memory_map(struct probe_set *set);
void probe_set_memory_unmap(struct probe_set *set);
/** probe_set_cells_map() - the first n cells. Return: 0 or -errno */
int probe_set_cells_map(struct probe_set *set, uint32_t n);
/** probe_set_slot_row() - where the figures of a slot's operations are. Return: 0 or -errno */
int probe_set_slot_row(const struct probe_set *set, uint32_t slot, struct slot_row *ret_row);
/** probe_set_slot_empty() - give back the cells of a slot. Return: 0 or -errno */
int probe_set_slot_empty(struct probe_set *set, uint32_t slot);
/** probe_set_counter() - sum over all CPUs, since loading */
uint64_t probe_set_counter(const struct probe_set *set, uint32_t index);

/* probe_waits.c */

/** probe_set_waits_forget() - remove the waits of a slot */
void probe_set_waits_forget(struct probe_set *set, uint32_t slot);
