// SPDX-License-Identifier: Apache-2.0
#include "no_kernel.h"

#include "bpf/stack_record.h"
#include "probes/probe_set.h"
#include "probes/probe_stacks.h"

size_t no_kernel_resets;

uint32_t probe_stacks_page(const struct probe_set *set, uint32_t page)
{
	(void)set, (void)page;
	return UNWIND_PAGE_UNKNOWN;
}

void probe_stacks_page_put(struct probe_set *set, uint32_t page, uint32_t entry)
{
	(void)set, (void)page, (void)entry;
}

int probe_stacks_rows_put(struct probe_set *set, uint32_t first, const uint32_t *rows, size_t n)
{
	(void)set, (void)first, (void)rows, (void)n;
	return 0;
}

void probe_stacks_side_put(struct probe_set *set, uint32_t idx, const struct unwind_side *side)
{
	(void)set, (void)idx, (void)side;
}

void probe_stacks_reset(struct probe_set *set)
{
	(void)set;
	no_kernel_resets++;
}

int probe_stacks_process(const struct probe_set *set, uint32_t tgid, struct probe_stacks_process *ret_process)
{
	(void)set, (void)tgid;
	*ret_process = (struct probe_stacks_process){ .exec_gen = 0 };
	return 0;
}

int probe_set_mapped(struct probe_set *set, uint32_t tgid, struct mapped_record *ret, size_t room)
{
	(void)set, (void)tgid, (void)ret, (void)room;
	return 0;
}
