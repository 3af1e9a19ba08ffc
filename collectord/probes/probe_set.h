// SPDX-License-Identifier: Apache-2.0
/*
 * The interface of the kernel half for the rest of the daemon: load it, attach library files, set which processes to
 * trace, read its figures.
 *
 * probe_set.c loads the programs, probe_library.c keeps the attached libraries, probe_policy.c sets which processes are
 * traced, probe_figures.c reads; attach.c makes every attach call; calibrate.c measures the cost of the probes. None of
 * them opens or reads a file of a traced user: a library comes as an O_PATH descriptor with offsets that the parser
 * child found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ops.h"
#include "bpf/record.h"

struct left_out;
struct probe_set;
struct probe_library;

enum probe_back_end {
	PROBE_BACK_END_AUTO,	/* the best back end that works on this kernel */
	PROBE_BACK_END_SESSION, /* one link, one program for both ends (6.13) */
	PROBE_BACK_END_MULTI,	/* two uprobe_multi links (6.6) */
	PROBE_BACK_END_PERF,	/* two perf events per symbol */
	PROBE_BACK_END_COUNT
};

/** probe_back_end_to_string() - "auto", "session", "multi", "perf" */
const char *probe_back_end_to_string(enum probe_back_end back_end);
/** probe_back_end_parse() - parse such a name. Return: 0 or -EINVAL */
int probe_back_end_parse(const char *text, enum probe_back_end *ret_back_end);

/* Default size of the ring of call records: 150 ms of the default recording at full load on two CPUs. */
#define PROBE_RING_BYTES (1u << 20)

struct probe_set_options {
	enum probe_back_end back_end; /* any value but AUTO is forced, without fallback */
	uint64_t ring_bytes;	      /* ring of call records, power of two >= 4096; 0: PROBE_RING_BYTES */
	bool all_operations;	      /* attach all with perf events, too, instead of the fewest */
	bool is_thinned;	      /* attach in parts, for probe_set_library_thin(); not with perf events */
	bool checks_stacks;	      /* for tests: probe_stacks_memo() */
	bool is_oldest;		      /* for tests: use no feature that Linux 5.15 lacks */
	bool is_blind;		      /* for tests: act as on a kernel that does not report task switches */
};

/**
 * probe_set_open() - load everything and find the best back end by attaching for real
 * @why: at least 256 bytes; on failure one sentence for users, with the remedy; on success why no better back end is
 *       used, or ""
 * Return: 0, or -errno with nothing loaded
 */
int probe_set_open(const struct probe_set_options *options, char *why, size_t why_bytes, struct probe_set **ret_set);
/** probe_set_close() - stop, detach, unload; NULL is allowed. Perf events close slowly, in a separate process. */
void probe_set_close(struct probe_set *set);
enum probe_back_end probe_set_back_end(const struct probe_set *set);
/** probe_set_tier() - last tier of operations to attach; with perf events fewer, because these take long to close */
enum op_tier probe_set_tier(const struct probe_set *set);

struct probe_family_state {
	const char *name;   /* call, sched, process, loader, oom, memory */
	const char *state;  /* on, off, absent, loading */
	const char *reason; /* "" unless absent */
};
/**
 * probe_set_families() - list the families. @set: NULL: not loaded yet, every family is "loading". Return: number of
 * families
 */
size_t probe_set_families(const struct probe_set *set, struct probe_family_state *ret, size_t room);
/** probe_set_measures() - whether a blame class can be measured on this kernel */
bool probe_set_measures(const struct probe_set *set, enum blame_class class);

/* One probe: its place, selected by place.c, and the operation that it counts. */
struct probe_site {
	uint64_t offset;    /* file offset of the probed instruction */
	uint64_t cookie;    /* COOKIE(op, head) */
	uint64_t semaphore; /* file offset of the USDT semaphore, which tells the program that it is traced; 0: none */
};

/**
 * probe_set_attach_library() - attach all sites of one file, or none
 * @path_fd: O_PATH descriptor, borrowed for the call
 * @sites: one for each distinct offset
 * Return: 0; -errno with nothing attached
 */
int probe_set_attach_library(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
			     struct probe_library **ret_library);
/**
 * probe_set_library_thin() - attach or detach operations of a library so that only some groups are attached
 * @groups: bits of enum probe_group (governor.h)
 *
 * Needs is_thinned, otherwise nothing changes. Detaching is finished in the background, and by a later call; open calls
 * are then counted without a time.
 *
 * Return: 0; -EAGAIN: call again to finish; -ESTALE: the file was written to, its other
 * operations stay detached; -errno: something could not be attached
 */
int probe_set_library_thin(struct probe_set *set, struct probe_library *library, uint32_t groups);
/** probe_set_library_groups() - groups that are attached now, or of which the library has no operation */
uint32_t probe_set_library_groups(const struct probe_library *library);
/**
 * probe_set_attach_collector() - attach to the begin and end of a Python interpreter's garbage collections
 * @ends: n_ends sites; none: attach to the returns of the functions at @begins
 * Return: 0; -errno with nothing attached
 */
