// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The executable mappings of a process at the moment of a stack that needs them: by the time the daemon looks, the
 * process may have ended, or may have mapped others. Sent once for each change, where the kernel can list them (6.7).
 */
#pragma once

#include "file.h"
#include "stack_ring.h"
#include "stack_scratch.h"

/* The state of a process for which its mappings were sent last, by tgid. */
struct mappings_sent {
	__u64 exec_vm;
	__u32 exec_gen;
	__u32 loader_changes;
};

SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACK_PROCESSES_MAX);
	__type(key, __u32); /* tgid */
	__type(value, struct mappings_sent);
} mappings_sent SEC(".maps");

/* Identity of the file of a mapping, in place of its address in the kernel. */
VERIFIED_ALONE int mapping_identify(struct mapped_record *to)
{
	struct inode *inode;
	struct super_block *sb;
	__u64 file;
	__u32 device;

	if (!to || !to->file.inode)
		return 0;
	file = to->file.inode;
	inode = BPF_CORE_READ((struct file *)file, f_inode);
	sb = BPF_CORE_READ(inode, i_sb);
	device = BPF_CORE_READ(sb, s_dev);
	to->file.device = (__u64)(device >> MINOR_BITS) << 32 | (device & ((1u << MINOR_BITS) - 1));
	to->file.inode = BPF_CORE_READ(inode, i_ino);
	to->file.bytes = (__u64)BPF_CORE_READ(inode, i_size);
	/* Kernels that list mappings for a program have one of these two; include/linux/fs.h. */
	if (bpf_core_field_exists(((struct inode___split *)0)->i_ctime_sec)) {
		to->file.change_s = BPF_CORE_READ((struct inode___split *)inode, i_ctime_sec);
		to->file.change_ns = BPF_CORE_READ((struct inode___split *)inode, i_ctime_nsec) & I_CTIME_NS;
	} else if (bpf_core_field_exists(((struct inode___hidden *)0)->__i_ctime)) {
		to->file.change_s = BPF_CORE_READ((struct inode___hidden *)inode, __i_ctime.tv_sec);
		to->file.change_ns = (__u32)BPF_CORE_READ((struct inode___hidden *)inode, __i_ctime.tv_nsec);
	}
	return 0;
}

/* Values of one mapping. They are written without branches: each would multiply what the verifier follows in a loop. */
static __always_inline void mapping_add(struct mappings_record *r, struct vm_area_struct *vma)
{
	__u32 n = r->n;
	struct mapped_record *to = &r->mapped[n & (STACK_MAPPINGS_MAX - 1)];

	to->start = vma->vm_start;
	to->end = vma->vm_end;
	to->offset = (__u64)vma->vm_pgoff << page_shift;
	to->exec_vm = 0;
	to->file.device = to->file.bytes = 0;
	to->file.inode = (__u64)vma->vm_file;
	to->file.change_s = 0;
	to->file.change_ns = to->file.pad = 0;
	to->flags = to->pad = 0;
	mapping_identify(to);
	r->n = n + ((vma->vm_flags & VM_EXEC) != 0 && n < STACK_MAPPINGS_MAX - 1);
}

/* Uses the room for stack memory. Return: 0, or less: they cannot be listed now */
VERIFIED_ALONE int mappings_list(struct stack_scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mappings_record *r;
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	struct mm_struct *mm = task->mm;
	int error;

	/* Again, since older verifiers look at each function by itself. */
	if (!s || !mm || !has_vma_iterator)
		return -1;
	_Static_assert(sizeof(*r) <= STACK_COPY_MAX, "it fits where stack memory is kept");
	r = (struct mappings_record *)s->memory;
	r->n = 0;
	r->vdso = (__u64)mm->context.vdso;
	error = bpf_iter_task_vma_new(&it, task, 0);
	while ((vma = bpf_iter_task_vma_next(&it)))
		mapping_add(r, vma);
	bpf_iter_task_vma_destroy(&it);
	return error;
}

/* Sends the mappings, unless they were sent: the process's mappings that the daemon knows are not those of now. */
VERIFIED_ALONE int mappings_send(struct stack_scratch *s)
{
	struct mappings_sent now = {}, *sent;
	struct mappings_record *r;
	__u32 tgid;

	if (!s || !has_vma_iterator)
		return 0;
	tgid = s->record.tgid;
	now.exec_vm = s->record.exec_vm;
	now.exec_gen = s->record.exec_gen;
	now.loader_changes = s->record.loader_changes;
	sent = bpf_map_lookup_elem(&mappings_sent, &tgid);
	if (sent && sent->exec_vm == now.exec_vm && sent->exec_gen == now.exec_gen &&
	    sent->loader_changes == now.loader_changes)
		return 0;
	s->walk.n_filled = 0; /* the memory of the stack is read again */
	if (mappings_list(s))
		return 0;
	r = (struct mappings_record *)s->memory;
	__builtin_memcpy(&r->header, &s->record.header, sizeof(r->header));
	r->type = RECORD_MAPPINGS;
	r->flags = 0;
	r->share = 0;
	r->exec_vm = now.exec_vm;
	r->loader_changes = now.loader_changes;
	if (bpf_ringbuf_output(&stacks, r, sizeof(*r), BPF_RB_NO_WAKEUP) == 0)
		(void)bpf_map_update_elem(&mappings_sent, &tgid, &now, BPF_ANY);
	return 0;
}
