// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Identity of a mapped file. For a file on an overlay: the file in the lower layer, which the kernel maps and puts
 * probes on; all containers on that layer share it.
 */
#pragma once

#include "kernel.h"
#include "record.h"

#define I_CTIME_NS 0x7fffffffu /* from 6.13 the highest bit means "queried"; include/linux/fs.h */

static __always_inline void file_identity_fill(struct vm_area_struct *vma, struct file_identity *ret)
{
	struct file *file = vma->vm_file;
	struct super_block *sb;
	struct inode *inode;

	if (!file)
		return;
	inode = file->f_inode;
	if (!inode)
		return;
	sb = inode->i_sb;
	if (!sb)
		return;
	ret->device = (__u64)(sb->s_dev >> MINOR_BITS) << 32 | (sb->s_dev & ((1u << MINOR_BITS) - 1));
	ret->inode = inode->i_ino;
	ret->bytes = (__u64)inode->i_size;
	if (bpf_core_field_exists(((struct inode___split *)0)->i_ctime_sec)) {
		struct inode___split *split = (void *)inode;

		ret->change_s = split->i_ctime_sec;
		ret->change_ns = split->i_ctime_nsec & I_CTIME_NS;
	} else if (bpf_core_field_exists(((struct inode___hidden *)0)->__i_ctime)) {
		struct inode___hidden *hidden = (void *)inode;

		ret->change_s = hidden->__i_ctime.tv_sec;
		ret->change_ns = (__u32)hidden->__i_ctime.tv_nsec;
	} else if (bpf_core_field_exists(((struct inode___plain *)0)->i_ctime)) {
		struct inode___plain *plain = (void *)inode;

		ret->change_s = plain->i_ctime.tv_sec;
		ret->change_ns = (__u32)plain->i_ctime.tv_nsec;
	}
}
