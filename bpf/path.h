// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The path of a file that a thread waits for, as its process sees it: components from the file up to the root of the
 * process, or to the root of its mount namespace. Sent for each process and name, and again at a wait PATH_FRESH_S or
 * more later: a directory above the file may have been renamed since, or another file system mounted.
 *
 * Without locks: a name is used only if its directory entry was unchanged before and after the read, and the path only
 * if the descriptor still refers to the same file at the end. After a change the next wait tries again. Every read may
 * fail without harm.
 *
 * Each user may send FILE_BYTES_PER_S: the ring is that of all users' calls.
 */
#pragma once

#include "call_ring.h"
#include "maps.h"
#include "shares.h"

#define PATH_STEPS 256
#define PATH_FRESH_S 10 /* so long a path is told that is no more, at most */

static __always_inline __u64 descriptor_file(__u64 task_address, __u64 fd)
{
	struct task_struct *task = (struct task_struct *)task_address;
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **table, *file = NULL;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return 0;
	table = BPF_CORE_READ(fdt, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), &table[fd]))
		return 0;
	return (__u64)file;
}

enum path_step { PATH_GOES_ON, PATH_ENDS, PATH_CHANGED };

/* Return: enum path_step */
static __always_inline int path_name(struct path_walk *w, struct dentry *dentry, struct dentry *parent)
{
	__u32 at = w->record.n_bytes, sequence = BPF_CORE_READ(dentry, d_seq.seqcount.sequence);
	const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
	long n;

	if (at > FILE_PATH_BYTES - FILE_NAME_BYTES) {
		w->record.path_flags |= FILE_CUT;
		return PATH_ENDS;
	}
	at &= FILE_PATH_BYTES - 1;
	keep(at);
	n = bpf_probe_read_kernel_str(&w->record.text[at & (FILE_PATH_BYTES - 1)], FILE_NAME_BYTES, name);
	if (n <= 0 || sequence & 1 || BPF_CORE_READ(dentry, d_seq.seqcount.sequence) != sequence ||
	    BPF_CORE_READ(dentry, d_parent) != parent)
		return PATH_CHANGED;
	w->record.n_bytes = at + (__u32)n;
	return PATH_GOES_ON;
}

/* Return: enum path_step */
VERIFIED_ALONE int path_step(struct path_walk *w)
{
	struct dentry *dentry, *parent;
	struct mount *mount, *above;
	struct vfsmount *mnt;
	int r;

	if (!w)
		return PATH_CHANGED;
	dentry = (struct dentry *)w->dentry;
	mnt = (struct vfsmount *)w->mnt;
	if (w->dentry == w->root_dentry && w->mnt == w->root_mnt)
		return PATH_ENDS;
	parent = BPF_CORE_READ(dentry, d_parent);
	if (dentry != BPF_CORE_READ(mnt, mnt_root) && dentry != parent) {
		r = path_name(w, dentry, parent);
		w->dentry = (__u64)parent;
		return r;
	}
	if (dentry != BPF_CORE_READ(mnt, mnt_root)) {
		/* Its own parent, but not the root of a file system: the file was never in a directory. */
		w->record.path_flags |= FILE_NAMELESS;
		r = path_name(w, dentry, parent);
		return r == PATH_GOES_ON ? PATH_ENDS : r;
	}
	mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	above = BPF_CORE_READ(mount, mnt_parent);
	if (above == mount) {
		w->record.path_flags |= FILE_OUTSIDE;
		return PATH_ENDS;
	}
	w->dentry = (__u64)BPF_CORE_READ(mount, mnt_mountpoint);
	w->mnt = (__u64)above + bpf_core_field_offset(struct mount, mnt);
	return PATH_GOES_ON;
}

/* Whether descriptor and name still refer to the same file. */
static __always_inline bool path_is_same(const struct path_walk *w, __u64 fd)
{
	struct file *file = (struct file *)w->file;
	struct dentry *dentry = (struct dentry *)w->file_dentry;

	return descriptor_file(w->task, fd) == w->file && (__u64)BPF_CORE_READ(file, f_path.dentry) == w->file_dentry &&
	       (__u64)BPF_CORE_READ(file, f_path.mnt) == w->file_mnt &&
	       BPF_CORE_READ(file, f_inode, i_ino) == w->record.key.inode &&
	       (__u32)BPF_CORE_READ(dentry, d_name.hash_len) == w->record.key.name_hash;
}

