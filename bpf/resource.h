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

/* The address as a number: functions that are verified alone take no pointers to tasks. */
static __always_inline __u64 task_address(struct task_struct *task)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &task);
	return address;
}

static __always_inline void descriptor_note(struct thread_state *t, struct thread_wait *wait, struct task_struct *task,
					    __u64 fd, bool is_written, enum path_place place)
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
	if (type == S_IFCHR || type == S_IFBLK) {
		wait->kind = RESOURCE_DEVICE;
		wait->device = BPF_CORE_READ(inode, i_rdev);
	} else {
		wait->kind = type == S_IFIFO	? RESOURCE_PIPE
			     : type == S_IFSOCK ? RESOURCE_PEER
			     : is_written	? RESOURCE_WRITTEN
						: RESOURCE_INODE;
		wait->device = BPF_CORE_READ(inode, i_sb, s_dev);
	}
	if (type == S_IFSOCK) { /* the directory entry of a socket has the name of its protocol */
		peer_note((struct peer_name *)wait->name, (__u64)file);
		return;
	}
	dentry = BPF_CORE_READ(file, f_path.dentry);
	wait->name_hash = (__u32)BPF_CORE_READ(dentry, d_name.hash_len);
	bpf_probe_read_kernel_str(wait->name, sizeof(wait->name), BPF_CORE_READ(dentry, d_name.name));
	if (wait->kind != RESOURCE_DEVICE && wait->name[0])
		path_note(t, wait, task_address(task), fd, place);
}

static __always_inline void child_note(struct thread_wait *wait, __s32 pid)
{
	wait->kind = RESOURCE_CHILD;
	wait->resource = pid > 0 ? pid : 0;
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

/* @wait: of the thread `t` (`task`), or a copy of it; must be zero from `resource` on */
static __always_inline void resource_note(struct thread_state *t, struct thread_wait *wait, struct task_struct *task,
					  enum path_place place)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);

	int nr = user_syscall(regs);

	switch (syscall_object(nr)) {
	case OBJECT_FUTEX:
		futex_note(wait, task, user_argument(regs, 0));
		break;
	case OBJECT_FUTEX_LIST:
		wait->kind = RESOURCE_FUTEX;
		break;
	case OBJECT_DESCRIPTOR:
		descriptor_note(t, wait, task, (__u32)user_argument(regs, 0), syscall_writes(nr), place);
		break;
	case OBJECT_CHILD_A:
		child_note(wait, (__s32)user_argument(regs, 0));
		break;
	case OBJECT_CHILD_B:
		child_note(wait, user_argument(regs, 0) == P_PID ? (__s32)user_argument(regs, 1) : 0);
		break;
	case OBJECT_NONE:
		break;
	}
}
