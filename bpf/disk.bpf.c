// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Disks that threads wait for without a descriptor: page faults on mapped files, swap, directories, names.
 *
 * Runs at every request that is given to a disk: two comparisons for a thread that is not ours. Attached only while
 * libraries are.
 */
#include "abi.h"

/* Of a disk that is made of others, the requests to those are its driver's. */
SEC("tp_btf/block_bio_queue")
int disk_request(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct bio *bio = (const struct bio *)ctx[0];
	const struct block_device *disk;
	struct thread_state *t;
	struct waker_state *w;
	struct thread_wait *wait;
	__u32 tid = task->pid;

	t = thread_of(task);
	w = t ? NULL : waker_of(tid);
	if (!t && !w)
		return 0;
	if (task->bio_list || !is_on_own_stack(task, ctx))
		return 0;
	disk = bio->bi_bdev;
	if (!disk)
		return 0;
	wait = t ? &t->wait : &w->now;
	wait->disk = disk->bd_dev;
	wait->disk_pcount = task->sched_info.pcount;
	return 0;
}
