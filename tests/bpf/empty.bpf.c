// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The floor: programs that do nothing, at the same offsets and on the same back end. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("kprobe")
int empty_session(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("kprobe")
int empty_entry(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("kprobe")
int empty_return(void *ctx)
{
	(void)ctx;
	return 0;
}
