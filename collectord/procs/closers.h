// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that close the perf events of an ended trace, of this or an earlier daemon (probes/closer.h). They run the
 * daemon's executable, as its user or as root, and have the number of remaining probes in their names. By both a later
 * daemon recognises them and no other process. Other daemons are recognised in the same way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define CLOSER_TITLE "closing " /* start of the name of such a process; the number of probes follows */

struct closer {
	uint32_t pid;
	uint32_t n_probes; /* probes left to close */
};

typedef ARRAY(struct closer) closer_list;

/** closer_read() - check whether a process is a closer. @ret: set if it is. Return: whether it is */
bool closer_read(uint32_t pid, struct closer *ret);
/**
 * daemons_count() - how many other daemons run our executable, as its user or as root: what these trace is not known
 * here. Return: 0 also where /proc cannot be read
 */
uint32_t daemons_count(void);
/** closers_find() - search all processes, and append the closers to @list. Return: 0 or -errno */
int closers_find(closer_list *list);
