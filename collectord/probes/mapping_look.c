// SPDX-License-Identifier: Apache-2.0
#include "probes/mapping_look.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probes/probe_set.h"

#define ROOM_FIRST 512
#define ROOM_MOST (1u << 22)	      /* no machine has more processes */
#define LOOK_NS (900 * NSEC_PER_MSEC) /* callers other than the timer may ask more often */
#define CLOSE_LOOKS_MOST 16 /* per second; each takes about 100 us, with tens of thousands of mappings some ms */

struct executable_list {
	struct executable_record *items; /* ascending by process id */
	size_t n;
	size_t room;
};

struct mapping_look {
	struct probe_set *probes;
	struct executable_list known;
	uint64_t looked_ns;
	uint32_t from_tgid; /* continue with this process: earlier ones were scanned the last time */
	bool is_on;
};

static int compare(const void *a, const void *b)
{
	uint32_t x = ((const struct executable_record *)a)->tgid, y = ((const struct executable_record *)b)->tgid;

	return (x > y) - (x < y);
}

static void list_done(struct executable_list *list)
{
	free(list->items);
	*list = (struct executable_list){ .items = NULL };
}

static int executables_read(struct probe_set *probes, size_t n_likely, struct executable_list *ret)
{
	CLEANUP(list_done) struct executable_list list = { .items = NULL };

	for (size_t room = MAX(ROOM_FIRST, n_likely + n_likely / 4); room <= ROOM_MOST;) {
		int n;

		free(list.items);
		list.items = calloc(room, sizeof(*list.items));
		if (!list.items)
			return -ENOMEM;
		n = probe_set_executable(probes, list.items, room);
		if (n < 0)
			return n;
		if ((size_t)n > room) {
			room = (size_t)n + (size_t)n / 4;
			continue;
		}
		list.n = (size_t)n;
		list.room = room;
		if (n)
			qsort(list.items, list.n, sizeof(*list.items), compare);
		*ret = list;
		list = (struct executable_list){ .items = NULL }; /* the caller owns the list now */
		return 0;
	}
	return -E2BIG;
}

int mapping_look_new(struct probe_set *probes, struct mapping_look **ret_look)
{
	struct mapping_look *look = calloc(1, sizeof(*look));

	if (!look)
		return -ENOMEM;
	look->probes = probes;
	*ret_look = look;
	return 0;
}

void mapping_look_free(struct mapping_look *look)
{
	if (!look)
		return;
	list_done(&look->known);
	free(look);
}

int mapping_look_set(struct mapping_look *look, bool is_on)
{
	int r = 0;

	if (look->is_on == is_on)
		return 0;
	list_done(&look->known);
	if (is_on)
		r = executables_read(look->probes, 0, &look->known);
	look->is_on = is_on && r == 0;
	return r;
}

static bool is_same_record(const struct executable_record *a, const struct executable_record *b)
{
	return a->tgid == b->tgid && a->start_boot_ns == b->start_boot_ns && a->pages == b->pages && a->uid == b->uid;
}

/* Mark the processes whose mappings did not change. */
static void unchanged_mark(const struct executable_list *before, const struct executable_list *now, bool *is_unchanged)
{
	for (size_t i = 0, k = 0; i < now->n; i++) {
		while (k < before->n && before->items[k].tgid < now->items[i].tgid)
			k++;
		is_unchanged[i] = k < before->n && is_same_record(&before->items[k], &now->items[i]);
	}
}

/*
 * Report changed processes. @is_unchanged: for each known process. Those that must wait are noted as empty, to differ
 * again next time.
 */
static void changed_tell(struct mapping_look *look, const bool *is_unchanged, mapping_changed_func func, void *data)
{
	const size_t n = look->known.n;
	unsigned int n_looks = 0;
	size_t first = 0;

	while (first < n && look->known.items[first].tgid < look->from_tgid)
		first++;
	look->from_tgid = 0;
	for (size_t i = 0; i < n && look->is_on && look->known.n == n; i++) {
		struct executable_record *r = &look->known.items[(first + i) % n];

		if (is_unchanged[(first + i) % n])
			continue;
		if (n_looks == CLOSE_LOOKS_MOST) {
			look->from_tgid = look->from_tgid ? look->from_tgid : r->tgid;
			r->pages = 0;
		} else if (func(r->tgid, r->uid, data)) {
			n_looks++;
		}
	}
}

int mapping_look_again(struct mapping_look *look, uint64_t now_ns, mapping_changed_func func, void *data)
{
	CLEANUP(list_done) struct executable_list now = { .items = NULL };
	CLEANUP(freep) bool *is_unchanged = NULL;
	struct executable_list before;
	int r;

	if (!look->is_on || now_ns - look->looked_ns < LOOK_NS)
		return 0;
	look->looked_ns = now_ns;
	r = executables_read(look->probes, look->known.n, &now);
	if (r < 0)
		return r;
	is_unchanged = calloc(now.n + 1, sizeof(*is_unchanged));
	if (!is_unchanged)
		return -ENOMEM; /* keep the old list for the next comparison */
	unchanged_mark(&look->known, &now, is_unchanged);
	before = look->known;
	look->known = now;
	now = before;
	changed_tell(look, is_unchanged, func, data);
	return 0;
}
