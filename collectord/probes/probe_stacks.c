// SPDX-License-Identifier: Apache-2.0
/* Mappings of processes and rules of unwinding for the kernel half: bpf/unwind.h. */
#include "probes/probe_stacks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probes/probe_set_state.h"

/*
 * Only what is used of the two arrays is mapped, as of the cells (probe_figures.c). Whole pages on machines with pages
 * up to 64 KiB.
 */
#define UNWIND_STEP_BYTES (256u << 10)

/* Maps the first `bytes` of an array. Return: 0 or -errno */
static int words_map(struct unwind_words *words, const struct bpf_map *map, size_t bytes)
{
	size_t from = words->n_mapped;
	void *p;

	if (bytes <= from)
		return 0;
	if (!words->items) {
		p = mmap(NULL, words->n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		words->items = p;
	}
	bytes = MIN((bytes + UNWIND_STEP_BYTES - 1) / UNWIND_STEP_BYTES * UNWIND_STEP_BYTES, words->n_bytes);
	if (mmap((char *)words->items + from, bytes - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 bpf_map__fd(map), (off_t)from) == MAP_FAILED)
		return -errno;
	words->n_mapped = bytes;
	return 0;
}

static void words_unmap(struct unwind_words *words)
{
	if (words->items)
		(void)munmap(words->items, words->n_bytes);
	*words = (struct unwind_words){ .n_bytes = 0 };
}

int probe_set_unwind_open(struct probe_set *set)
{
	struct unwind_tables *u = &set->unwind;
	void *p;

	*u = (struct unwind_tables){
		.pages = { .n_bytes = UNWIND_PAGES * sizeof(uint32_t) },
		.rows = { .n_bytes = UNWIND_ROWS * sizeof(uint32_t) },
	};
	p = mmap(NULL, UNWIND_SIDES * sizeof(*u->sides), PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(set->bpf->maps.unwind_sides), 0);
	if (p == MAP_FAILED)
		return -errno;
	u->sides = p;
	return 0;
}

void probe_set_unwind_close(struct probe_set *set)
{
	struct unwind_tables *u = &set->unwind;

	words_unmap(&u->pages);
	words_unmap(&u->rows);
	if (u->sides)
		(void)munmap(u->sides, UNWIND_SIDES * sizeof(*u->sides));
	u->sides = NULL;
}

int probe_set_stacks_fd(const struct probe_set *set)
{
	return bpf_map__fd(set->bpf->maps.stacks);
}

/* ---- processes ---- */

int probe_stacks_process(const struct probe_set *set, uint32_t tgid, struct probe_stacks_process *ret_process)
{
	struct process_entry entry;

	if (bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.processes), &tgid, &entry))
		return -errno;
	*ret_process =
		(struct probe_stacks_process){ .exec_gen = entry.exec_gen, .loader_changes = entry.loader_changes };
	return 0;
}

int probe_stacks_maps_put(struct probe_set *set, uint32_t tgid, const struct stack_maps *maps)
{
	struct probe_stacks_process now = { .exec_gen = 0 };
	int r;

	if (bpf_map_update_elem(bpf_map__fd(set->bpf->maps.stack_maps), &tgid, maps, BPF_ANY))
		return -errno;
	/* The kernel half removes the list at exec and exit: one that comes after that would stay. */
	r = probe_stacks_process(set, tgid, &now);
	if (r == 0 && now.exec_gen == maps->exec_gen && now.loader_changes == maps->loader_changes)
		return 0;
	probe_stacks_maps_remove(set, tgid);
	return -ESTALE;
}

void probe_stacks_maps_remove(struct probe_set *set, uint32_t tgid)
{
	(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.stack_maps), &tgid);
}

void probe_stacks_forget(struct probe_set *set, uint32_t tgid, uint32_t exec_gen, uint64_t id)
{
	const struct stack_key key = { .id = id, .tgid = tgid, .exec_gen = exec_gen };

	(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.stacks_seen), &key);
	(void)__atomic_add_fetch(&set->bpf->bss->stacks_forgotten, 1, __ATOMIC_SEQ_CST);
}

