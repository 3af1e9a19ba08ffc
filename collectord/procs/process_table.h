// SPDX-License-Identifier: Apache-2.0
/*
 * The only table of processes. An entry is one incarnation; it lives as long as a reference to it.
 *
 * Each part hangs its own state of a process on the entry: found without a search, and of the same incarnation for all
 * parts. Used by the loop alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "procs/failures.h"
#include "procs/program.h"

struct process_memory;
struct process_table;

/* One incarnation of a process: no two are equal in boot, start_boot_ns, tgid, exec_gen and flags. */
struct process_identity {
	uint64_t start_boot_ns; /* CLOCK_BOOTTIME; 0 if the source cannot provide it */
	uint64_t start_unix_ns; /* the same by the wall clock when first seen; never converted again */
	uint32_t tgid;
	uint32_t uid; /* owner: real user id */
	uint32_t exec_gen;
	uint32_t flags; /* PROCESS_GUARDED: data from before belongs to another entry, and stays its user's */
	char comm[RECORD_COMM_BYTES];
	struct program program; /* set at the first traced call */
};

struct process {
	struct process_identity identity;
	struct process_memory *memory; /* state of detect/, which holds a reference as long as it is set */
	struct process_table *table;
	struct process *next; /* next older entry in its bucket */
	uint32_t n_references;
	bool has_called;
	uint32_t row;		   /* state of archive/: number of the row with its name; 0: none yet */
	process_failures failures; /* of its calls; set by the pipeline */
};

/** process_identity_equal() - whether both are the same incarnation, of one boot */
static inline bool process_identity_equal(const struct process_identity *a, const struct process_identity *b)
{
	return a->start_boot_ns == b->start_boot_ns && a->tgid == b->tgid && a->exec_gen == b->exec_gen &&
	       a->flags == b->flags;
}

/** process_is_guarded() - whether it belongs to root, not to its user */
static inline bool process_is_guarded(const struct process *process)
{
	return process->identity.flags & PROCESS_GUARDED;
}

/**
 * process_name() - the name in all answers, live and stored: the name at its first traced call; before that, or without
 * traced calls, the first name seen
 */
static inline const char *process_name(const struct process *process)
{
	return process->identity.comm;
}

int process_table_new(struct process_table **ret_table);
/** process_table_free() - NULL is fine; all references were given back before */
void process_table_free(struct process_table *table);
/**
 * process_table_look() - set the directory from which program data is read at first traced calls
 * @proc_fd: handle of /proc, borrowed; -1: none, as before
 */
void process_table_look(struct process_table *table, int proc_fd);
/** process_table_count() - number of entries */
size_t process_table_count(const struct process_table *table);
/**
 * process_table_take() - get the entry of an incarnation, created if it is new. For a known entry the rest of the
 * identity is ignored; a process that has become guarded keeps its start_unix_ns and its name
 * Return: a reference, to be returned with process_unref(); NULL without memory
 */
struct process *process_table_take(struct process_table *table, const struct process_identity *identity);
/** process_called() - it makes its first traced call, with this name */
void process_called(struct process *process, const char name[RECORD_COMM_BYTES]);
/** process_table_newest() - borrowed: the youngest entry with this process id; NULL: none */
struct process *process_table_newest(const struct process_table *table, uint32_t tgid);
/** process_older() - borrowed: the next older entry with the same process id, or NULL */
struct process *process_older(const struct process *process);

/** process_ref() - add a reference. Return: process */
struct process *process_ref(struct process *process);
/** process_unref() - return a reference; the last one releases the entry. NULL is allowed. Return: NULL */
struct process *process_unref(struct process *process);
