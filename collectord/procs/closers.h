// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that close the perf events of a trace that has ended, ours or an earlier daemon's (probes/closer.h). They
 * run the daemon's own file, as its user or as root, and say in their names how many probes are left: so whoever comes
 * later recognises them, and nobody else can be taken for one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define CLOSER_TITLE "closing " /* first part of the name of such a process, the number of probes follows */

struct closer {
	uint32_t pid;
	uint32_t n_probes; /* left to close */
};

typedef ARRAY(struct closer) closer_list;

/** closer_read() - @ret: of this process, if it is one. Return: whether it is */
bool closer_read(uint32_t pid, struct closer *ret);
/** closers_find() - look at all processes; @list grows by what is found. Return: 0 or -errno */
int closers_find(closer_list *list);
