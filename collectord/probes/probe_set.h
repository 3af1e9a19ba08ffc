// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel half as the rest of the daemon sees it: load it, attach library
 * files to it, say which processes to trace, read its figures.
 *
 * probe_set.c loads the programs, probe_library.c keeps what is attached,
 * probe_policy.c says whom to trace, probe_figures.c reads; attach.c holds every
 * attach call there is; calibrate.c measures what the probes themselves cost. None
 * of them opens or reads a file of a traced user: a library comes as an O_PATH
 * descriptor with offsets that the parser child found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ops.h"
#include "bpf/record.h"

struct probe_set;
struct probe_library;

enum probe_back_end {
	PROBE_BACK_END_AUTO,	/* the best that works here */
	PROBE_BACK_END_SESSION, /* one link, one program for both ends (6.13) */
	PROBE_BACK_END_MULTI,	/* two uprobe_multi links (6.6) */
	PROBE_BACK_END_PERF,	/* two perf events a symbol */
	PROBE_BACK_END_COUNT
};

/** probe_back_end_to_string() - "auto", "session", "multi", "perf" */
const char *probe_back_end_to_string(enum probe_back_end back_end);
/** probe_back_end_parse() - Return: 0 or -EINVAL */
int probe_back_end_parse(const char *text, enum probe_back_end *ret_back_end);

/* The ring of call records when nobody says otherwise: 150 ms of the default recording, flat out on two CPUs. */
#define PROBE_RING_BYTES (1u << 20)

struct probe_set_options {
	enum probe_back_end back_end; /* anything but AUTO is forced: no fall-back */
	uint64_t ring_bytes;	      /* ring of call records, power of two >= 4096; 0: PROBE_RING_BYTES */
	bool all_operations;	      /* with perf events, too, where otherwise the fewest are attached */
	bool is_oldest;		      /* for tests: leave unused what Linux 5.15 does not have */
	bool is_blind;		      /* for tests: as a kernel that does not tell of task switches */
};

/**
 * probe_set_open() - load everything and find the best back end by attaching for real
 * @why: at least 256 bytes; on failure one sentence for people, with the way out;
 *       on success why no better back end is used, or ""
 * Return: 0, or -errno with nothing left behind
 */
int probe_set_open(const struct probe_set_options *options, char *why, size_t why_bytes, struct probe_set **ret_set);
/** probe_set_close() - stop, detach, unload; NULL is fine. Under perf events slow closing is left to a child process.
 */
void probe_set_close(struct probe_set *set);
enum probe_back_end probe_set_back_end(const struct probe_set *set);
/** probe_set_tier() - of the operations to attach, the last tier: two perf events a function take long to close */
enum op_tier probe_set_tier(const struct probe_set *set);

struct probe_family_state {
	const char *name;   /* call, sched, process, loader, oom, memory */
	const char *state;  /* on, off, absent, loading */
	const char *reason; /* "" unless absent */
};
/** probe_set_families() - NULL: one that is not there yet, every family loading. Return: how many there are */
size_t probe_set_families(const struct probe_set *set, struct probe_family_state *ret, size_t room);
/** probe_set_measures() - whether a blame class can be told on this kernel */
bool probe_set_measures(const struct probe_set *set, enum blame_class class);

/* One probe: where place.c wants it, and what it counts. */
struct probe_site {
	uint64_t offset;    /* of the probed instruction, bytes from the start of the file */
	uint64_t cookie;    /* COOKIE(op, head) */
	uint64_t semaphore; /* likewise of what tells the program that somebody listens (USDT); 0: there is none */
};

/**
 * probe_set_attach_library() - attach all sites of one file, all or nothing
 * @path_fd: O_PATH descriptor, borrowed for the call
 * @sites:   one per distinct offset
 * Return: 0; -errno with nothing attached
 */
int probe_set_attach_library(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
			     struct probe_library **ret_library);
/**
 * probe_set_attach_collector() - where a Python interpreter begins and ends its garbage collections
 * @ends: n_ends of them; none: the returns of the functions that begin at @begins
 * Return: 0; -errno with nothing attached
 */
int probe_set_attach_collector(struct probe_set *set, int path_fd, const struct probe_site *begins, size_t n_begins,
			       const struct probe_site *ends, size_t n_ends, struct probe_library **ret_library);
/** probe_set_detach_library() - calls that are open are counted as never returned; NULL is fine */
void probe_set_detach_library(struct probe_set *set, struct probe_library *library);
/**
 * probe_set_attach_loader() - hear of libraries loaded later, from one dynamic loader file
 * @debug_state_offset: file offset of the function that the loader calls when its list has changed (_dl_debug_state)
 * @r_debug_delta:      address of _r_debug minus address of that function, both as in the file
 */
int probe_set_attach_loader(struct probe_set *set, int path_fd, uint64_t debug_state_offset, int64_t r_debug_delta,
			    struct probe_library **ret_library);

