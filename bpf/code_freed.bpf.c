// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Probe in the function of a Python interpreter that frees code objects. It runs in each process that runs the file.
 */
#include "abi.h"
#include "code_watch.h"

SEC("kprobe")
int code_freed(struct pt_regs *ctx)
{
	__u64 args[ABI_ARGUMENTS];

	regs_arguments(ctx, args);
	__sync_fetch_and_add(code_freed_count(code_frees_of(code_tgid()), args[0]), 1);
	return 0;
}
