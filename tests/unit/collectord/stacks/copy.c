// SPDX-License-Identifier: Apache-2.0
/*
 * A copy of a stack whose rules come one after another: what is wanted, and that nothing is unwound before what was
 * missing is there. One mapping of one file; each frame has one word of the stack.
 */
#include "stacks/copy.h"

#include "base/array.h"
#include "probes/probe_stacks.h"
#include "stacks/process_maps.h"
#include "stacks/rules.h"
#include "stacks/stack_file.h"
#include "tests/support/check.h"

#define START 0x10000u
#define PAGES 8u
#define STACK 0x7000u
#define FRAMES 3
#define ADDRESS(page) (START + ((page) << UNWIND_PAGE_SHIFT) + 16)

/* --- the file and its table --- */

static uint32_t entries[PAGES], wanted; /* the latter by page, a bit each */
static size_t n_found;			/* mappings that were looked for */

static struct process_maps process_maps = { .n = 1 };
static struct process_map only = { .start = START, .end = START + (PAGES << UNWIND_PAGE_SHIFT), .first_page = 1 };

const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
	(void)maps;
	n_found++;
	return address - only.start < only.end - only.start ? &only : NULL;
}

struct probe_set *process_maps_probes(const struct process_maps *maps)
{
	(void)maps;
	return NULL;
}

struct probe_set *stack_files_probes(const struct stack_files *files)
{
	(void)files;
	return NULL;
}

uint32_t rules_page(const struct stack_file *file, uint32_t page)
{
	(void)file;
	return entries[page];
}

void rules_want(struct stack_file *file, uint32_t page)
{
	(void)file;
	wanted |= 1u << page;
}

/* All code keeps nothing on the stack but return addresses. */
const uint32_t *probe_stacks_rows(const struct probe_set *set, uint32_t row)
{
	static const uint32_t rows[UNWIND_BLOCK] = { [1] = UNWIND_ROW(0, UNWIND_RULE(0, UNWIND_SLOT_UNCHANGED, 1)) };

	(void)set, (void)row;
	return rows;
}

const struct unwind_side *probe_stacks_side(const struct probe_set *set, uint32_t idx)
{
	(void)set, (void)idx;
	return NULL;
}

/* --- the table --- */

#define KNOWN UNWIND_PAGE_ENTRY(1, 1)

static const struct {
	const char *name;
	uint32_t page, entry; /* of which this becomes known */
	bool is_done;
	uint32_t wanted;
	bool looks; /* something is unwound */
} steps[] = {
	{ "nothing is known", 0, UNWIND_PAGE_UNKNOWN, false, 1u << 1, true },
	{ "still nothing", 0, UNWIND_PAGE_UNKNOWN, false, 1u << 1, false },
	{ "asked", 1, UNWIND_PAGE_ASKED, false, 1u << 1, false },
	{ "a page that is not the missing one", 3, KNOWN, false, 1u << 1, false },
	{ "the missing one", 1, KNOWN, false, 1u << 2, true },
	{ "the place of the next one was taken away", 2, UNWIND_PAGE_UNKNOWN, false, 1u << 2, false },
	{ "the last one", 2, KNOWN, true, 0, true },
};

/* Frames in the pages 1, 2 and 3. */
int main(void)
{
	static _Alignas(struct stack_record) uint8_t room[sizeof(struct stack_record) + FRAMES * sizeof(uint64_t)];
	static const uint64_t words[FRAMES] = { ADDRESS(2), ADDRESS(3), 0 };
	struct stack_record *record = (struct stack_record *)room;
	struct copy_wait wait = { .file = NULL };

	only.file = (struct stack_file *)&process_maps; /* any */
	record->ip = ADDRESS(1);
	record->sp = STACK;
	record->n_memory = sizeof(words);
	memcpy(record->memory, words, sizeof(words));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		entries[steps[i].page] = steps[i].entry;
		wanted = 0;
		n_found = 0;
		CHECK_INT_EQ(steps[i].name, copy_unwind(record, &process_maps, &wait), steps[i].is_done);
		CHECK_INT_EQ(steps[i].name, wanted, steps[i].wanted);
		CHECK_INT_EQ(steps[i].name, n_found > 0, steps[i].looks);
	}
	CHECK_INT_EQ("frames", record->n_native, FRAMES + 1);
	CHECK_INT_EQ("to the end", record->native_end, STACK_END_COMPLETE);
	CHECK_INT_EQ("the outermost", record->native[FRAMES].ip, ADDRESS(3));
	return check_result();
}
