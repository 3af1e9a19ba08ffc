// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The executable mappings of a process at the moment of a stack: whether they are those of the daemon's list, and, if
 * not, which ones they are: by the time the daemon looks, the process may have ended, or may have mapped others.
 *
 * The kernel counts the changes to the mappings of a process (from 6.4 on): while their number is the same, nothing is
 * compared. They are sent once for each change of executable ones, where the kernel can list them (6.7).
 */
#pragma once

#include "file.h"
#include "stack_maps.h"
#include "stack_ring.h"
#include "stack_scratch.h"

/* The state of a process for which its mappings were sent last, by tgid. */
struct mappings_sent {
	__u64 changes; /* mappings_changes() */
	__u64 all;     /* unwind_mapping_add() of all */
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

/* Number of changes to the mappings of a process, of those that are over. 0: this kernel does not count them */
static __always_inline __u64 mappings_changes(struct mm_struct *mm)
{
	const __u64 is_known = 1ull << 32;

	if (!mm || !has_find_vma)
		return 0;
	if (bpf_core_field_exists(((struct mm_struct___seqcount *)0)->mm_lock_seq.sequence))
		return is_known | (((struct mm_struct___seqcount *)mm)->mm_lock_seq.sequence & ~1u);
	if (bpf_core_field_exists(((struct mm_struct___number *)0)->mm_lock_seq))
		return is_known | (__u32)((struct mm_struct___number *)mm)->mm_lock_seq;
	return 0;
}

/* ---- the daemon's list ---- */

struct listed_search {
	__u64 start, bytes, file; /* of the list */
	__u64 is_same;
};

static long listed_found(struct task_struct *task, struct vm_area_struct *vma, struct listed_search *search)
{
	struct file_identity file = {};

	(void)task;
	file_identity_fill(vma, &file);
	search->is_same = vma->vm_start == search->start && vma->vm_end - vma->vm_start == search->bytes &&
			  vma->vm_flags & VM_EXEC &&
			  unwind_mapping_file((__u64)vma->vm_pgoff << page_shift, &file) == search->file;
	return 0;
}

#define MAPPINGS_ATTEMPTS 8 /* while another thread changes mappings */

/* Whether a mapping of the list is still there. Return: 1, 0, or negative: not known, others change mappings now */
VERIFIED_ALONE int mapping_holds(const struct stack_maps *maps, __u32 i)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct listed_search search = {};
	long r = -EBUSY;
	__u32 k;

	/* The last one again, since older verifiers look at each function by itself. */
	if (!maps || i >= STACK_MAPPINGS_MAX || !has_find_vma)
		return 0;
	search.start = maps->mappings[i].start;
	search.bytes = (__u64)maps->mappings[i].n_pages << UNWIND_PAGE_SHIFT;
	search.file = maps->files[i];
	for (k = 0; k < MAPPINGS_ATTEMPTS && r == -EBUSY; k++)
		r = bpf_find_vma(task, search.start, listed_found, &search, 0);
	return r == -EBUSY ? -1 : search.is_same;
}

/* Whether all mappings of a list are those of now; a list of which that is not so is over. */
VERIFIED_ALONE int mappings_hold(struct stack_maps *maps, __u64 changes)
{
	__u32 i;
	int r;

	if (!maps)
		return 0;
	for (i = 0; i < STACK_MAPPINGS_MAX && i < maps->n; i++) {
		r = mapping_holds(maps, i);
		if (!r)
			WRITE_ONCE(maps->tag, 0);
		if (r <= 0)
			return 0;
	}
	WRITE_ONCE(maps->changes, changes);
	return 1;
}

/* ---- those of now ---- */

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
	r->all = unwind_mapping_add(r->all, to->start, to->end, unwind_mapping_file(to->offset, &to->file));
	r->n = n + 1;
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
	r->all = 0;
	r->vdso = (__u64)mm->context.vdso;
	error = bpf_iter_task_vma_new(&it, task, 0);
	while ((vma = bpf_iter_task_vma_next(&it))) {
		if (vma->vm_flags & VM_EXEC && r->n < STACK_MAPPINGS_MAX - 1)
			mapping_add(r, vma);
	}
	bpf_iter_task_vma_destroy(&it);
	return error;
}

/*
 * Sends the mappings, unless they were sent: the process's mappings that the daemon knows are not those of now. The
 * record of the stack tells which ones they are.
 */
VERIFIED_ALONE int mappings_send(struct stack_scratch *s)
{
	struct mappings_sent now = {}, *sent;
	bool is_sent;
	struct mappings_record *r;
	__u32 tgid, i;

	if (!s)
		return 0;
	s->record.mappings = has_vma_iterator ? 0 : STACK_MAPPINGS_UNCOUNTED;
	if (!has_vma_iterator)
		return 0;
	tgid = s->record.tgid;
	now.exec_vm = s->record.exec_vm;
	now.exec_gen = s->record.exec_gen;
	now.loader_changes = s->record.loader_changes;
	now.changes = s->walk.changes;
	sent = bpf_map_lookup_elem(&mappings_sent, &tgid);
	is_sent = sent && sent->exec_vm == now.exec_vm && sent->exec_gen == now.exec_gen &&
		  sent->loader_changes == now.loader_changes;
	if (is_sent && sent->changes == now.changes) {
		s->record.mappings = sent->all;
		return 0;
	}
	s->walk.n_filled = 0; /* the memory of the stack is read again */
	for (i = 0; i < MAPPINGS_ATTEMPTS; i++)
		if (!mappings_list(s))
			break;
	if (i == MAPPINGS_ATTEMPTS)
		return 0;
	r = (struct mappings_record *)s->memory;
	__builtin_memcpy(&r->header, &s->record.header, sizeof(r->header));
	r->type = RECORD_MAPPINGS;
	r->flags = 0;
	r->share = 0;
	r->exec_vm = now.exec_vm;
	r->loader_changes = now.loader_changes;
	now.all = s->record.mappings = r->all;
	if (is_sent && sent->all == now.all) {
		sent->changes = now.changes;
		return 0;
	}
	if (stacks_have_room(s->record.slot, sizeof(*r)) &&
	    bpf_ringbuf_output(&stacks, r, sizeof(*r), BPF_RB_NO_WAKEUP) == 0)
		(void)bpf_map_update_elem(&mappings_sent, &tgid, &now, BPF_ANY);
	return 0;
}
