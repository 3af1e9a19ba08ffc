// SPDX-License-Identifier: Apache-2.0
/* Causes of findings without a detector of their own: work or waits of a process between its calls. */
#pragma once

#include <stdint.h>

#include "bpf/record.h"

enum cause_number {
	CAUSE_LOADER,
	CAUSE_DISK,
	CAUSE_LOCK,
	CAUSE_GIL,
	CAUSE_MEMORY,
	CAUSE_NETWORK,
	CAUSE_TOOL,
	CAUSE_CHECKPOINT,
	CAUSE_READER,
	CAUSE_STOPPED,
	CAUSE_PYTHON, /* on the CPU, as are the next four */
	CAUSE_KERNEL,
	CAUSE_GC,
	CAUSE_LAUNCHES,
	CAUSE_SYNCS,
	CAUSE_COUNT
};

/* Where a cause has other levels than its detector: as struct detector has them. */
struct cause_levels {
	double noise_ratio;
	uint64_t open_lost_ns;
	uint64_t open_present_ns; /* however much is lost */
	double medium_ratio;	  /* nothing is worse */
	uint64_t medium_lost_ns;
};

struct cause {
	const char *kind;		   /* as clients get it; one pointer for each cause */
	const char *title;		   /* behind the process's name */
	enum blame_class takes;		   /* class whose time it takes; BLAME_ON_CPU: several */
	const char *behind;		   /* before the processes to blame; NULL: none ever is */
	const char *many;		   /* instead of .behind, where it is one of many processes; NULL: the same */
	const char *own;		   /* where no process is known */
	const struct cause_levels *levels; /* NULL: its detector's */
};

/** cause_get() - row by number, below CAUSE_COUNT */
const struct cause *cause_get(enum cause_number number);
/** cause_find() - row by kind; NULL: none */
const struct cause *cause_find(const char *kind);
