// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What processes map executable, written when the daemon asks: of one the files, since /proc tells
 * of an overlay's file under a device of that overlay, which is not where its probes go; of all how much it is,
 * which tells that something came.
 */
#include "credentials.h"
#include "file.h"

#define VM_EXEC 0x4u /* include/linux/mm.h */

SEC("iter/task_vma")
int mapped(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct seq_file *seq = ctx->meta->seq;
	struct mapped_record r = {};

	if (!ctx->task || !vma)
		return 0;
	if (!(vma->vm_flags & VM_EXEC))
		return 0;
	r.start = vma->vm_start;
	file_identity_fill(vma, &r.file);
	if (r.file.inode)
		bpf_seq_write(seq, &r, sizeof(r));
	return 0;
}

SEC("iter/task")
int executable(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct executable_record r = {};
	const struct cred *cred;

	if (!task || task->pid != task->tgid)
		return 0;
	r.pages = task->mm ? task->mm->exec_vm : 0;
	if (!r.pages)
		return 0;
	cred = task->real_cred; /* while it works on an overlay its other ones are another user's */
	r.uid = cred && credentials_are_own(task) ? cred->uid.val : ~0u;
	r.tgid = task->tgid;
	r.start_boot_ns = task->start_boottime;
	bpf_seq_write(seq, &r, sizeof(r));
	return 0;
}
