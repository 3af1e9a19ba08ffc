// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The two searches before a step of unwinding, for the kernel half and the daemon: mapping of an address, row of an
 * offset. Without branches and with a fixed number of steps: a verifier follows one path. And what tells mappings from
 * others at the same place.
 */
#pragma once

#include "stack_record.h"

#ifdef __bpf__
#define UNWIND_INLINE static __always_inline
#else
#define UNWIND_INLINE static inline
#endif

/* A value that the compiler knows nothing of: it makes no branch of it. */
#define UNWIND_KEEP(x) __asm__ volatile("" : "+r"(x))

/* All ones if a value below 2^63 is negative, else 0. */
UNWIND_INLINE __u64 unwind_if_negative(__u64 value)
{
	UNWIND_KEEP(value);
	return (__u64)((__s64)value >> 63);
}

/* ---- which mappings they are ---- */

/* Adds a word to a hash; 0 is the hash of nothing. */
UNWIND_INLINE __u64 unwind_hash(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/*
 * Which part of which file a mapping has: hash of its place in the file, bytes, and of all that identifies the file:
 * the number of one that was removed may be given to the next. Never 0.
 */
UNWIND_INLINE __u64 unwind_mapping_file(__u64 offset, const struct file_identity *file)
{
	__u64 hash = unwind_hash(unwind_hash(unwind_hash(1, offset), file->device), file->inode);

	return unwind_hash(unwind_hash(unwind_hash(hash, file->bytes), file->change_s), file->change_ns) | 1;
}

/* Hash of mappings, one added after the other, ascending. @all: of those before; 0: none */
UNWIND_INLINE __u64 unwind_mapping_add(__u64 all, __u64 start, __u64 end, __u64 file)
{
	return unwind_hash(unwind_hash(unwind_hash(all, start), end), file) | 2;
}

/* ---- searches ---- */

/* Index of the last mapping that starts at or below an address; 0 if none does. */
UNWIND_INLINE __u32 unwind_mapping_find(const struct stack_maps *maps, __u64 address)
{
	__u64 n = maps->n, at = 0, next, beyond;

	_Pragma("GCC unroll 8") for (__u64 step = STACK_MAPPINGS_MAX / 2; step; step /= 2)
	{
		next = at + step;
		beyond = (address - maps->mappings[next & (STACK_MAPPINGS_MAX - 1)].start) | (n - 1 - next);
		at += step & ~unwind_if_negative(beyond);
		UNWIND_KEEP(at);
	}
	return at & (STACK_MAPPINGS_MAX - 1);
}

/* Rule of an offset in a page. @rows: the block with all rows of the page, n from `first` on, at least 1 */
UNWIND_INLINE __u32 unwind_row_rule(const __u32 *rows, __u64 first, __u64 n, __u64 offset)
{
	__u64 at = 0, next, beyond;

	_Pragma("GCC unroll 10") for (__u64 step = UNWIND_BLOCK / 2; step; step /= 2)
	{
		next = at + step;
		beyond = (offset - UNWIND_ROW_OFFSET(rows[(first + next) & (UNWIND_BLOCK - 1)])) | (n - 1 - next);
		at += step & ~unwind_if_negative(beyond);
		UNWIND_KEEP(at);
	}
	return UNWIND_ROW_RULE(rows[(first + at) & (UNWIND_BLOCK - 1)]);
}
