// SPDX-License-Identifier: Apache-2.0
/*
 * The stacks of each process by their id in the kernel half, and the mappings that hold for them.
 *
 * A process is kept some seconds after its end: records of its calls may still be on the ring.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_record.h"

struct probe_set;
struct process_maps;
struct process_stacks;
struct stack;
struct stack_files;

/* Stacks of all processes, and of those of one user: the kernel half remembers fewer than that. */
#define STACKS_MAX 131072
#define STACKS_OF_USER_MAX (STACKS_MAX / 2)
#define STACKS_OF_USER_BYTES_MAX (32u << 20) /* of their frames and names */

int process_stacks_new(struct stack_files *files, struct probe_set *probes, struct process_stacks **ret_processes);
void process_stacks_free(struct process_stacks *processes);
/**
 * process_stacks_note() - enter a stack under its id
 * @ret_maps: a reference to the mappings that hold for the record; NULL: not known. If it is NULL, they are not wanted
 *
 * The kernel half sends a stack again if a code object of it found no room on the ring: later calls get the new one.
 *
 * A user who has too many begins anew: the kernel half sends them again.
 *
 * Return: borrowed, a new stack; NULL: a complete one has the id, or there is no memory
 */
struct stack *process_stacks_note(struct process_stacks *processes, const struct stack_record *record,
				  struct process_maps **ret_maps);
/** process_stacks_mappings() - the mappings at the moment of the next stack of a process */
void process_stacks_mappings(struct process_stacks *processes, const struct mappings_record *record);
/**
 * process_stacks_look() - read the mappings of a process that is about to make calls: it may end before its first stack
 * was read
 */
void process_stacks_look(struct process_stacks *processes, uint32_t tgid, uint32_t exec_gen, uint32_t uid);
/** process_stacks_ready() - a stack that was entered is named: its names take memory */
void process_stacks_ready(struct process_stacks *processes, const struct stack_record *record,
			  const struct stack *stack);
/** process_stacks_find() - Return: a reference to the stack with this id of a record's process; NULL: none */
struct stack *process_stacks_find(struct process_stacks *processes, const struct record_header *of, uint64_t id);
/**
 * process_stacks_gone() - the process ended, or executes another program
 * @exec_gen: of its last program that is over: stacks of the next one may have come before
 */
void process_stacks_gone(struct process_stacks *processes, uint32_t tgid, uint32_t exec_gen);
/** process_stacks_reset() - all lists of mappings are over: places of files have changed */
void process_stacks_reset(struct process_stacks *processes);
/** process_stacks_second() - to be called once a second: forget what is gone for some seconds */
void process_stacks_second(struct process_stacks *processes, uint64_t now_ns);
