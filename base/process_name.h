// SPDX-License-Identifier: Apache-2.0
/* What a process is called, in every text: many programs are called python3, so its script tells it apart. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process_named {
	const char *name;   /* as the kernel has it; "": not known */
	const char *script; /* file or module that an interpreter runs; "": none */
	bool has_rank;	    /* it is one of several processes of a distributed run */
	uint32_t rank;
};

struct process_name {
	char text[128];
};

/** process_name_long() - "python3 train.py rank 3"; "?" where nothing is known */
struct process_name process_name_long(const struct process_named *process);
/** process_name_short() - "train.py rank 3", "python3"; "the process" where nothing is known */
struct process_name process_name_short(const struct process_named *process);
/** process_name_first() - the script, or else the name: one of the two */
const char *process_name_first(const struct process_named *process);
/** process_name_has_rank() - whether a rank tells processes apart. @world_size: of the run; 0: not known */
bool process_name_has_rank(bool is_known, uint32_t world_size);
/** process_name_is_python() - whether it is Python, by its name or its script. @name: needs no NUL behind 16 bytes */
bool process_name_is_python(const char *name, const char *script);
