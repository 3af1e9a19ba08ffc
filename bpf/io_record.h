// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What both halves of `ingero io` share: calls, rows of figures, records on its ring. */
#pragma once

#include "record.h"

enum io_object { IO_NOTHING, IO_FILE, IO_OPENED, IO_PATH };
enum io_bytes { IO_NO_BYTES, IO_READ, IO_WRITTEN, IO_MOVED };

#define IO_NO_ARGUMENT 6 /* behind the last of a system call */

/* Ids of calls: the rows of io_calls.def, from 1. */
enum io_call {
	IO_CALL_NONE,
#define IO_CALL(name, ...) IO_CALL_##name,
#include "io_calls.def"
	IO_CALL_COUNT
};
#define IO_CALL_IDS 128 /* room of tables by id */
_Static_assert(IO_CALL_COUNT <= IO_CALL_IDS, "ids of calls fit");

#define IO_LEASES 16	    /* callers of `ingero io` at once; a bit each */
#define IO_CELLS (4u << 10) /* rows of figures between two readings */
#define IO_RESTS (1u << 9)  /* rows for all further files of a call */
#define IO_RING_BYTES (4u << 20)
#define IO_RING_CALLS_BYTES (3u << 20) /* single calls leave the rest to processes and files */
#define IO_ERROR_MOST 4095	       /* MAX_ERRNO of the kernel */

/* Whether a lease may name a process or user: by its number, with others of the same remainder. */
#define IO_PID_MARKS 4096u
#define IO_UID_MARKS 1024u

/* What a caller wants: kept in the order of the bits of `leases`. */
#define IO_LEASE_ALL 0x1u    /* processes of everybody */
#define IO_LEASE_READ 0x2u   /* guarded processes and other users' processes, too */
#define IO_LEASE_EVENTS 0x4u /* a record of each call */

struct io_lease {
	__u32 flags;   /* IO_LEASE_* */
	__u32 uid;     /* of the caller */
	__u32 client;  /* process of the caller, which is never traced; 0: none */
	__u32 program; /* process that counts from its exec on; 0: none */
	__u64 min_ns;
	__u64 calls[IO_CALL_IDS / 64]; /* a bit for each call that counts */
	char comm[RECORD_COMM_BYTES];  /* only processes of this name; first byte 0: all */
};

/* One row: the calls of a process to a file that some leases count. */
struct io_key {
	__u32 process; /* number given at its first call */
	__u16 call;
	__u16 leases;
	__u64 file; /* identity; 0: none, or all further files */
};
_Static_assert(sizeof(struct io_key) == 16, "io_key is ABI between both halves");

/* Sums since the last reading. The number of calls is the sum of the buckets. */
struct io_cell {
	__u64 errors;
	__u64 bytes;
	__u64 total_ns;
	__u64 gap_ns; /* between the end of the thread's previous call and the call */
	__u64 max_ns;
	__u32 buckets[HISTOGRAM_BUCKETS];
};

enum io_loss { IO_LOSS_ROWS, IO_LOSS_EVENTS, IO_LOSS_PATHS, IO_LOSS_THREADS, IO_LOSS_COMPAT, IO_LOSS_COUNT };

enum io_record_type { IO_RECORD_PROCESS, IO_RECORD_FILE, IO_RECORD_NAME, IO_RECORD_CALL };

/* A process, before its first row; again when its leases change. Of the header: tgid, uid, flags, comm, type. */
struct io_process_record {
	RECORD_HEADER;
	__u64 start_boot_ns;
	__u32 process;
	__u32 leases;
};
_Static_assert(sizeof(struct io_process_record) == 64, "io_process_record is ABI between both halves");

/*
 * A file, before its first row, is a struct file_record: of the header `time_ns` is the identity of the file and `slot`
 * its mode (S_IFMT, permissions).
 */

/* A path as it was passed to a call, before its first row. Of the header: type. */
struct io_name_record {
	RECORD_HEADER;
	__u64 name; /* identity, in the rows in place of that of a file */
	__u64 base; /* identity of the directory that it begins at, whose record came before; 0: an absolute path */
	__u32 n_bytes;
	__u32 pad;
	union {
		char text[FILE_PATH_BYTES]; /* with its NUL; longer ones are cut */
		__u64 words[FILE_PATH_BYTES / 8];
	};
};
#define IO_RECORD_MOST (sizeof(struct file_record) + sizeof(struct io_name_record)) /* no record is as long */
#define IO_NAME_RECORD_HEAD __builtin_offsetof(struct io_name_record, text)
_Static_assert(IO_NAME_RECORD_HEAD == 72, "io_name_record is ABI between both halves");

/* One call of a lease with IO_LEASE_EVENTS. Of the header: start_ns, tgid, tid, type. */
struct io_call_record {
	RECORD_HEADER;
	__u64 duration_ns;
	__u64 gap_ns;
	__s64 ret;
	__u64 file;
	__u32 process;
	__s32 fd; /* -1: none */
	__u16 call;
	__u16 leases;
	__u32 pad;
};
_Static_assert(sizeof(struct io_call_record) == 96, "io_call_record is ABI between both halves");
