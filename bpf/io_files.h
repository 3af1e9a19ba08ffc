// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Files of system calls: identities, by descriptor or by the path that a call names, and their paths, sent at the first
 * sight.
 */
#pragma once

#include "io_maps.h"

#define IO_FRESH_S 10 /* so long a path is told that is no more, at most */

static __always_inline __u64 mixed(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The address as a number: the verifier does not compute with pointers, but forgets those that were in a map. */
static __always_inline __u64 address_of(struct io_thread *t, const void *pointer)
{
	WRITE_ONCE(t->address, (__u64)pointer);
	return READ_ONCE(t->address);
}

/* Sends a path that was walked. @mode: of its file. Return: 1; 0: there is no room, the next call tries again */
static __always_inline int walked_send(struct path_walk *w, __u64 identity, __u32 mode)
{
	__u32 n = w->record.n_bytes, now_s = bpf_ktime_get_ns() / 1000000000;

	w->record.time_ns = identity;
	w->record.slot = mode;
	w->record.type = IO_RECORD_FILE;
	keep(n);
	if (n > FILE_PATH_BYTES || bpf_ringbuf_output(&io_ring, &w->record, FILE_RECORD_HEAD + n, BPF_RB_NO_WAKEUP)) {
		io_lose(IO_LOSS_PATHS);
		return 0;
	}
	(void)bpf_map_update_elem(&io_seen, &identity, &now_s, BPF_ANY);
	return 1;
}

/*
 * Walks the path of a file and sends it. Return: 1; 0 if it changed meanwhile or found no room: the next call tries
 * again
 */
VERIFIED_ALONE int io_file_send(__u64 fd, __u64 file_address, __u64 identity, __u32 place)
{
	struct path_walk *w = bpf_map_lookup_elem(&io_walks, &place);
	struct file *file = (struct file *)file_address;
	struct dentry *dentry;

	if (!w)
		return 0;
	dentry = BPF_CORE_READ(file, f_path.dentry);
	w->task = bpf_get_current_task();
	w->file = file_address;
	w->record.key.inode = BPF_CORE_READ(file, f_inode, i_ino);
	w->record.key.device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	w->record.key.name_hash = (__u32)BPF_CORE_READ(dentry, d_name.hash_len);
	if (!path_find(w, fd)) {
		io_lose(IO_LOSS_PATHS);
		return 0;
	}
	return walked_send(w, identity, BPF_CORE_READ(file, f_inode, i_mode));
}

/* What stays the same as long as the file has its name there. */
static __always_inline __u64 file_identity_of(struct task_struct *task, struct io_thread *t, __u64 address)
{
	struct file *file = (struct file *)address;
	struct fs_struct *fs = task->fs;
	struct inode *inode;
	struct dentry *dentry;
	__u64 hash = io_key[0] ^ 1;

	if (bpf_ksym_exists_(bpf_rdonly_cast)) {
		file = bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct file));
		dentry = file->f_path.dentry;
		inode = file->f_inode;
		if (!dentry || !inode || !inode->i_sb)
			return 0;
		hash = mixed(hash, address_of(t, dentry));
		hash = mixed(hash, address_of(t, file->f_path.mnt));
		hash = mixed(hash, dentry->d_name.hash_len);
		hash = mixed(hash, inode->i_ino);
		hash = mixed(hash,
			     (__u64)inode->i_sb->s_dev << 32 | ((struct inode___generation *)inode)->i_generation);
	} else {
		dentry = BPF_CORE_READ(file, f_path.dentry);
		inode = BPF_CORE_READ(file, f_inode);
		hash = mixed(hash, (__u64)dentry);
		hash = mixed(hash, (__u64)BPF_CORE_READ(file, f_path.mnt));
		hash = mixed(hash, BPF_CORE_READ(dentry, d_name.hash_len));
		hash = mixed(hash, BPF_CORE_READ(inode, i_ino));
		hash = mixed(hash, (__u64)BPF_CORE_READ(inode, i_sb, s_dev) << 32 |
					   BPF_CORE_READ((struct inode___generation *)inode, i_generation));
	}
	return fs ? mixed(hash, address_of(t, fs->root.dentry)) : hash;
}

/* Return: the identity of the file behind a descriptor, whose path the daemon knows if it could be read; 0: no file */
static __always_inline __u64 file_find(struct task_struct *task, struct io_thread *t, __u32 fd, __u32 place)
{
	struct files_struct *files = task->files;
	struct fdtable *fdt = files ? files->fdt : NULL;
	struct file *file = NULL;
	__u64 identity;
	__u32 *sent_s;

	if (!fdt || fd >= fdt->max_fds)
		return 0;
	if (bpf_probe_read_kernel(&file, sizeof(file), &fdt->fd[fd]) || !file)
		return 0;
	identity = file_identity_of(task, t, (__u64)file);
	if (identity == t->last_file)
		return identity;
	sent_s = bpf_map_lookup_elem(&io_seen, &identity);
	if (sent_s && (__u32)(bpf_ktime_get_ns() / 1000000000) - *sent_s < IO_FRESH_S)
		t->last_file = identity;
	else if (io_file_send(fd, (__u64)file, identity, place))
		t->last_file = identity;
	return identity;
}

/* ---- paths that calls name ---- */

#define AT_FDCWD (-100)
#define S_IFDIR 0040000

