// SPDX-License-Identifier: Apache-2.0
/* Causes of findings without a detector of their own: work or waits of a process between its calls. */
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
	const char *kind;	/* static text of the message; one pointer for each cause */
	const char *title;	/* text after the process's name */
	enum blame_class takes; /* class whose time it takes; BLAME_ON_CPU: several */
	const char *behind;	/* text before the culprits; NULL: never any */
	const char *own;	/* text without a known process */
};

/** cause_get() - row by number, below CAUSE_COUNT */
const struct cause *cause_get(enum cause_number number);
/** cause_find() - row by kind; NULL: none */
const struct cause *cause_find(const char *kind);
