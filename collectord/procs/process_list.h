// SPDX-License-Identifier: Apache-2.0
/*
 * Every process that a proc file system shows, with what decides whose it is.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"

struct listed_process {
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid; /* who may look into it (owner_uid()) */
};

typedef ARRAY(struct listed_process) process_list;

/**
 * process_list_read() - look at all of them, one after the other
 * @proc_fd: of /proc, borrowed; may be an O_PATH descriptor
 * @list:    grows by what is found, in the order of the directory; ARRAY_DONE() is the caller's
 *
 * Processes that end meanwhile, or whose files make no sense, are left out.
 *
 * Return: 0 or -errno, in which case the list holds what was found until then
 */
int process_list_read(int proc_fd, process_list *list);
