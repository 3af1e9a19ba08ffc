// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Finds the resource that a thread in a system call waits for, from its registers and descriptors.
 *
 * Valid only while the thread is off the CPU, in the system call of that wait.
 */
#pragma once

#include "abi.h"
#include "path.h"
#include "peer.h"
#include "syscalls.h"

/* The address as a number: functions that are verified alone take no pointers to tasks. */
static __always_inline __u64 task_address(struct task_struct *task)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &task);
	return address;
}

/*
 * @kind: of what is neither a device, a pipe nor a socket; of every file where it is that of its lock. Who writes to a
 * pipe or a socket waits for room in it.
 */
static __always_inline enum resource_kind file_kind(__u16 type, enum resource_kind kind)
{
	if (kind == RESOURCE_FILE_LOCK)
		return kind;
	switch (type) {
	case S_IFCHR:
	case S_IFBLK:
		return RESOURCE_DEVICE;
	case S_IFIFO:
		return kind == RESOURCE_WRITTEN ? RESOURCE_FULL_PIPE : RESOURCE_PIPE;
	case S_IFSOCK:
		return kind == RESOURCE_WRITTEN ? RESOURCE_FULL_PEER : RESOURCE_PEER;
	}
	return kind;
}

static __always_inline void descriptor_note(__u32 slot, struct thread_wait *wait, struct task_struct *task, __u64 fd,
					    enum resource_kind kind, enum path_place place)
{
	struct file *file = (struct file *)descriptor_file((__u64)task, fd);
	struct dentry *dentry;
	struct inode *inode;
	__u16 type;

	if (!file)
		return;
	inode = BPF_CORE_READ(file, f_inode);
	if (!inode)
		return;
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (!type)
		return; /* epoll, eventfd, ...: not the resource itself */
	wait->resource = BPF_CORE_READ(inode, i_ino);
	wait->kind = file_kind(type, kind);
	wait->device = wait->kind == RESOURCE_DEVICE ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
	if (type == S_IFSOCK) { /* the directory entry of a socket has the name of its protocol */
		peer_note((struct peer_name *)wait->name, (__u64)file);
		return;
	}
	dentry = BPF_CORE_READ(file, f_path.dentry);
	wait->name_hash = (__u32)BPF_CORE_READ(dentry, d_name.hash_len);
	bpf_probe_read_kernel_str(wait->name, sizeof(wait->name), BPF_CORE_READ(dentry, d_name.name));
	if (slot && wait->kind != RESOURCE_DEVICE && wait->name[0])
		path_note(wait, slot, task_address(task), fd, place);
}

#define CHILDREN_MOST 64

/* Of the children that a thread forked, the latest first. Return: its number outside of all namespaces; 0: not found */
static __always_inline __u64 child_find(__u64 forked, __u32 level, __u32 number)
{
	struct task_struct *task = (struct task_struct *)forked, *child;
	__u64 head = forked + bpf_core_field_offset(struct task_struct, children);
	struct list_head *node = BPF_CORE_READ(task, children.prev);
	__u64 numbers;
	__u32 i, nr;

	for (i = 0; i < CHILDREN_MOST && node && (__u64)node != head; i++) {
		child = (void *)node - bpf_core_field_offset(struct task_struct, sibling);
		numbers = (__u64)BPF_CORE_READ(child, thread_pid) + bpf_core_field_offset(struct pid, numbers);
		if (!bpf_probe_read_kernel(&nr, sizeof(nr),
					   (void *)(numbers + level * bpf_core_type_size(struct upid))) &&
		    nr == number)
			return BPF_CORE_READ(child, tgid);
		node = BPF_CORE_READ(child, sibling.prev);
	}
	return 0;
}

/*
 * A thread names its child by its number in its own namespace: another process may have the same number outside.
 * Return: the number outside; 0: the child is not found
 */
