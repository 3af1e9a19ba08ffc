// SPDX-License-Identifier: Apache-2.0
/*
 * A source that needs no privilege and no GPU: a scenario of base/demos.def, played into cells and records in the
 * kernel half's format.
 */
#pragma once

#include <stdbool.h>

#include "events/source.h"

/** demo_exists() - whether base/demos.def has a scenario of this name */
bool demo_exists(const char *name);
/**
 * demo_open() - create a source that plays a scenario (base/demos.def)
 * @speed: speed factor, within the limits of base/demo.h
 * @sinks: on_life with RECORD_EXIT of its process reports the end
 * Return: 0; -ENOENT for an unknown scenario; -errno
 */
int demo_open(uv_loop_t *loop, const char *name, double speed, uint64_t seed, const struct source_sinks *sinks,
	      void *data, struct source **ret_source);
