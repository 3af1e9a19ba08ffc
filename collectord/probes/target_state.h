// SPDX-License-Identifier: Apache-2.0
/*
 * State of the set of libraries, shared by its files: target.c handles events and keeps the lists, target_scan.c scans
 * processes.
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
	struct target_file *file; /* borrowed from the set, which keeps it until it is settled */
	size_t i_candidate;	  /* index of the candidate with this file */
	bool is_wanted;
};

struct scan {
	struct scan *next;
	uint32_t tgid;
	struct owner owner;
	int process_fd;
	target_done_func done;
	void *data;
	struct target_load load; /* load that caused the scan; time_ns 0: none, or the process is held */
	uint64_t started_ns;
	bool is_told;	 /* `done` was called */
	bool has_own;	 /* the program itself has a Python interpreter */
	bool has_unread; /* a Python interpreter was found that is not understood */
	bool is_judged;	 /* the loaded file was found: whether it was late is decided */
	size_t i_next;	 /* index of the next candidate to examine */
	struct target_candidates candidates;
	ARRAY(struct awaited) awaited;
};

/* A question to the parser; outlives the set if that closes first. */
struct ask {
	struct ask *next;
	struct target_set *set; /* NULL once the set is closed */
	struct target_file *file;
};

struct target_set {
	struct target_lates lates;
	uint64_t looked_ns;    /* when unused files were last searched */
	ARRAY(uint32_t) later; /* processes to scan within a second, if they still run */
	ARRAY(uint32_t) soon;  /* processes to scan again after the current round */
	struct child *parser;  /* borrowed */
	target_found_func found;
	void *data;
	int proc_fd;
	uint64_t memory_device; /* from target_memory_device() */
	uint64_t n_scans;
	struct scan *scans;
	struct ask *asks;
	size_t n_asking;
	struct target_files files;
	struct target_processes processes;
	struct target_memory memory;
	size_t i_recall; /* index of the next remembered file to attach */
	bool keeps;	 /* remembered files stay attached, see target_set_keep() */
	bool is_full_told;
	bool is_pumping;
	bool is_pumped_again; /* a callback has started another scan */
};

/* target_scan.c */

/**
 * target_scan_start() - start a scan of a process
 * @load: load that caused it, NULL: none
 * Return: 0; -ESRCH if the process is gone; -errno. `done` is called in any case.
 */
int target_scan_start(struct target_set *set, uint32_t tgid, const struct target_load *load, target_done_func done,
		      void *data);
/** target_scan_pump() - advance all scans as far as possible. Callbacks may start scans meanwhile. */
void target_scan_pump(struct target_set *set);
/** target_scan_recall() - attach remembered files, as many as the parser takes at once */
void target_scan_recall(struct target_set *set);
/** target_scan_close() - call `done` of running scans; do not wait for answers of the parser */
void target_scan_close(struct target_set *set);
