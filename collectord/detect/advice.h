// SPDX-License-Identifier: Apache-2.0
/*
 * Remedies for lost time: the same words from a detector and for a delay that is no finding.
 *
 * The reader is assumed to own the waiting process. Only CPUs that a process may use are named.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define ADVICE_CPU_MAX 3
#define ADVICE_BYTES 192
/* Minimum share of a process to be one of several culprits. */
#define CULPRIT_LEAST_RATIO 0.05

struct advice_cpu {
	char text[ADVICE_CPU_MAX][ADVICE_BYTES]; /* the most useful first */
	size_t n;
};

struct advice_task {
	uint32_t pid; /* 0: no single process */
	uint32_t uid;
	const char *comm; /* needs no NUL behind 16 bytes */
	bool is_worker;	  /* it works for the waiting process: advice_is_worker() */
};

/* That processes may use. */
struct advice_affinity {
	bool is_known; /* else the rest is not set */
	cpu_set_t victim, behind;
};

/* How the scheduler weighs a process: its main thread, or the thread that waits. */
struct advice_priority {
	bool is_known; /* else the rest is not set */
	int policy;    /* SCHED_OTHER, SCHED_FIFO, ...: sched(7) */
	int nice;
};

/* Of the two processes, at the time of the report. */
struct advice_scheduling {
	struct advice_affinity affinity;
	struct advice_priority victim, behind;
	uint32_t n_others; /* other processes with a notable share of the CPU meanwhile */
};

/* The control group whose quota throttles a process. */
struct advice_quota {
	bool is_v1;	/* of a tree of version 1, whose file is cpu.cfs_quota_us */
	char path[256]; /* in its tree; "": unknown, or too long */
};

/** typedef advice_parent_func - look up the parent of a process. Return: 0 or -errno */
typedef int (*advice_parent_func)(uint32_t pid, uint32_t *ret_parent);
/**
 * advice_is_worker() - whether a process was started by another one, directly or through few others
 * @parent: NULL: nothing is known
 */
bool advice_is_worker(uint32_t pid, uint32_t of, advice_parent_func parent);
/** advice_class() - the remedy of bpf/blame.def; NULL: the class alone has none */
const char *advice_class(enum blame_class class);
/**
 * advice_cpu() - remedies for a process that waits for the CPU
 * @behind: the process that ran meanwhile; without a pid several ran, or nobody is known
 * @n_cpus: number of CPUs of the machine; 0: unknown
 */
struct advice_cpu advice_cpu(const struct advice_task *victim, const struct advice_task *behind, uint32_t n_cpus,
			     const struct advice_scheduling *scheduling);