VERIFIED_ALONE __u64 child_outside(__u64 waiting, __u32 number)
{
	struct task_struct *task = (struct task_struct *)waiting;
	__u32 level = BPF_CORE_READ(task, thread_pid, level);
	__u64 leader = (__u64)BPF_CORE_READ(task, group_leader), found;

	if (!level)
		return number;
	found = child_find(waiting, level, number);
	return found || leader == waiting ? found : child_find(leader, level, number);
}

static __always_inline void child_note(struct thread_wait *wait, struct task_struct *task, __s32 pid)
{
	wait->kind = RESOURCE_CHILD;
	wait->resource = pid > 0 ? child_outside(task_address(task), pid) : 0;
}

/* CPython 3.9 to 3.13 keeps the GIL, its mutex and its condition variables in the interpreter's state (_PyRuntime). */
static __always_inline void futex_note(struct thread_wait *wait, struct task_struct *task, __u64 address)
{
	__u32 tgid = task->tgid;
	const struct interpreter *interpreter = bpf_map_lookup_elem(&interpreters, &tgid);

	wait->resource = address;
	wait->kind = RESOURCE_FUTEX;
	if (interpreter && address - interpreter->start < interpreter->n_bytes) {
		wait->resource = interpreter->start;
		wait->kind = RESOURCE_GIL;
	}
}

/*
 * The block device to which the thread submitted a request since it last waited, for a wait whose system call
 * or page fault names no resource. A request of another thread, or of a kernel thread, is not known.
 */
static __always_inline void disk_note(struct thread_wait *wait, struct task_struct *task)
{
	if (!wait->disk || wait->disk_pcount != task->sched_info.pcount)
		return;
	wait->kind = RESOURCE_DEVICE;
	wait->device = wait->disk;
}

static __always_inline void syscall_note(__u32 slot, struct thread_wait *wait, struct task_struct *task,
					 enum path_place place)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	enum resource_kind kind = RESOURCE_INODE;
	int nr = user_syscall(regs);

	switch (syscall_object(nr)) {
	case OBJECT_FUTEX:
		futex_note(wait, task, user_argument(regs, 0));
		return;
	case OBJECT_FUTEX_LIST:
		wait->kind = RESOURCE_FUTEX;
		return;
	case OBJECT_FCNTL:
		if (!fcntl_locks(user_argument(regs, 1)))
			return;
		kind = RESOURCE_FILE_LOCK;
		break;
	case OBJECT_FILE_LOCK:
		kind = RESOURCE_FILE_LOCK;
		break;
	case OBJECT_DESCRIPTOR:
		kind = syscall_has(nr, WRITES) ? RESOURCE_WRITTEN : RESOURCE_INODE;
		break;
	case OBJECT_CHILD_A:
		child_note(wait, task, (__s32)user_argument(regs, 0));
		return;
	case OBJECT_CHILD_B:
		child_note(wait, task, user_argument(regs, 0) == P_PID ? (__s32)user_argument(regs, 1) : 0);
		return;
	case OBJECT_NONE:
		return;
	}
	descriptor_note(slot, wait, task, (__u32)user_argument(regs, 0), kind, place);
}

/*
 * @slot:  of the process whose owner is told the path of a file; 0: nobody is
 * @wait:  of the thread `task`, or a copy: all zero from `resource` on
 * @class: of the wait, enum blame_class
 */
static __always_inline void resource_note(__u32 slot, struct thread_wait *wait, struct task_struct *task, __u64 class,
					  enum path_place place)
{
	if (class == BLAME_SLEEP)
		return;
	if (wait->stop) {
		wait->kind = RESOURCE_STOPPED;
		wait->resource = wait->stop;
		return;
	}
	if (class != BLAME_MEMORY)
		syscall_note(slot, wait, task, place);
	if (wait->kind == RESOURCE_NONE && (class == BLAME_MEMORY || class == BLAME_BLOCK_IO))
		disk_note(wait, task);
}
