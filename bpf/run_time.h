// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CPU time of a task up to now. The kernel adds it up at task switches and at clock ticks: of a thread that runs on
 * another CPU, up to a tick is missing (4 ms and more), which is much of a short window.
 */
#pragma once

#include "maps.h"

#define LEAD_KEPT_NS 10000000 /* both clocks drift apart by less than a microsecond in this time */
#define RUN_MOST_NS 12000000  /* a longer time since the last tick is an error: ticks are at most 10 ms apart */

/* At a task switch: the kernel has just set when `next` began to run. */
static __always_inline void cpu_lead_note(const struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id() & (CPU_LEADS - 1);
	__u64 clock = next->se.exec_start;

	if (!next->pid || clock - cpu_leads_at[cpu] < LEAD_KEPT_NS)
		return; /* the idle task has no such time */
	WRITE_ONCE(cpu_leads[cpu], bpf_ktime_get_ns() - clock);
	cpu_leads_at[cpu] = clock;
}

/* @now_ns: CLOCK_MONOTONIC */
static __always_inline __u64 run_time(struct task_struct *task, __u64 now_ns)
{
	__u64 sum = READ_ONCE(task->se.sum_exec_runtime), start = READ_ONCE(task->se.exec_start), lead, run;

	if (!task->on_cpu)
		return READ_ONCE(task->se.sum_exec_runtime);
	lead = READ_ONCE(cpu_leads[task->thread_info.cpu & (CPU_LEADS - 1)]);
	run = now_ns - lead - start;
	if (!lead || run > RUN_MOST_NS || READ_ONCE(task->se.sum_exec_runtime) != sum)
		return READ_ONCE(task->se.sum_exec_runtime);
	return sum + run;
}
