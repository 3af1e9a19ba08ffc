// SPDX-License-Identifier: Apache-2.0
/*
 * The one table of processes. An entry is one incarnation; it is there as long as somebody holds a reference.
 *
 * What a part knows of a process hangs on its entry: found without a search, and of the same incarnation as
 * everybody else's. The loop's alone, as is all that hangs there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "procs/program.h"

struct process_memory;
struct process_table;

/* One incarnation of a process: no two share all of boot, start_boot_ns, tgid, exec_gen and flags. */
struct process_identity {
	uint64_t start_boot_ns; /* CLOCK_BOOTTIME; 0 where the source cannot tell */
	uint64_t start_unix_ns; /* the same by the wall clock when first seen; never mapped again */
	uint32_t tgid;
	uint32_t uid; /* owner: real user id */
	uint32_t exec_gen;
	uint32_t flags; /* PROCESS_GUARDED: what it was before is another entry's, and stays its user's */
	char comm[RECORD_COMM_BYTES];
	struct program program; /* known from the first traced call on */
};

struct process {
	struct process_identity identity;
	struct process_memory *memory; /* detect/'s own, which holds a reference as long as it is set */
	struct process_table *table;
	struct process *next; /* in its bucket: the older one */
	uint32_t n_references;
	bool has_called;
	uint32_t row; /* archive/'s own: number of its row, where its name is written; 0: none yet */
};

/** process_identity_equal() - whether both are the same incarnation, of one boot */
static inline bool process_identity_equal(const struct process_identity *a, const struct process_identity *b)
{
	return a->start_boot_ns == b->start_boot_ns && a->tgid == b->tgid && a->exec_gen == b->exec_gen &&
	       a->flags == b->flags;
}

/** process_is_guarded() - root's to look into and not its user's */
static inline bool process_is_guarded(const struct process *process)
{
	return process->identity.flags & PROCESS_GUARDED;
}

/**
 * process_name() - what people are told, live and stored: the name that it had at its first traced call; until then, or
 * of one that makes none, when it was first told of
 */
static inline const char *process_name(const struct process *process)
{
	return process->identity.comm;
}

int process_table_new(struct process_table **ret_table);
/** process_table_free() - NULL is fine; all references were given back before */
void process_table_free(struct process_table *table);
/**
 * process_table_look() - from now on what processes run is read there, at their first traced calls
 * @proc_fd: of /proc, borrowed; -1: nowhere any more, as before
 */
void process_table_look(struct process_table *table, int proc_fd);
/** process_table_count() - entries */
size_t process_table_count(const struct process_table *table);
/**
 * process_table_take() - the entry of an incarnation, made when it is new. Of the identity of a known entry nothing
 * else is read; a process that has become guarded keeps the start_unix_ns and the name that it had before
 * Return: a reference, to give back with process_unref(); NULL without memory
 */
struct process *process_table_take(struct process_table *table, const struct process_identity *identity);
/** process_called() - it makes its first traced call, with this name */
void process_called(struct process *process, const char name[RECORD_COMM_BYTES]);
/** process_table_newest() - borrowed: of the entries with that process id the youngest; NULL: there is none */
struct process *process_table_newest(const struct process_table *table, uint32_t tgid);
/** process_older() - borrowed: the next older one with the same process id, or NULL */
struct process *process_older(const struct process *process);

/** process_ref() - Return: process */
struct process *process_ref(struct process *process);
/** process_unref() - the last one makes the entry go; NULL is fine. Return: NULL */
struct process *process_unref(struct process *process);
