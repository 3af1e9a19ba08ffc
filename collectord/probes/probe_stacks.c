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
		.n_pages = 1, /* the first one means "no file" */
		.n_rows = 1,
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

int probe_set_process_changes(const struct probe_set *set, uint32_t tgid, struct probe_process_changes *ret_changes)
{
	struct process_entry entry;

	if (bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.processes), &tgid, &entry))
		return -errno;
	*ret_changes =
		(struct probe_process_changes){ .exec_gen = entry.exec_gen, .loader_changes = entry.loader_changes };
	return 0;
}

int probe_set_stack_maps(struct probe_set *set, uint32_t tgid, const struct stack_maps *maps)
{
	struct probe_process_changes now = { .exec_gen = 0 };
	int r;

	if (bpf_map_update_elem(bpf_map__fd(set->bpf->maps.stack_maps), &tgid, maps, BPF_ANY))
		return -errno;
	/* The kernel half removes the list at exec and exit: one that came too late would stay. */
	r = probe_set_process_changes(set, tgid, &now);
	if (r == 0 && now.exec_gen == maps->exec_gen && now.loader_changes == maps->loader_changes)
		return 0;
	probe_set_stack_maps_remove(set, tgid);
	return -ESTALE;
}

void probe_set_stack_maps_remove(struct probe_set *set, uint32_t tgid)
{
	(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.stack_maps), &tgid);
}

void probe_set_stack_forget(struct probe_set *set, uint32_t tgid, uint32_t exec_gen, uint64_t id)
{
	const struct stack_key key = { .id = id, .tgid = tgid, .exec_gen = exec_gen };

	(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.stacks_seen), &key);
}

/* ---- rules ---- */

uint32_t probe_set_unwind_pages_take(struct probe_set *set, uint32_t n)
{
	struct unwind_tables *u = &set->unwind;
	uint32_t first = u->n_pages;

	if (n == 0 || n > UNWIND_PAGES - first ||
	    words_map(&u->pages, set->bpf->maps.unwind_pages, (first + n) * sizeof(uint32_t)) < 0)
		return 0;
	u->n_pages += n;
	return first;
}

static int rows_check(const uint32_t *rows, size_t n)
{
	if (n > UNWIND_PAGE_ROWS_MAX || (n && UNWIND_ROW_OFFSET(rows[0])))
		return -EINVAL;
	for (size_t i = 1; i < n; i++)
		if (UNWIND_ROW_OFFSET(rows[i]) <= UNWIND_ROW_OFFSET(rows[i - 1]))
			return -EINVAL;
	return 0;
}

int probe_set_unwind_page(struct probe_set *set, uint32_t page, const uint32_t *rows, size_t n)
{
	struct unwind_tables *u = &set->unwind;
	uint32_t first = u->n_rows, entry = UNWIND_PAGE_BARE;
	int r = rows_check(rows, n);

	if (r < 0 || page == 0 || page >= u->n_pages || u->pages.items[page] > UNWIND_PAGE_ASKED)
		return -EINVAL;
	if (n) {
		if (first % UNWIND_BLOCK + n > UNWIND_BLOCK)
			first = (first / UNWIND_BLOCK + 1) * UNWIND_BLOCK;
		if (first + n > UNWIND_ROWS)
			return -ENOSPC;
		r = words_map(&u->rows, set->bpf->maps.unwind_rows, (first + n) * sizeof(*rows));
		if (r < 0)
			return r;
		memcpy(&u->rows.items[first], rows, n * sizeof(*rows));
		u->n_rows = first + (uint32_t)n;
		entry = UNWIND_PAGE_ENTRY(first, (uint32_t)n);
	}
	__atomic_store_n(&u->pages.items[page], entry, __ATOMIC_RELEASE);
	return 0;
}

int probe_set_unwind_side(struct probe_set *set, const struct unwind_side *side, uint32_t *ret_idx)
{
	struct unwind_tables *u = &set->unwind;
	uint32_t i = 0;

	while (i < u->n_sides && memcmp(&u->sides[i], side, sizeof(*side)) != 0)
		i++;
	if (i == UNWIND_SIDES)
		return -ENOSPC;
	if (i == u->n_sides)
		u->sides[u->n_sides++] = *side;
	*ret_idx = i;
	return 0;
}

static void stack_maps_clear(struct probe_set *set)
{
	int fd = bpf_map__fd(set->bpf->maps.stack_maps);
	uint32_t tgid;

	while (bpf_map_get_next_key(fd, NULL, &tgid) == 0 && bpf_map_delete_elem(fd, &tgid) == 0)
		;
}

/* A walk that began before notices it at its end, one that begins meanwhile finds no rule. */
void probe_set_unwind_reset(struct probe_set *set)
{
	struct ingero__bss *bss = set->bpf->bss;
	struct unwind_tables *u = &set->unwind;

	(void)__atomic_add_fetch(&bss->unwind_pass, 1, __ATOMIC_SEQ_CST);
	stack_maps_clear(set);
	for (uint32_t i = 0; i < u->n_pages && u->pages.items; i++)
		__atomic_store_n(&u->pages.items[i], UNWIND_PAGE_UNKNOWN, __ATOMIC_RELAXED);
	for (size_t i = 0; i < ARRAY_SIZE(bss->rule_cache); i++)
		for (size_t k = 0; k < ARRAY_SIZE(bss->rule_cache[i]); k++)
			__atomic_store_n(&bss->rule_cache[i][k], 0, __ATOMIC_RELAXED);
	u->n_pages = u->n_rows = 1;
	u->n_sides = 0;
	(void)__atomic_add_fetch(&bss->unwind_pass, 1, __ATOMIC_SEQ_CST);
}

uint32_t probe_set_unwind_rule(const struct probe_set *set, uint32_t page, uint32_t offset)
{
	const struct unwind_tables *u = &set->unwind;
	uint32_t entry = page < u->n_pages && page ? u->pages.items[page] : UNWIND_PAGE_UNKNOWN;

	if (entry <= UNWIND_PAGE_ASKED)
		return PROBE_RULE_UNKNOWN;
	if (entry == UNWIND_PAGE_BARE)
		return UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0);
	return unwind_row_rule(&u->rows.items[UNWIND_PAGE_FIRST(entry) / UNWIND_BLOCK * UNWIND_BLOCK],
			       UNWIND_PAGE_FIRST(entry), UNWIND_PAGE_N(entry), offset);
}

const struct unwind_side *probe_set_unwind_side_get(const struct probe_set *set, uint32_t idx)
{
	return idx < set->unwind.n_sides ? &set->unwind.sides[idx] : NULL;
}
