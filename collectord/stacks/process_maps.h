// SPDX-License-Identifier: Apache-2.0
/*
 * The executable mappings of a process at one moment, and what is known of that moment: they hold for a stack that was
 * taken with the same values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_record.h"

struct probe_set;
struct stack_file;
struct stack_files;

struct process_map {
	uint64_t start, end;
	uint64_t offset;	 /* in the file, bytes */
	uint64_t identity;	 /* unwind_mapping_file(); 0: not known */
	struct stack_file *file; /* a reference; NULL: no file, or it cannot be opened */
	uint32_t first_page;	 /* place of its first page in the table of pages; 0: none */
	char *path;		 /* of the file as this process sees it; NULL: that of `file` */
};

struct process_maps {
	uint32_t n_references;
	struct probe_set *probes; /* borrowed */
	uint32_t tag;		  /* of the list in the kernel half: never used again */
	uint32_t exec_gen;
	uint32_t loader_changes;
	uint64_t exec_vm; /* executable pages, as the kernel counts them */
	uint64_t all;	  /* unwind_mapping_add() of them; 0: not known */
	bool is_cut;	  /* more mappings than the kernel half has room for: those beyond are missing there */
	size_t n;
	struct process_map items[]; /* ascending */
};

/**
 * process_maps_read() - read the mappings of a process
 * Return: 0 with a reference; -ESRCH: it is gone; -EAGAIN: they changed while they were read; -errno
 */
int process_maps_read(struct stack_files *files, int proc_fd, uint32_t tgid, uint32_t uid,
		      struct process_maps **ret_maps);
/**
 * process_maps_take() - the same from a record of the kernel half, which was right at its moment, whatever the process
 * did since
 * Files that are not open yet are looked for in the process; without it their mappings have none.
 * Return: 0 with a reference; -ENOMEM
 */
int process_maps_take(struct stack_files *files, int proc_fd, const struct mappings_record *record,
		      struct process_maps **ret_maps);
/** process_maps_want() - want the rules of all pages before they are needed, if these are few */
void process_maps_want(const struct process_maps *maps);
struct process_maps *process_maps_ref(struct process_maps *maps);
void process_maps_unref(struct process_maps *maps);
/** process_maps_find() - the mapping of an address; NULL: none */
const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address);
struct probe_set *process_maps_probes(const struct process_maps *maps);
/** process_maps_to_kernel() - as the kernel half has them */
void process_maps_to_kernel(const struct process_maps *maps, struct stack_maps *ret_maps);
