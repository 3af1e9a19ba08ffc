// SPDX-License-Identifier: Apache-2.0
/*
 * A source that needs no privilege and no GPU: a scenario of base/demos.def, played into cells and records as the
 * kernel half would write them.
 */
#pragma once

#include <stdbool.h>

#include "events/source.h"

/** demo_exists() - whether there is a scenario of this name (base/demos.def) */
bool demo_exists(const char *name);
/**
 * demo_open() - a source that plays a scenario (base/demos.def), no privilege needed
 * @speed: 1: as fast as it would happen; more: that many times faster; within base/demo.h's limits
 * @sinks: on_life with RECORD_EXIT of its process tells the end
 * Return: 0; -ENOENT for an unknown scenario; -errno
 */
int demo_open(uv_loop_t *loop, const char *name, double speed, uint64_t seed, const struct source_sinks *sinks,
	      void *data, struct source **ret_source);