/* Sends the path of the working directory. Return: as io_file_send() */
VERIFIED_ALONE int io_directory_send(__u64 identity, __u32 place)
{
	struct path_walk *w = bpf_map_lookup_elem(&io_walks, &place);
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fs_struct___pwd *fs = (struct fs_struct___pwd *)BPF_CORE_READ(task, fs);
	struct dentry *dentry = BPF_CORE_READ(fs, pwd.dentry);

	if (!w)
		return 0;
	w->task = (__u64)task;
	w->record.key.inode = 0;
	w->record.key.device = 0;
	if (!path_climb(w, dentry, BPF_CORE_READ(fs, pwd.mnt)) || BPF_CORE_READ(fs, pwd.dentry) != dentry) {
		io_lose(IO_LOSS_PATHS);
		return 0;
	}
	return walked_send(w, identity, S_IFDIR);
}

static __always_inline bool was_sent(__u64 identity)
{
	const __u32 *sent_s = bpf_map_lookup_elem(&io_seen, &identity);

	return sent_s && (__u32)(bpf_ktime_get_ns() / 1000000000) - *sent_s < IO_FRESH_S;
}

/* Return: the identity of the working directory, whose path was sent; 0: it could not be */
static __always_inline __u64 directory_find(__u32 place)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fs_struct___pwd *fs = (struct fs_struct___pwd *)BPF_CORE_READ(task, fs);
	struct dentry *dentry = BPF_CORE_READ(fs, pwd.dentry);
	__u64 hash = mixed(io_key[0] ^ 2, (__u64)dentry);

	hash = mixed(hash, (__u64)BPF_CORE_READ(fs, pwd.mnt));
	hash = mixed(hash, BPF_CORE_READ(dentry, d_name.hash_len));
	hash = mixed(hash, (__u64)BPF_CORE_READ(task, fs, root.dentry));
	return was_sent(hash) || io_directory_send(hash, place) ? hash : 0;
}

#define ROTATE(x, n) ((x) << (n) | (x) >> (64 - (n)))

static __always_inline void sip_round(__u64 v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] = ROTATE(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[2] = ROTATE(v[2], 32);
}

static __always_inline void sip_word(__u64 v[4], __u64 word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

/*
 * Mixes the text of the buffer into its identity, for one user: who chooses a path must not find another one's that has
 * the same. So this is SipHash-1-3, with a key. @n: bytes with the NUL; zeros follow up to the next word
 */
VERIFIED_ALONE int io_text_hash(__u32 n, __u32 place)
{
	struct io_name_room *room = bpf_map_lookup_elem(&io_names, &place);
	__u64 v[4] = { io_key[0] ^ 0x736f6d6570736575ull, io_key[1] ^ 0x646f72616e646f6dull,
		       io_key[0] ^ 0x6c7967656e657261ull, io_key[1] ^ 0x7465646279746573ull };

	if (!room)
		return 0;
	sip_word(v, room->record.name);
	sip_word(v, (__u64)(__u32)bpf_get_current_uid_gid() << 32 | n);
	for (__u32 i = 0; i < FILE_PATH_BYTES / 8; i++) {
		if (i * 8 >= n)
			break;
		sip_word(v, room->record.words[i]);
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	room->record.name = v[0] ^ v[1] ^ v[2] ^ v[3];
	return 1;
}

/*
 * Finds the identity of the path that the current thread's call names, and sends the path at the first sight. Return:
 * 1: it is in the thread's state; 0: it cannot be read, or not yet
 */
VERIFIED_ALONE int io_name_find(__u64 path, __s32 directory, __u32 place)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_thread *t = bpf_task_storage_get(&io_threads, task, 0, 0);
	struct io_name_room *room = bpf_map_lookup_elem(&io_names, &place);
	__u64 base = 0, hash;
	__u32 n, now_s;
	long read;

	if (!t || !room)
		return 0;
	read = bpf_probe_read_user_str(room->record.text, FILE_PATH_BYTES, (const void *)path);
	if (read <= 0)
		return 0;
	n = (__u32)read & (2 * FILE_PATH_BYTES - 1);
	if (n > FILE_PATH_BYTES)
		return 0;
	for (__u32 i = 0; i < 8; i++)
		room->record.text[n + i] = '\0';
	if (n == 1) {
		t->file = directory >= 0 ? file_find(task, t, directory, place) : 0;
		return 1;
	}
	if (room->record.text[0] != '/') {
		base = directory == AT_FDCWD ? directory_find(place) : file_find(task, t, directory, place);
		if (!base)
			return 1;
	}
	room->record.name = mixed(mixed(3, base), address_of(t, task->fs ? task->fs->root.dentry : NULL));
	(void)io_text_hash(n, place);
	hash = room->record.name;
	t->file = hash;
	if (was_sent(hash))
		return 1;
	room->record.type = IO_RECORD_NAME;
	room->record.base = base;
	room->record.n_bytes = n;
	keep(n);
	if (n > FILE_PATH_BYTES ||
	    bpf_ringbuf_output(&io_ring, &room->record, IO_NAME_RECORD_HEAD + n, BPF_RB_NO_WAKEUP)) {
		io_lose(IO_LOSS_PATHS);
		return 1;
	}
	now_s = bpf_ktime_get_ns() / 1000000000;
	(void)bpf_map_update_elem(&io_seen, &hash, &now_s, BPF_ANY);
	return 1;
}
