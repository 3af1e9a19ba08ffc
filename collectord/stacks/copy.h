// SPDX-License-Identifier: Apache-2.0
/* Unwinds a copy of stack memory, by the same step as the kernel half (bpf/unwind_step.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/stack_record.h"

struct process_maps;
struct stack_file;

/* A page whose rules are missing. */
struct copy_wait {
	struct stack_file *file; /* borrowed from the mappings; NULL: none is missing */
	uint32_t page;
};

/**
 * copy_unwind() - unwind from the registers and the memory of a record
 * @record: native[0] is kept, the others are written, n_native and native_end, too
 * @maps: mappings that hold for the record
 * @wait: all 0 at first, kept between calls: nothing is unwound before the rules that the last call missed are there
 * Return: whether it went as far as it can; false: rules are missing, which are wanted now (rules_want())
 */
bool copy_unwind(struct stack_record *record, const struct process_maps *maps, struct copy_wait *wait);
/** copy_want_all() - want the rules of every page of code that the memory seems to point to */
void copy_want_all(const struct stack_record *record, const struct process_maps *maps);
/**
 * copy_rule() - the rule that holds at an address
 * Return: the rule; 0: not known
 */
uint32_t copy_rule(const struct process_maps *maps, uint64_t address);
