// SPDX-License-Identifier: Apache-2.0
/*
 * What this kernel's own types say it can tell us: which fields are there decides what
 * the programs read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kernel_traits {
	bool has_sched;		 /* scheduling delays and the run-queue clock */
	bool has_switch_state;	 /* sched_switch carries the state of who leaves, 5.18 */
	bool has_task_throttled; /* 6.18 */
	bool has_throttle_count; /* CFS_BANDWIDTH */
	bool has_loop;		 /* bpf_loop(), 5.17 */
	bool has_percpu_lookup;	 /* bpf_map_lookup_percpu_elem(), 5.19 */
	bool has_find_vma;	 /* bpf_find_vma(), 5.17 */
	bool has_oom_task;	 /* mark_victim carries the task, 6.8; before that a number */
	uint32_t missing;	 /* bit by number of those tracepoints that a kernel may be without */
};

/** kernel_traits_read() - Return: 0, or -errno where the kernel does not describe its types (BTF) */
int kernel_traits_read(struct kernel_traits *ret_traits);
/** kernel_traits_has_tracepoint() - of those that a kernel may be without; others are always there */
bool kernel_traits_has_tracepoint(const struct kernel_traits *traits, const char *name);