int probe_set_attach_collector(struct probe_set *set, int path_fd, const struct probe_site *begins, size_t n_begins,
			       const struct probe_site *ends, size_t n_ends, struct probe_library **ret_library);
/**
 * probe_set_attach_code_watch() - attach where a Python interpreter frees code objects
 * @ret_number: for struct interpreter, until it is detached; never 0, never used again
 * Return: 0; -errno with nothing attached
 */
int probe_set_attach_code_watch(struct probe_set *set, int path_fd, const struct probe_site *site,
				struct probe_library **ret_library, uint32_t *ret_number);
/** probe_set_detach_library() - detach; open calls are counted as never returned. NULL is allowed */
void probe_set_detach_library(struct probe_set *set, struct probe_library *library);
/**
 * probe_set_attach_loader() - attach to a dynamic loader, which reports libraries loaded later
 * @debug_state_offset: file offset of the function that the loader calls when its list has changed (_dl_debug_state)
 * @r_debug_delta:      address of _r_debug minus address of that function, both as in the file
 */
int probe_set_attach_loader(struct probe_set *set, int path_fd, uint64_t debug_state_offset, int64_t r_debug_delta,
			    struct probe_library **ret_library);

/*
 * Which processes to trace, and which of their calls become records; WISH_TRACED is implied. A later wish replaces an
 * earlier one of the same process, user, or everybody; the effective wish of a process is the union of the three.
 * Children of targets are traced automatically, while their user has room for them.
 * Return: 0 or -errno; -ENOSPC: the process's user has as many targets as one may have now
 */
int probe_set_target_add(struct probe_set *set, uint32_t tgid, struct process_wish wish);
int probe_set_target_remove(struct probe_set *set, uint32_t tgid);
int probe_set_user_add(struct probe_set *set, uint32_t uid, struct process_wish wish);
int probe_set_user_remove(struct probe_set *set, uint32_t uid);
void probe_set_everyone_add(struct probe_set *set, struct process_wish wish);
void probe_set_everyone_remove(struct probe_set *set);
/** probe_set_thin_records() - to keep the budget: no stacks, and no records of a sample of calls, whatever is wished */
void probe_set_thin_records(struct probe_set *set, bool is_thinned);
/**
 * probe_set_guardian_add() - allow the kernel half to stop processes below this one
 * probe_set_guardian_remove() - stop no more processes below it; programs of the kernel half that run at this moment
 * may still do so: grace_wait() waits for their end
 */
int probe_set_guardian_add(struct probe_set *set, uint32_t tgid);
int probe_set_guardian_remove(struct probe_set *set, uint32_t tgid);
/** probe_set_tracer_add() - add a process of Ingero, which is never traced and never named in `behind` and `waits` */
int probe_set_tracer_add(struct probe_set *set, uint32_t tgid);
int probe_set_tracer_remove(struct probe_set *set, uint32_t tgid);
/**
 * probe_set_tracer_hidden() - read how long traced threads waited for a CPU behind such a process since it was added
 * @ret_ns: nanoseconds, of all threads together; each wait is added when it ends
 * Return: 0 or -errno
 */
int probe_set_tracer_hidden(const struct probe_set *set, uint32_t tgid, uint64_t *ret_ns);
/** probe_set_subordinate() - set the user ids that have one share of places together: n from the first on */
void probe_set_subordinate(struct probe_set *set, uint32_t first, uint32_t n);

/* Reading. Memory is shared with the kernel half and changes while it is read. */
const struct process_slot *probe_set_slots(const struct probe_set *set); /* PROCESS_SLOTS, index 0 unused */
struct figure_cell *
probe_set_cells(const struct probe_set *set); /* PROCESS_CELLS, index 0 unused; slow_ns may be written */
/**
 * probe_set_left_out() - calls of each cell that were made while their operation was not attached; written by budget.c,
 * zero again when the cell is freed. NULL: libraries are not attached in parts
 */
struct left_out *probe_set_left_out(const struct probe_set *set);
/** probe_set_left_out_mark() - call a function whenever left_out is about to be read with the figures; NULL: none */
void probe_set_left_out_mark(struct probe_set *set, void (*func)(void *data), void *data);
/** probe_set_left_out_read() - the same as probe_set_left_out(), up to date */
const struct left_out *probe_set_left_out_read(const struct probe_set *set);
/** probe_set_cells_used() - map the used cells. Return: cells from this index on were never used; 0 without memory */
uint32_t probe_set_cells_used(struct probe_set *set);
/** probe_set_slot_release() - free the slot and cells of a gone process, after they were read */
int probe_set_slot_release(struct probe_set *set, uint32_t slot);
/**
 * probe_set_interpreter_note() - set where a process has the state of its Python interpreter: futexes inside are the
 * GIL The last call counts, until the process executes another program or ends.
 */
