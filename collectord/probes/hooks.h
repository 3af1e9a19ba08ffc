// SPDX-License-Identifier: Apache-2.0
/* Kernel hooks, by family. Used only by the files of a probe set. */
#pragma once

#include "probes/probe_set.h"

enum hook_family {
#define FAMILY(family, ...) HOOK_FAMILY_##family,
#include "probes/hooks.def"
	HOOK_FAMILY_COUNT
};

enum hook_index {
#define HOOK(family, program, ...) HOOK_##program,
#include "probes/hooks.def"
	HOOK_COUNT
};

#define HOOK_REASON_BYTES 96

struct kernel_traits;

/** hooks_select() - before loading: select the programs that this kernel can run, and note why others cannot */
void hooks_select(struct probe_set *set, const struct kernel_traits *traits);
/** hooks_update() - attach the hooks that are needed now, detach the others. Return: 0 or -errno */
int hooks_update(struct probe_set *set);
/** hooks_close() - detach all hooks */
void hooks_close(struct probe_set *set);
/** hooks_state() - state of a family for probe_set_families(). @set: NULL while it is loading */
struct probe_family_state hooks_state(const struct probe_set *set, enum hook_family family);
