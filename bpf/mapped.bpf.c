// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The files that one process maps executable, written when the daemon asks: /proc tells
 * of an overlay's file under a device of that overlay, which is not where its probes go.
 */
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
