// SPDX-License-Identifier: Apache-2.0
/* All processes of a proc file system, with the data that decides their owner. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct listed_process {
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid; /* the user who may inspect it (owner_uid()) */
};

typedef ARRAY(struct listed_process) process_list;

/* A way through all processes, which may be continued later. All zero: none has begun. */
struct process_walk {
	DIR *dir;
	int proc_fd; /* borrowed */
};

/** process_walk_begin() - @proc_fd: handle of /proc, borrowed; may be an O_PATH descriptor. Return: 0 or -errno */
int process_walk_begin(struct process_walk *walk, int proc_fd);
/** process_walk_next() - Return: 1 with a process; 0 at the end, or -errno: then the walk has ended */
int process_walk_next(struct process_walk *walk, struct listed_process *ret_process);
/** process_walk_end() - allowed if none has begun */
void process_walk_end(struct process_walk *walk);

/**
 * process_list_read() - read all processes, one after the other
 * @proc_fd: handle of /proc, borrowed; may be an O_PATH descriptor
 * @list:    list to append to, in the order of the directory; the caller releases it with ARRAY_DONE()
 *
 * Processes that end meanwhile, or whose files cannot be parsed, are left out.
 *
 * Return: 0 or -errno, then the list has the processes found so far
 */
int process_list_read(int proc_fd, process_list *list);
