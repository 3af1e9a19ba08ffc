// SPDX-License-Identifier: Apache-2.0
/* Capabilities of this kernel by its type information (BTF): the fields that exist decide what the programs read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kernel_traits {
	bool has_sched;		 /* scheduling delays and the run-queue clock */
	bool has_switch_state;	 /* sched_switch has the state of the task that leaves, 5.18 */
	bool has_task_throttled; /* 6.18 */
	bool has_throttle_count; /* CFS_BANDWIDTH */
	bool has_loop;		 /* bpf_loop(), 5.17 */
	bool has_percpu_lookup;	 /* bpf_map_lookup_percpu_elem(), 5.19 */
	bool has_find_vma;	 /* bpf_find_vma(), 5.17 */
	bool has_vma_iterator;	 /* bpf_iter_task_vma_new(), 6.7 */
	bool has_oom_task;	 /* mark_victim has the task, 6.8; before that only its pid */
	uint32_t missing;	 /* a bit for each missing optional tracepoint, by its number */
};

/** kernel_traits_read() - read them. Return: 0, or -errno if the kernel has no BTF */
int kernel_traits_read(struct kernel_traits *ret_traits);
/** kernel_traits_has_tracepoint() - whether the kernel has a tracepoint; true for those that every kernel has */
bool kernel_traits_has_tracepoint(const struct kernel_traits *traits, const char *name);
