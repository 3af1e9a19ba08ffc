// SPDX-License-Identifier: Apache-2.0
/*
 * Library files to trace, found through the processes that map them.
 *
 * A file is known by what the kernel says it is (device, inode, change time), never
 * by its name, and is attached once however many processes map it. Files are opened
 * through the process's own view and handed to the parser child unread; what it
 * answers is checked, placed and attached. A file that is not attached stays in the
 * list with the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/array.h"
#include "bpf/ops.h"
#include "bpf/record.h"
#include "probes/probe_set.h"
#include "procs/owner.h"

struct child;
struct target_mapped;
struct target_processes;
struct target_set;

/* An operation that is attached in a library. */
struct target_op {
	uint32_t id;
	enum call_head head; /* of several exports the dearest */
};

struct target_library {
	char *path; /* as the first process that maps it calls it */
	char *soname;
	char *build_id; /* hexadecimal, "" if none */
	enum op_layer layer;
	struct owner owner;		   /* of that first process */
	uint32_t n_symbols;		   /* attached */
	uint32_t n_stepped;		   /* of these, single-stepped */
	uint32_t n_left_out;		   /* exports without a row in ops.def that would be counted, and are not */
	ARRAY(struct target_op) ops;	   /* operations attached, ascending by id */
	uint64_t untraced[OP_ID_MAX / 64]; /* bit of an id: it has the operation, which probe_set_tier() leaves out */
	char *reason;			   /* why it is not attached, "" when it is */
	uint64_t attach_ns;		   /* time the attach took */
	uint64_t attached_ns;		   /* when it was done, CLOCK_MONOTONIC */
	uint64_t late_ns;		   /* longest that a process ran with it before that; 0: none did */
	struct probe_library *probes;	   /* NULL while not attached */
};

/**
 * typedef target_found_func - a library was attached, or was looked at and is not
 * Called on the loop, once per file.
 */
typedef void (*target_found_func)(const struct target_library *library, void *data);

/** target_library_op() - Return: NULL where the operation is not attached in it */
const struct target_op *target_library_op(const struct target_library *library, uint32_t id);
/** target_library_leaves_out() - whether it has this operation of the table, which is not attached by choice */
bool target_library_leaves_out(const struct target_library *library, uint32_t id);

/** target_set_open() - @parser and @probes are borrowed and must outlive it */
int target_set_open(uv_loop_t *loop, struct child *parser, struct probe_set *probes, target_found_func found,
		    void *data, struct target_set **ret_targets);
/**
 * target_set_remember() - from one run to the next, files that nobody but root can replace
 * @list_path: where; its directory is the daemon's own
 * Return: 0 or -ENOMEM
 */
int target_set_remember(struct target_set *targets, const char *list_path);
/**
 * target_set_keep() - attach what is remembered before anybody maps it, and leave it attached when nobody does
 * For as long as everybody is recorded: else processes that nobody traces would pay for it.
 */
void target_set_keep(struct target_set *targets, bool is_on);
/** target_set_close() - detach everything; scans under way are told they are done. Not from within its callbacks. */
void target_set_close(struct target_set *targets);

/**
 * typedef target_done_func - every file of the process that matters was attached or refused
 */
typedef void (*target_done_func)(uint32_t tgid, void *data);

/**
 * target_set_scan() - look at what one process maps now: its loader and its CUDA libraries
 * @library_base: load address of a library known to be new and of interest whatever its name; 0: none
 * @done: called once, possibly before this returns; may be NULL
 * Return: 0, or -errno when the process cannot be read (gone is 0; done is called in any case)
 */
int target_set_scan(struct target_set *targets, uint32_t tgid, uint64_t library_base, target_done_func done,
		    void *data);
/* Whose a process is. */
struct target_owner {
	struct owner of;
	bool is_known;
};

/* A file that a process has just mapped. */
struct target_load {
	uint32_t tgid;
	bool is_told;		   /* by the loader, by the name of a CUDA library, before any code of it ran */
	bool is_held;		   /* the process waits until it is attached */
	uint64_t base;		   /* address of a part of it */
	uint64_t time_ns;	   /* CLOCK_MONOTONIC */
	struct file_identity file; /* inode 0: not known; without bytes and times: whatever its state */
	struct target_owner owner; /* may not be known yet */
};

/* A loss by LOSS_LATE_LOAD. */
struct target_late {
	uint32_t tgid;		   /* 0: not known */
	struct target_owner owner; /* not known where it was gone too soon */
	uint64_t from_ns;	   /* when it had the library, CLOCK_MONOTONIC */
	uint64_t to_ns; /* when that was attached, or it was known to be missed: no call is missing from then on */
};

/** typedef target_sees_func - whether who asks hears of it */
typedef bool (*target_sees_func)(const struct target_late *late, void *data);
/**
 * target_set_lates() - losses by LOSS_LATE_LOAD in processes that somebody sees
 * @from: value of the counter from which on
 * Those of which it is not known any more whose they were are everybody's.
 */
uint64_t target_set_lates(const struct target_set *targets, uint64_t from, target_sees_func sees, void *data);

/**
 * target_set_exec() - a process has become a program: look at its loader, and at what is linked into itself
 * @time_ns: when, CLOCK_MONOTONIC
 */
void target_set_exec(struct target_set *targets, uint32_t tgid, uint64_t time_ns);
/**
 * target_set_load() - a process has mapped a file: look at it unless it is known
 * @done: as for target_set_scan()
 * A process that has run with a library before that was attached is counted in LOSS_LATE_LOAD.
 */
void target_set_load(struct target_set *targets, const struct target_load *load, target_done_func done, void *data);
/** target_set_let_go() - a process that was held goes on now: what is attached later is late for it */
void target_set_let_go(struct target_set *targets, uint32_t tgid);
/** target_set_settle() - before losses are told: count the loads that are looked at, whose calls are missed meanwhile
 */
void target_set_settle(struct target_set *targets);
/** target_set_second() - once a second: what need not be at once */
void target_set_second(struct target_set *targets);
/**
 * target_set_scan_loader() - attach the loader that this machine's own programs use, before any target starts
 * @done: called once when it is attached or cannot be, possibly before this returns; may be NULL
 */
int target_set_scan_loader(struct target_set *targets, target_done_func done, void *data);

size_t target_set_count(const struct target_set *targets);
const struct target_library *target_set_get(const struct target_set *targets, size_t i);

/** target_set_processes() - who maps which file, as last looked at; valid until the next call into the set */
const struct target_processes *target_set_processes(const struct target_set *targets);
/** target_set_refresh() - look again at the processes that map something of interest */
void target_set_refresh(struct target_set *targets);
/** target_mapped_library() - what is known of the file, NULL when nobody asked about it */
const struct target_library *target_mapped_library(const struct target_mapped *mapped);
/**
 * target_set_head() - the head of an operation's functions in what a process maps, of several the dearest
 * Of a process that is gone: in any library that is attached.
 */
enum call_head target_set_head(const struct target_set *targets, uint32_t tgid, uint32_t op);
/**
 * target_set_look() - note which files by the name of a CUDA library a process maps, and do nothing about them
 * For who asks what could be traced. Return: 0, or -errno when the process cannot be read
 */
int target_set_look(struct target_set *targets, uint32_t tgid);
/** target_set_forget() - a process is gone, or has become another program */
void target_set_forget(struct target_set *targets, uint32_t tgid);
