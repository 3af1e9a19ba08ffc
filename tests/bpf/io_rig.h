// SPDX-License-Identifier: Apache-2.0
/* The kernel half of `ingero io`, with one lease on one process: what it reports until the rig is closed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "bpf/io_record.h"
#include "io/io_book.h"
#include "io/io_files.h"
#include "io/io_set.h"

struct io_rig {
	struct io_set *set;
	struct ring_map *ring;
	struct io_files *files;
	struct io_book book;
	ARRAY(struct io_call_record) calls;
	uint64_t n_files; /* records of paths */
	void (*on_file)(const struct file_record *file, void *data);
	void *data;
};

/** io_rig_open() - load and attach; without privilege the test ends with 77 */
void io_rig_open(struct io_rig *rig);
void io_rig_close(struct io_rig *rig);
/** io_rig_trace() - trace a process. @lease: flags, and calls unless all */
void io_rig_trace(struct io_rig *rig, pid_t pid, struct io_lease lease);
/** io_rig_records() - take the records that are there */
void io_rig_records(struct io_rig *rig);
/** io_rig_read() - take records and figures so far */
void io_rig_read(struct io_rig *rig);
/** io_rig_path() - path of a file; "" if none is known */
const char *io_rig_path(const struct io_rig *rig, uint64_t file);
