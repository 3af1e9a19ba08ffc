// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Programs that do nothing at task switches and wake-ups: what the kernel's count of their time alone takes there. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sched_switch")
int empty_switch(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("tp_btf/sched_waking")
int empty_waking(void *ctx)
{
	(void)ctx;
	return 0;
}
