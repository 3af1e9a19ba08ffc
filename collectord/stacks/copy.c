// SPDX-License-Identifier: Apache-2.0
#include "stacks/copy.h"

#include <string.h>

#include "probes/probe_stacks.h"
#include "stacks/process_maps.h"
#include "stacks/rules.h"
#include "stacks/stack_file.h"

/* The memory of a record. */
struct copy_memory {
	const struct stack_record *record;
	struct probe_set *probes;
	bool is_beyond;		 /* a word behind the end of the copy was wanted */
	bool has_frame_pointers; /* a frame was found without a rule */
};

static int copy_word(struct copy_memory *m, __u64 address, __u64 *ret)
{
	__u64 at = address - m->record->sp;

	if (at % sizeof(*ret) || m->record->n_memory < sizeof(*ret) || at > m->record->n_memory - sizeof(*ret)) {
		m->is_beyond = address >= m->record->sp + m->record->n_memory;
		return -1;
	}
	memcpy(ret, m->record->memory + at, sizeof(*ret));
	return 0;
}

/* Only rules of the kernel half's own table are looked up here. */
static const struct unwind_side *copy_side(const struct copy_memory *m, __u32 i)
{
	return probe_stacks_side(m->probes, i);
}

static void copy_frame_pointer_used(struct copy_memory *m)
{
	(void)m;
}

#define UNWIND_MEMORY struct copy_memory
#define UNWIND_CODE_ADDRESS(word) (word)
#define unwind_word(m, address, ret) copy_word(m, address, ret)
#define unwind_saved(m, address, ret) copy_word(m, address, ret)
#define unwind_frame_pointer_used(m, r) copy_frame_pointer_used(m)
#define unwind_top(m) ((m)->record->sp + (m)->record->n_memory)
#define unwind_side(m, i) copy_side(m, i)
#include "bpf/unwind_step.h"

/* What is known of an address. */
enum copy_place {
	COPY_NOWHERE, /* no mapping has it */
	COPY_BARE,    /* no rule will be known */
	COPY_MISSING, /* the rule was not read yet */
	COPY_RULE,
};

static enum copy_place rule_find(const struct process_maps *maps, uint64_t address, struct stack_file **ret_file,
				 uint32_t *ret_page, uint32_t *ret_rule)
{
	const struct process_map *map = process_maps_find(maps, address);
	uint64_t at = map ? map->offset + (address - map->start) : 0;
	uint32_t entry, first, n;

	*ret_rule = 0;
	if (!map)
		return COPY_NOWHERE;
	if (!map->first_page)
		return COPY_BARE;
	*ret_file = map->file;
	*ret_page = (uint32_t)(at >> UNWIND_PAGE_SHIFT);
	entry = rules_page(map->file, *ret_page);
	if (entry <= UNWIND_PAGE_ASKED)
		return COPY_MISSING;
	if (entry == UNWIND_PAGE_BARE)
		return COPY_BARE;
	first = UNWIND_PAGE_FIRST(entry);
	n = UNWIND_PAGE_N(entry);
	*ret_rule = unwind_row_rule(probe_stacks_rows(stack_files_probes(map->file->files), first),
				    first % UNWIND_BLOCK, n, at % UNWIND_PAGE);
	return COPY_RULE;
}

uint32_t copy_rule(const struct process_maps *maps, uint64_t address)
{
	struct stack_file *file;
	uint32_t page, rule;

	return rule_find(maps, address, &file, &page, &rule) == COPY_RULE ? rule : 0;
}

/* One frame: its caller's registers. Return: as unwind_step(); STACK_END_RULE: its rule is wanted now */
static uint32_t copy_step(struct copy_memory *m, const struct process_maps *maps, struct unwind_registers *registers,
			  struct copy_wait *wait)
{
	struct stack_file *file = NULL;
	uint32_t page = 0, rule = 0, end;

	switch (rule_find(maps, registers->ip - !registers->is_exact, &file, &page, &rule)) {
	case COPY_NOWHERE:
		return STACK_END_CHANGED;
	case COPY_MISSING:
		*wait = (struct copy_wait){ file, page };
		rules_want(file, page);
		return STACK_END_RULE;
	case COPY_BARE:
		rule = UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0);
		break;
	case COPY_RULE:
		break;
	}
	if (UNWIND_RULE_SLOT(rule) == UNWIND_SLOT_ESCAPE && UNWIND_ESCAPE_KIND(rule) == UNWIND_FRAME_POINTER)
		m->has_frame_pointers = true;
	end = unwind_step(m, rule, registers);
	return end == STACK_END_UNREADABLE && m->is_beyond && m->record->n_memory == STACK_COPY_MAX ? STACK_END_LARGE
												    : end;
}

/* Wanted again: the page may have lost its place meanwhile. */
static bool wait_is_over(const struct copy_wait *wait)
{
	if (!wait->file || rules_page(wait->file, wait->page) > UNWIND_PAGE_ASKED)
		return true;
	rules_want(wait->file, wait->page);
	return false;
}

bool copy_unwind(struct stack_record *record, const struct process_maps *maps, struct copy_wait *wait)
{
	struct unwind_registers registers = { .ip = record->ip,
					      .sp = record->sp,
					      .frame_pointer = record->frame_pointer,
					      .is_exact = record->is_exact };
	struct copy_memory m = { .record = record, .probes = process_maps_probes(maps) };
	uint32_t n = 1, end = STACK_END_NONE;

	if (!wait_is_over(wait))
		return false;
	record->native[0].cfa = record->sp;
	while (end == STACK_END_NONE && n < STACK_NATIVE_MAX) {
		struct stack_native *frame = &record->native[n];

		frame->ip = registers.ip;
		end = copy_step(&m, maps, &registers, wait);
		if (end == STACK_END_RULE)
			return false;
		/* What no mapping has is no frame. */
		if (end == STACK_END_CHANGED)
			break;
		frame->cfa = end == STACK_END_NONE ? registers.sp : 0;
		n++;
	}
	record->n_native = (uint16_t)n;
	if (end == STACK_END_NONE)
		end = STACK_END_DEPTH;
	if (end == STACK_END_COMPLETE && m.has_frame_pointers)
		end = STACK_END_FRAME_POINTERS;
	record->native_end = (uint8_t)end;
	return true;
}

void copy_want_all(const struct stack_record *record, const struct process_maps *maps)
{
	struct stack_file *file;
	uint32_t page, rule;
	uint64_t word;

	for (uint32_t at = 0; at + sizeof(word) <= record->n_memory; at += sizeof(word)) {
		memcpy(&word, record->memory + at, sizeof(word));
		if (word && rule_find(maps, word - 1, &file, &page, &rule) == COPY_MISSING)
			rules_want(file, page);
	}
}
