// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Probe in the function of a Python interpreter that frees code objects. It runs in each process that runs the file;
 * those without a traced call have no stacks, and nothing is counted.
 */
#include "abi.h"
#include "code_watch.h"

SEC("kprobe")
int code_freed(struct pt_regs *ctx)
{
	__u32 tgid = code_tgid(), slot;
	struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);
	__u64 args[ABI_ARGUMENTS];

	slot = entry ? entry->slot : 0;
	if (!slot)
		return 0;
	regs_arguments(ctx, args);
	__sync_fetch_and_add(code_freed_count(code_frees_of(tgid, slot), args[0]), 1);
	return 0;
}
