// SPDX-License-Identifier: Apache-2.0
/* Empty programs instead of ours: what any return probe costs, and what it does to a program. */
#pragma once

#include <stddef.h>

#include "probes/probe_set.h"

struct floor;

/** floor_open() - load them. Return: 0 or -errno */
int floor_open(enum probe_back_end back_end, struct floor **ret_floor);
/** floor_attach() - to one file, until floor_detach() */
int floor_attach(struct floor *floor, int path_fd, const struct probe_site *sites, size_t n_sites);
void floor_detach(struct floor *floor);
void floor_close(struct floor *floor);