/*
 * Whom to trace, and what becomes a record of it: WISH_TRACED goes without saying. The later wish takes the place of an
 * earlier one of the same process, user or everybody; a process has those of all three. Children of targets follow by
 * themselves.
 */
int probe_set_target_add(struct probe_set *set, uint32_t tgid, struct process_wish wish);
int probe_set_target_remove(struct probe_set *set, uint32_t tgid);
int probe_set_user_add(struct probe_set *set, uint32_t uid, struct process_wish wish);
int probe_set_user_remove(struct probe_set *set, uint32_t uid);
void probe_set_everyone_add(struct probe_set *set, struct process_wish wish);
void probe_set_everyone_remove(struct probe_set *set);
/** probe_set_tracer_add() - a process of ours: never traced, never named in `behind` and `waits` */
int probe_set_tracer_add(struct probe_set *set, uint32_t tgid);
int probe_set_tracer_remove(struct probe_set *set, uint32_t tgid);

/* Reading. Memory is shared with the kernel half and changes while it is read. */
const struct process_slot *probe_set_slots(const struct probe_set *set); /* PROCESS_SLOTS, index 0 unused */
struct figure_cell *
probe_set_cells(const struct probe_set *set); /* PROCESS_CELLS, index 0 unused; slow_ns may be written */
/** probe_set_cells_used() - maps them, too. Return: cells at or above this index were never used; 0 without memory */
uint32_t probe_set_cells_used(struct probe_set *set);
/** probe_set_slot_release() - give a gone process's slot and cells back, after they were read */
int probe_set_slot_release(struct probe_set *set, uint32_t slot);
/**
 * probe_set_interpreter_note() - the process has the state of a Python interpreter here: futexes inside are the GIL
 * The last one noted counts, until the process executes another program or ends.
 */
int probe_set_interpreter_note(struct probe_set *set, uint32_t tgid, const struct interpreter *interpreter);
/** probe_set_interpreter() - as noted, or as its parent's was. Return: 0; -ENOENT; -errno */
int probe_set_interpreter(const struct probe_set *set, uint32_t tgid, struct interpreter *ret);
/** probe_set_losses() - totals since open */
void probe_set_losses(const struct probe_set *set, uint64_t ret_losses[LOSS_COUNT]);
/** probe_set_loss_add() - what the daemon finds out to be lost */
void probe_set_loss_add(struct probe_set *set, enum loss_reason reason, uint64_t n);
/** probe_set_in_flight() - calls in progress now. Return: how many (the first `room` are written), or -errno */
int probe_set_in_flight(struct probe_set *set, struct in_flight_record *ret, size_t room);

/**
 * probe_set_mapped() - the files that a process maps executable, below overlays; in order of address
 * Return: how many, `room` at most; -EOPNOTSUPP before 6.1; -errno
 */
int probe_set_mapped(struct probe_set *set, uint32_t tgid, struct mapped_record *ret, size_t room);

/**
 * probe_set_executable() - how much each process maps executable, in no order
 * Return: how many (the first `room` are written), or -errno
 */
int probe_set_executable(struct probe_set *set, struct executable_record *ret, size_t room);

typedef void (*probe_behind_func)(const struct behind_key *key, const struct behind_value *value, void *data);
int probe_set_behind(struct probe_set *set, probe_behind_func func, void *data);

typedef void (*probe_account_func)(const struct account_record *record, void *data);
/**
 * probe_set_accounts() - the account of each thread that has one, and the last one of each that ended since
 * Told more than once, and at last of two moments, where it changes meanwhile: see `changes`.
 * Return: how many were told, or -errno
 */
int probe_set_accounts(struct probe_set *set, probe_account_func func, void *data);

typedef void (*probe_wait_func)(const struct wait_key *key, const struct wait_value *value, void *data);
/**
 * probe_set_waits() - waits so far of all threads that make calls
 * @func: of a row that is removed to make room it gets the last value, and one without a count
 * Return: number of rows, or -errno
 */
int probe_set_waits(struct probe_set *set, probe_wait_func func, void *data);

int probe_set_calls_fd(const struct probe_set *set);	/* ring map of call_record */
int probe_set_life_fd(const struct probe_set *set);	/* ring map of life_record */
uint64_t probe_set_kernel_bytes(struct probe_set *set); /* maps and programs, as their fdinfo said this second */

/* What tracing costs here, nanoseconds per call, measured at open; docs/rooms/bpf.md says how. */
struct probe_cost {
	uint64_t per_call_ns;	  /* added to the program's time by one traced call */
	uint64_t share_ns;	  /* of it, inside the reported raw duration */
	uint64_t share_spread_ns; /* p90 - p10 of that share */
	uint64_t nested_ns;	  /* what a traced call adds to the duration of the call around it */
	uint64_t bystander_ns;	  /* a call of a process that is not traced */
};
void probe_set_cost(const struct probe_set *set, struct probe_cost *ret_cost);
uint64_t probe_set_bystander_calls(const struct probe_set *set);