/* Return: whether the path was read without a change meanwhile */
static __always_inline bool path_find(struct path_walk *w, __u64 fd)
{
	struct task_struct *task = (struct task_struct *)w->task;
	struct file *file = (struct file *)w->file;
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	int r = PATH_GOES_ON;

	w->dentry = w->file_dentry = (__u64)dentry;
	w->mnt = w->file_mnt = (__u64)BPF_CORE_READ(file, f_path.mnt);
	w->root_dentry = (__u64)BPF_CORE_READ(task, fs, root.dentry);
	w->root_mnt = (__u64)BPF_CORE_READ(task, fs, root.mnt);
	w->record.n_bytes = 0;
	w->record.path_flags = 0;
	if (!BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry)
		w->record.path_flags |= FILE_UNLINKED;
	for (int i = 0; i < PATH_STEPS && r == PATH_GOES_ON; i++)
		r = path_step(w);
	if (r == PATH_GOES_ON)
		w->record.path_flags |= FILE_CUT;
	return r != PATH_CHANGED && path_is_same(w, fd);
}

/* The user in whose slot it would be told has no path for this wait. */
static __always_inline int path_lost(__u32 slot)
{
	__sync_fetch_and_add(&share_losses_of(slot)->paths, 1);
	return 0;
}

/* Whether the users of a share may send another path in this second. CPUs that ask at the same moment may exceed it. */
static __always_inline bool path_has_budget(struct path_budget *budget, __u32 now_s)
{
	if (budget->second != now_s) {
		budget->second = now_s;
		budget->n_bytes = 0;
	}
	if (budget->n_bytes >= FILE_BYTES_PER_S)
		return false;
	__sync_fetch_and_add(&budget->n_bytes, FILE_RECORD_HEAD);
	return true;
}

/*
 * path_note() - send the path of a file, unless it was sent before
 * @wait:  its resource is the file
 * @slot: process whose owner is told the path
 * @task: address of the thread, which is off the CPU, in a system call on descriptor @fd
 * @place: enum path_place
 */
VERIFIED_ALONE int path_note(const struct thread_wait *wait, __u32 slot, __u64 task, __u64 fd, __u32 place)
{
	__u32 n, user, now_s = bpf_ktime_get_ns() / NS_IN_SECOND;
	struct path_budget *budget;
	const struct process_slot *s;
	struct file_key key = {};
	struct path_walk *w;
	__u32 *sent_s;
	__u64 unread;

	if (!wait)
		return 0;
	key.inode = wait->resource;
	key.device = wait->device;
	key.name_hash = wait->name_hash;
	key.tgid = BPF_CORE_READ((struct task_struct *)task, tgid);
	key.slot = slot;
	sent_s = bpf_map_lookup_elem(&files_sent, &key);
	if (sent_s && now_s - *sent_s < PATH_FRESH_S)
		return 0;
	s = bpf_map_lookup_elem(&slots, &slot);
	if (!s)
		return 0;
	user = share_user_now(s->uid, s->flags);
	budget = &path_budgets[share_index(slot, s)];
	w = bpf_map_lookup_elem(&path_walks, &place);
	if (!w)
		return 0;
	if (!path_has_budget(budget, now_s))
		return path_lost(slot);
	w->task = task;
	w->file = descriptor_file(task, fd);
	w->record.key = key;
	if (!w->file || !path_find(w, fd))
		return path_lost(slot);
	w->record.time_ns = bpf_ktime_get_ns();
	w->record.tgid = key.tgid;
	w->record.slot = slot;
	w->record.uid = user;
	w->record.type = RECORD_FILE;
	n = w->record.n_bytes;
	keep(n);
	if (n > FILE_PATH_BYTES)
		return 0;
	unread = calls_unread();
	if (!calls_have_room(unread, slot, FILE_RECORD_HEAD + n) ||
	    bpf_ringbuf_output(&calls, &w->record, FILE_RECORD_HEAD + n, calls_wake_flags(unread)))
		return path_lost(slot);
	__sync_fetch_and_add(&budget->n_bytes, n);
	(void)bpf_map_update_elem(&files_sent, &key, &now_s, BPF_ANY);
	return 0;
}
