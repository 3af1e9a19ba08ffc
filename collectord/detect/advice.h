// SPDX-License-Identifier: Apache-2.0
/*
 * What to do about lost time: the same words from a detector and for a delay that is no finding.
 *
 * The reader is taken for the owner of the process that waits. No CPU is named: which ones both processes may use is
 * not known here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define ADVICE_CPU_MAX 2
#define ADVICE_BYTES 192

struct advice_cpu {
	char text[ADVICE_CPU_MAX][ADVICE_BYTES]; /* the most useful first */
	size_t n;
};

struct advice_task {
	uint32_t pid; /* 0: no single process */
	uint32_t uid;
	const char *comm; /* needs no NUL behind 16 bytes */
};

/** advice_class() - the remedy of bpf/blame.def; NULL: none follows from the class alone */
const char *advice_class(enum blame_class class);
/**
 * advice_cpu() - for a process that waits for the CPU
 * @behind: the process that ran meanwhile
 * @n_cpus: of the machine; 0: not known
 */
struct advice_cpu advice_cpu(const struct advice_task *victim, const struct advice_task *behind, uint32_t n_cpus);
