// SPDX-License-Identifier: Apache-2.0
/*
 * Hooks of the kernel, by family. Between the files of a probe set alone.
 */
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

/** hooks_select() - before loading: the programs that this kernel can run, and why others cannot */
void hooks_select(struct probe_set *set, const struct kernel_traits *traits);
/** hooks_update() - attach those that are needed now, detach those that are not. Return: 0 or -errno */
int hooks_update(struct probe_set *set);
/** hooks_close() - detach all */
void hooks_close(struct probe_set *set);
/** hooks_state() - as probe_set_families() tells it. @set: NULL while it is loading */
struct probe_family_state hooks_state(const struct probe_set *set, enum hook_family family);