/* ---- rules ---- */

static bool word_is_mapped(const struct unwind_words *words, uint32_t i)
{
	return i < words->n_mapped / sizeof(words->items[0]);
}

uint32_t probe_stacks_page(const struct probe_set *set, uint32_t page)
{
	const struct unwind_words *pages = &set->unwind.pages;

	return word_is_mapped(pages, page) ? __atomic_load_n(&pages->items[page], __ATOMIC_RELAXED)
					   : UNWIND_PAGE_UNKNOWN;
}

void probe_stacks_page_put(struct probe_set *set, uint32_t page, uint32_t entry)
{
	struct unwind_words *pages = &set->unwind.pages;

	if (page < UNWIND_PAGES &&
	    words_map(pages, set->bpf->maps.unwind_pages, (page + 1) * sizeof(pages->items[0])) == 0)
		__atomic_store_n(&pages->items[page], entry, __ATOMIC_RELEASE);
}

const uint32_t *probe_stacks_rows(const struct probe_set *set, uint32_t row)
{
	const struct unwind_words *rows = &set->unwind.rows;

	return word_is_mapped(rows, row) ? &rows->items[row / UNWIND_BLOCK * UNWIND_BLOCK] : NULL;
}

int probe_stacks_rows_put(struct probe_set *set, uint32_t first, const uint32_t *rows, size_t n)
{
	struct unwind_words *all = &set->unwind.rows;
	int r;

	if (first > UNWIND_ROWS || n > UNWIND_ROWS - first)
		return -EINVAL;
	r = words_map(all, set->bpf->maps.unwind_rows, (first + n) * sizeof(rows[0]));
	if (r == 0)
		memcpy(&all->items[first], rows, n * sizeof(rows[0]));
	return r;
}

const struct unwind_side *probe_stacks_side(const struct probe_set *set, uint32_t idx)
{
	return idx < UNWIND_SIDES ? &set->unwind.sides[idx] : NULL;
}

void probe_stacks_side_put(struct probe_set *set, uint32_t idx, const struct unwind_side *side)
{
	if (idx < UNWIND_SIDES)
		set->unwind.sides[idx] = *side;
}

static void stack_maps_clear(struct probe_set *set)
{
	int fd = bpf_map__fd(set->bpf->maps.stack_maps);
	uint32_t tgid;

	while (bpf_map_get_next_key(fd, NULL, &tgid) == 0 && bpf_map_delete_elem(fd, &tgid) == 0)
		;
}

/* A walk that began before notices it at its end; one that begins meanwhile finds no rule. */
void probe_stacks_reset(struct probe_set *set)
{
	struct unwind_words *pages = &set->unwind.pages;
	struct ingero__bss *bss = set->bpf->bss;

	(void)__atomic_add_fetch(&bss->unwind_pass, 1, __ATOMIC_SEQ_CST);
	stack_maps_clear(set);
	for (uint32_t i = 0; word_is_mapped(pages, i); i++)
		__atomic_store_n(&pages->items[i], UNWIND_PAGE_UNKNOWN, __ATOMIC_RELAXED);
	for (size_t i = 0; i < ARRAY_SIZE(bss->rule_cache); i++)
		for (size_t k = 0; k < ARRAY_SIZE(bss->rule_cache[i]); k++)
			__atomic_store_n(&bss->rule_cache[i][k], 0, __ATOMIC_RELAXED);
	(void)__atomic_add_fetch(&bss->unwind_pass, 1, __ATOMIC_SEQ_CST);
}

void probe_stacks_memo(const struct probe_set *set, struct probe_stacks_memo *ret_memo)
{
	*ret_memo = (struct probe_stacks_memo){ .n_hits = probe_set_counter(set, COUNTER_MEMO_HIT),
						.n_misses = probe_set_counter(set, COUNTER_MEMO_MISS),
						.n_wrong = probe_set_counter(set, COUNTER_MEMO_WRONG) };
}
