// SPDX-License-Identifier: Apache-2.0
/*
 * Causes of findings that are not detectors themselves: what a process can do or wait for between its calls.
 */
#pragma once

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
	CAUSE_PYTHON, /* on the CPU */
	CAUSE_COUNT
};

struct cause {
	const char *kind;	/* as clients get it; one pointer for each cause */
	const char *title;	/* behind the process's name */
	enum blame_class takes; /* class whose time it takes; BLAME_ON_CPU: several */
	const char *behind;	/* before the processes to blame; NULL: none ever is */
	const char *own;	/* where no process is known */
};

/** cause_get() - row by number, below CAUSE_COUNT */
const struct cause *cause_get(enum cause_number number);
/** cause_find() - row by kind; NULL: there is none */
const struct cause *cause_find(const char *kind);
