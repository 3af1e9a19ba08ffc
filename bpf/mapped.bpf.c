// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Iterators over executable mappings, run when the daemon reads. `mapped`: those of one process; /proc shows a file
 * on an overlay with the device of the overlay, which is not the file that probes are put on. `executable`: the number
 * of pages of each process, whose growth shows a new mapping.
 */
#include "credentials.h"
#include "file.h"
#include "maps.h"

SEC("iter/task_vma")
int mapped(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct seq_file *seq = ctx->meta->seq;
	struct mapped_record r = {};
	struct mm_struct *mm;

	if (!ctx->task || !vma)
		return 0;
	if (!(vma->vm_flags & VM_EXEC))
		return 0;
	r.start = vma->vm_start;
	r.end = vma->vm_end;
	r.offset = (__u64)vma->vm_pgoff << page_shift;
	mm = vma->vm_mm;
	if (mm) {
		r.exec_vm = mm->exec_vm;
		r.flags = (__u64)mm->context.vdso == r.start ? MAPPED_VDSO : 0;
	}
	file_identity_fill(vma, &r.file);
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
	cred = task->real_cred; /* real_cred: during file operations on an overlay `cred` belongs to another user */
	r.uid = cred && credentials_are_own(task) ? cred->uid.val : ~0u;
	r.tgid = task->tgid;
	r.start_boot_ns = task->start_boottime;
	bpf_seq_write(seq, &r, sizeof(r));
	return 0;
}
