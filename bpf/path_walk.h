// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The walk from an open file up to the root of a process, or to the root of its mount namespace: the components of its
 * path.
 *
 * Without locks: a name is used only if its directory entry was unchanged before and after the read, and the path only
 * if the descriptor still refers to the same file at the end. Every read may fail without harm.
 */
#pragma once

#include "kernel.h"
#include "record.h"

#define PATH_STEPS 256

struct path_walk {
	__u64 task;			   /* kernel address; so are the next seven members */
	__u64 dentry, mnt;		   /* the current step */
	__u64 root_dentry, root_mnt;	   /* of the process */
	__u64 file, file_dentry, file_mnt; /* the start of the walk */
	struct file_record record;
	char spare[FILE_NAME_BYTES]; /* room after the text: the verifier does not know where a name ends */
};

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

/* Climbs from a directory entry and a mount. Return: whether each name was unchanged while it was read */
static __always_inline bool path_climb(struct path_walk *w, struct dentry *dentry, struct vfsmount *mnt)
{
	struct task_struct *task = (struct task_struct *)w->task;
	int r = PATH_GOES_ON;

	w->dentry = w->file_dentry = (__u64)dentry;
	w->mnt = w->file_mnt = (__u64)mnt;
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
	return r != PATH_CHANGED;
}

/* Return: whether the path was read without a change meanwhile */
static __always_inline bool path_find(struct path_walk *w, __u64 fd)
{
	struct file *file = (struct file *)w->file;

	return path_climb(w, BPF_CORE_READ(file, f_path.dentry), BPF_CORE_READ(file, f_path.mnt)) &&
	       path_is_same(w, fd);
}