int probe_set_interpreter_note(struct probe_set *set, uint32_t tgid, const struct interpreter *interpreter);
/** probe_set_interpreter() - get it as noted for the process, or for its parent. Return: 0; -ENOENT; -errno */
int probe_set_interpreter(const struct probe_set *set, uint32_t tgid, struct interpreter *ret);
/** probe_set_life_taken() - a record of process life was read: its share of the ring has room for another one */
void probe_set_life_taken(struct probe_set *set, const struct life_record *life);
/** probe_set_losses() - totals since open, without losses of one user alone */
void probe_set_losses(const struct probe_set *set, uint64_t ret_losses[LOSS_COUNT]);
/** probe_set_user_losses() - add the totals that concern one user alone, @uid; UINT32_MAX: of all users */
void probe_set_user_losses(const struct probe_set *set, uint32_t uid, uint64_t losses[LOSS_COUNT]);
typedef void (*probe_user_loss_func)(uint32_t uid, enum loss_reason reason, uint64_t n, void *data);
/**
 * probe_set_user_losses_take() - losses of each user alone since the last call; to be called each second, since it
 * frees the shares of users who are gone
 */
void probe_set_user_losses_take(struct probe_set *set, probe_user_loss_func func, void *data);
/** probe_set_share_lose() - count a loss of the user of a process's slot alone, which the daemon has found */
void probe_set_share_lose(struct probe_set *set, uint32_t slot, enum loss_reason reason);
/** probe_set_share() - index of the share that the user of a slot's process takes, below USER_SHARES */
uint32_t probe_set_share(const struct probe_set *set, uint32_t slot);
/**
 * probe_set_thin_shares() - leave out calls that would become records
 * @keep: by share: part of them that is kept, of 2^32; 0: all
 * @is_on: whether any is not 0
 */
void probe_set_thin_shares(struct probe_set *set, const uint32_t keep[USER_SHARES], bool is_on);
/** probe_set_thinned() - number of calls of a share that were left out since open, modulo 2^32 */
uint32_t probe_set_thinned(const struct probe_set *set, uint32_t share);
/** probe_set_loss_add() - add losses that the daemon has found, which concern all users */
void probe_set_loss_add(struct probe_set *set, enum loss_reason reason, uint64_t n);
/**
 * probe_set_in_flight() - list the calls in progress. Return: their number (the first `room` are written), or -errno
 */
int probe_set_in_flight(struct probe_set *set, struct in_flight_record *ret, size_t room);

/**
 * probe_set_mapped() - list what a process maps executable, files below overlays; in order of address
 * Return: their number, `room` at most; -EOPNOTSUPP before Linux 6.1; -errno
 */
int probe_set_mapped(struct probe_set *set, uint32_t tgid, struct mapped_record *ret, size_t room);

/**
 * probe_set_executable() - list how much each process maps executable, unordered
 * Return: number of processes (the first `room` are written), or -errno
 */
int probe_set_executable(struct probe_set *set, struct executable_record *ret, size_t room);

typedef void (*probe_behind_func)(const struct behind_key *key, const struct behind_value *value, void *data);
/**
 * probe_set_behind() - read which processes ran so far while threads that make calls were ready to run
 * @func: called for each row; for a row removed to make room with its last value, and once more with time 0
 * Return: number of rows, or -errno
 */
int probe_set_behind(struct probe_set *set, probe_behind_func func, void *data);

typedef void (*probe_account_func)(const struct account_record *record, void *data);
/**
 * probe_set_accounts() - read the account of each thread that has one, and the last account of each thread that ended
 * since An account that changes during the reading may be passed several times, or mix two moments: see `changes`.
 * Return: number of calls of func, or -errno
 */
int probe_set_accounts(struct probe_set *set, probe_account_func func, void *data);
/** probe_set_accounts_running() - the same for running threads alone, without unseen_ns; last accounts of others are
 * left */
int probe_set_accounts_running(struct probe_set *set, probe_account_func func, void *data);

/** probe_set_unseen() - call a function for each account before it is given to others: it sets unseen_ns; NULL: none */
void probe_set_unseen(struct probe_set *set, void (*func)(struct account_record *record, void *data), void *data);

typedef void (*probe_wait_func)(const struct wait_key *key, const struct wait_value *value, void *data);
/**
 * probe_set_waits() - read the waits so far of all threads that make calls
 * @func: called for each row; for a row removed to make room with its last value, and once more with count 0
 * Return: number of rows, or -errno
 */
int probe_set_waits(struct probe_set *set, probe_wait_func func, void *data);

int probe_set_calls_fd(const struct probe_set *set);	/* ring map of call_record */
int probe_set_life_fd(const struct probe_set *set);	/* ring map of life_record */
uint64_t probe_set_kernel_bytes(struct probe_set *set); /* of maps and programs; at most 1 s old */

/* Cost of tracing on this machine, nanoseconds per call, measured at open (docs/rooms/bpf.md). */
struct probe_cost {
	uint64_t per_call_ns;	  /* added to the program's time by one traced call */
	uint64_t share_ns;	  /* part of it that is inside the reported raw duration */
	uint64_t share_spread_ns; /* p90 - p10 of that share */
	uint64_t nested_ns;	  /* added by a nested traced call to the duration of the outer call */
	uint64_t bystander_ns;	  /* added to a call of a process that is not traced */
};
void probe_set_cost(const struct probe_set *set, struct probe_cost *ret_cost);
uint64_t probe_set_bystander_calls(const struct probe_set *set);
