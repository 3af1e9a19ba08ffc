// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The executable mappings of processes, for unwinding.
 */
#pragma once

#include "maps.h"
#include "stack_record.h"

/* Written by the daemon; removed at exec and exit. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACK_PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct stack_maps);
} stack_maps SEC(".maps");
