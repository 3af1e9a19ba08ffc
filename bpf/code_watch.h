// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Code objects of Python that were freed, counted by a probe in the function of the interpreter that frees them.
 */
#pragma once

#include "shares.h"

/*
 * By process and address; several addresses share a count. Users with the same share modulo CODE_FREES_SHARES have the
 * same counts: whoever frees without pause makes new stacks of others of these alone.
 */
#define CODE_FREES_BITS 10
#define CODE_FREES_SHARES 64
SHARED __u32 code_frees[CODE_FREES_SHARES << CODE_FREES_BITS] = {};

/* Attached probes of that kind, by their number modulo CODE_WATCHES. Set by the daemon; 0: none. */
SHARED __u32 code_watches[CODE_WATCHES] = {};

static __always_inline __u32 code_tgid(void)
{
	return bpf_get_current_task_btf()->tgid;
}

/* What tells a process from others in the place of a count, and in the lower bits the part of its user. */
static __always_inline __u64 code_frees_of(__u32 tgid, __u32 slot)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);

	return (__u64)tgid << 48 | ((s ? share_index(slot, s) : SHARE_REST) & (CODE_FREES_SHARES - 1));
}

/* @of: code_frees_of() */
static __always_inline __u32 *code_freed_count(__u64 of, __u64 code)
{
	__u64 hash = (code ^ of) * 0x9e3779b97f4a7c15ull;

	return &code_frees[(of & (CODE_FREES_SHARES - 1)) << CODE_FREES_BITS | hash >> (64 - CODE_FREES_BITS)];
}

/* Number of the probe that sees the process free code objects; 0: none does. */
static __always_inline __u32 code_watch_of(const struct interpreter *interpreter)
{
	__u32 number = interpreter->code_watch;

	return number && READ_ONCE(code_watches[number & (CODE_WATCHES - 1)]) == number ? number : 0;
}
