// SPDX-License-Identifier: Apache-2.0
/*
 * The set of libraries as the files that keep it share it: target.c has what comes in and the lists, target_scan.c
 * the looks at processes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "probes/target.h"
#include "probes/target_candidate.h"
#include "probes/target_file.h"
#include "probes/target_late.h"
#include "probes/target_memory.h"
#include "probes/target_process.h"

struct awaited {
	struct target_file *file; /* borrowed from the set, which keeps it while it is not settled */
	size_t i_candidate;	  /* whose file it is */
	bool is_wanted;
};

struct scan {
	struct scan *next;
	uint32_t tgid;
	struct owner owner;
	int process_fd;
	target_done_func done;
	void *data;
	struct target_load load; /* that it is for; time_ns 0: none, or the process does not go on meanwhile */
	uint64_t started_ns;
	bool is_told;	/* done was called */
	bool is_judged; /* what was loaded was met: whether that was late is known */
	size_t i_next;	/* candidate to look at next */
	struct target_candidates candidates;
	ARRAY(struct awaited) awaited;
};

/* A question on its way; outlives the set if that closes first. */
struct ask {
	struct ask *next;
	struct target_set *set; /* NULL once that is closed */
	struct target_file *file;
};

struct target_set {
	struct target_lates lates;
	uint64_t looked_ns;    /* for files that nobody maps any more */
	ARRAY(uint32_t) later; /* processes to look at within a second, if they live so long */
	ARRAY(uint32_t) soon;  /* processes to look at once more, when the scans that go on are advanced */
	struct child *parser;  /* borrowed */
	target_found_func found;
	void *data;
	int proc_fd;
	uint64_t memory_device; /* as target_memory_device() says */
	uint64_t n_scans;
	struct scan *scans;
	struct ask *asks;
	size_t n_asking;
	struct target_files files;
	struct target_processes processes;
	struct target_memory memory;
	size_t i_recall; /* of what is remembered, the next to be attached */
	bool keeps;	 /* what is remembered, whoever maps it */
	bool is_full_told;
	bool is_pumping;
	bool is_pumped_again; /* a callback started another scan meanwhile */
};

/* target_scan.c */

/**
 * target_scan_start() - look at what a process maps
 * @load: that it is for, NULL: none
 * Return: 0; -ESRCH when the process is gone; -errno. done is called in any case.
 */
int target_scan_start(struct target_set *set, uint32_t tgid, const struct target_load *load, target_done_func done,
		      void *data);
/** target_scan_pump() - everything that can be done now. Callbacks from in here may start scans. */
void target_scan_pump(struct target_set *set);
/** target_scan_recall() - attach files that are remembered, as many as the parser takes at once */
void target_scan_recall(struct target_set *set);
/** target_scan_close() - those under way are told they are done; what is asked is no more waited for */
void target_scan_close(struct target_set *set);
