// SPDX-License-Identifier: Apache-2.0
/*
 * Library files to trace, found through the processes that map them.
 *
 * A file is identified by the kernel's data (device, inode, change time), never by its name, and is attached once for
 * all processes that map it. Files are opened through the process's own view and handed to the parser child unread. Its
 * answer is checked; then places for probes are selected and attached. A file that is not attached stays in the list
 * with the reason.
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
	enum call_head head; /* of several exports the one with the highest cost */
};

struct target_library {
	char *path; /* path in the first process that maps it */
	char *soname;
	char *build_id; /* hexadecimal, "" if none */
	enum op_layer layer;
	struct owner owner;		   /* owner of that first process */
	uint32_t n_symbols;		   /* number of attached functions */
	uint32_t n_stepped;		   /* number of these that are single-stepped */
	uint32_t n_left_out;		   /* exports without a row in ops.def that are left out of the count */
	ARRAY(struct target_op) ops;	   /* operations attached, ascending by id */
	uint64_t untraced[OP_ID_MAX / 64]; /* bits of exported operations that probe_set_tier() leaves out */
	char *reason;			   /* why it is not attached; "" if it is */
	uint64_t attach_ns;		   /* time the attach took */
	uint64_t attached_ns;		   /* when the attach ended, CLOCK_MONOTONIC */
	uint64_t late_ns;		   /* longest time that a process ran with it before that; 0: none did */
	struct probe_library *probes;	   /* NULL while not attached */
};

/**
 * typedef target_found_func - a library was attached or refused
 * Called on the loop, once per file.
 */
typedef void (*target_found_func)(const struct target_library *library, void *data);

/** target_library_op() - find an attached operation. Return: NULL if it is not attached in this library */
const struct target_op *target_library_op(const struct target_library *library, uint32_t id);
/** target_library_leaves_out() - whether the library exports this operation, which is not attached by choice */
bool target_library_leaves_out(const struct target_library *library, uint32_t id);

/** target_set_open() - create a set; @parser and @probes are borrowed and must outlive it */
int target_set_open(uv_loop_t *loop, struct child *parser, struct probe_set *probes, target_found_func found,
		    void *data, struct target_set **ret_targets);
/**
 * target_set_remember() - remember attached files from one run to the next, only files that nobody but root can replace
 * @list_path: path of the list; its directory belongs to the daemon
 * Return: 0 or -ENOMEM
 */
int target_set_remember(struct target_set *targets, const char *list_path);
/**
 * target_set_keep() - attach remembered files before a process maps them, and keep them attached when none does
 * Switch it on only while all processes are recorded: otherwise untraced processes would be slowed down.
 */
void target_set_keep(struct target_set *targets, bool is_on);
/** target_set_thin() - in all libraries attach only these groups, bits of enum probe_group: probe_set_library_thin() */
void target_set_thin(struct target_set *targets, uint32_t groups);
/** target_set_attached() - groups that are attached now in all libraries that have any of their operations */
uint32_t target_set_attached(const struct target_set *targets);
/** target_set_close() - detach everything; calls `done` of running scans. Must not be called from its callbacks. */
void target_set_close(struct target_set *targets);

/** typedef target_done_func - every relevant file of the process was attached or refused */
typedef void (*target_done_func)(uint32_t tgid, void *data);

/**
 * target_set_scan() - scan the mappings of one process: its loader and its CUDA libraries
 * @library_base: load address of a new library, which is examined whatever its name; 0: none
 * @done: called once, possibly before this returns; may be NULL
 * Return: 0, also if the process is gone; -errno if it cannot be read. @done is called in any case
 */
int target_set_scan(struct target_set *targets, uint32_t tgid, uint64_t library_base, target_done_func done,
		    void *data);
/* Owner of a process. */
struct target_owner {
	struct owner of;
	bool is_known;
};

/* A file that a process has just mapped. */
struct target_load {
	uint32_t tgid;
	bool is_told;		   /* reported by the loader, as a CUDA library by its name, before its code ran */
	bool is_held;		   /* the process waits until it is attached */
	uint64_t base;		   /* address of a part of the mapping */
	uint64_t time_ns;	   /* CLOCK_MONOTONIC */
	struct file_identity file; /* inode 0: unknown; without bytes and times: any state of the file */
	struct target_owner owner; /* may be unknown yet */
};

/* One loss counted as LOSS_LATE_LOAD. */
struct target_late {
	uint32_t tgid;		   /* 0: unknown */
	struct target_owner owner; /* unknown if the process was gone too soon */
	uint64_t from_ns;	   /* when it loaded the library, CLOCK_MONOTONIC */
	uint64_t to_ns;		   /* when that was attached or given up: later calls are not missing */
};

/** typedef target_sees_func - whether the caller may see this loss */
typedef bool (*target_sees_func)(const struct target_late *late, void *data);
/**
 * target_set_lates() - number of LOSS_LATE_LOAD losses in processes that a caller may see
 * @from: value of the counter after which losses are included
 * Losses whose process is no longer known are visible to all callers.
 */
uint64_t target_set_lates(const struct target_set *targets, uint64_t from, target_sees_func sees, void *data);

/**
 * target_set_exec() - a process has executed a program: scan its loader and the executable itself
 * @time_ns: time of the exec, CLOCK_MONOTONIC
 */
void target_set_exec(struct target_set *targets, uint32_t tgid, uint64_t time_ns);
/**
 * target_set_load() - a process has mapped a file: scan the process unless the file is known
 * @done: as for target_set_scan()
 * A process that ran with a library before it was attached is counted in LOSS_LATE_LOAD.
 */
void target_set_load(struct target_set *targets, const struct target_load *load, target_done_func done, void *data);
/** target_set_let_go() - a held process is resumed now: libraries attached later are late for it */
void target_set_let_go(struct target_set *targets, uint32_t tgid);
/** target_set_look_gone() - to be called before the ring is drained for target_set_settle() */
void target_set_look_gone(struct target_set *targets);
/** target_set_settle() - to be called before losses are reported: count loads that are still examined as late */
void target_set_settle(struct target_set *targets);
/** target_set_second() - to be called once a second: work that can wait */
void target_set_second(struct target_set *targets);
/**
 * target_set_scan_loader() - attach the dynamic loader of this machine's programs, before any target starts
 * @done: called once when it was attached or refused, possibly before this returns; may be NULL
 */
int target_set_scan_loader(struct target_set *targets, target_done_func done, void *data);

size_t target_set_count(const struct target_set *targets);
const struct target_library *target_set_get(const struct target_set *targets, size_t i);

/** target_set_processes() - which process maps which file, by the last scans; valid until the next call into the set */
const struct target_processes *target_set_processes(const struct target_set *targets);
/** target_set_refresh() - scan the processes that map a relevant file again */
void target_set_refresh(struct target_set *targets);
/** target_mapped_library() - data of the file; NULL: it was not examined */
const struct target_library *target_mapped_library(const struct target_mapped *mapped);
/**
 * target_set_head() - head of an operation's function in the libraries of a process; of several the one with the
 * highest cost For a gone process: in any attached library.
 */
enum call_head target_set_head(const struct target_set *targets, uint32_t tgid, uint32_t op);
/**
 * target_set_look() - note the files with the name of a CUDA library that a process maps, without attaching them
 * For answers about what could be traced. Return: 0, or -errno when the process cannot be read
 */
int target_set_look(struct target_set *targets, uint32_t tgid);
/** target_set_forget() - forget a process that is gone or executes another program */
void target_set_forget(struct target_set *targets, uint32_t tgid);
