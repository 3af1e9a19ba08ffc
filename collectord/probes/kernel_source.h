// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel half as a source: its cells, and its rings on the loop.
 */
#pragma once

#include "events/source.h"

struct probe_set;

/**
 * kernel_open() - start reading what the kernel half writes
 * @probes: borrowed until the source is closed
 * @ring_bytes: size of the ring of calls
 * Return: 0 or -errno
 */
int kernel_open(uv_loop_t *loop, struct probe_set *probes, uint64_t ring_bytes, const struct source_sinks *sinks,
		void *data, struct source **ret_source);
