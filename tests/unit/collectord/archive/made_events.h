// SPDX-License-Identifier: Apache-2.0
/*
 * Events of every odd kind, the same ones each time, for what packs them. Only members
 * that are packed are set, the rest is 0; entries never go back.
 */
#pragma once

#include <stdbool.h>

#include "archive/codec/codec.h"

struct made_kind {
	const char *name;
	void (*fill)(struct stored_event *event, uint64_t *seed);
};

extern const struct made_kind made_kinds[];
extern const size_t n_made_kinds;

/** made_random() - next of a sequence that is the same for the same seed */
uint64_t made_random(uint64_t *seed);
/** made_random_width() - any number of bits alike */
uint64_t made_random_width(uint64_t *seed);
/** made_events() - n of a kind, NULL when there is no memory; free() */
struct stored_event *made_events(const struct made_kind *kind, size_t n);
/** made_is_same() - whether all that is packed is equal */
bool made_is_same(const struct stored_event *a, const struct stored_event *b);
