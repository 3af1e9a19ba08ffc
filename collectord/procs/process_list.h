// SPDX-License-Identifier: Apache-2.0
/* All processes of a proc file system, with the data that decides their owner. */
#pragma once

#include <stdint.h>

#include "base/array.h"

struct listed_process {
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid; /* the user who may inspect it (owner_uid()) */
};

typedef ARRAY(struct listed_process) process_list;

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
