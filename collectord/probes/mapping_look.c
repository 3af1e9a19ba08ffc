// SPDX-License-Identifier: Apache-2.0
#include "probes/mapping_look.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probes/probe_set.h"

#define ROOM_FIRST 512
#define ROOM_MOST (1u << 22) /* no machine has more processes */

struct executable_list {
	struct executable_record *items; /* by process */
	size_t n;
	size_t room;
};

struct mapping_look {
	struct probe_set *probes;
	struct executable_list known;
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

static int list_read(struct probe_set *probes, struct executable_list *ret)
{
	CLEANUP(list_done) struct executable_list list = { .room = ROOM_FIRST };

	for (; list.room <= ROOM_MOST; list.room *= 2) {
		int n;

		free(list.items);
		list.items = calloc(list.room, sizeof(*list.items));
		if (!list.items)
			return -ENOMEM;
		n = probe_set_executable(probes, list.items, list.room);
		if (n < 0)
			return n;
		if ((size_t)n > list.room)
			continue;
		list.n = (size_t)n;
		if (n)
			qsort(list.items, list.n, sizeof(*list.items), compare);
		*ret = list;
		list = (struct executable_list){ .items = NULL }; /* the caller's */
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
		r = list_read(look->probes, &look->known);
	look->is_on = is_on && r == 0;
	return r;
}

static bool is_same(const struct executable_record *a, const struct executable_record *b)
{
	return a->tgid == b->tgid && a->start_boot_ns == b->start_boot_ns && a->pages == b->pages;
}

int mapping_look_again(struct mapping_look *look, mapping_changed_func func, void *data)
{
	CLEANUP(list_done) struct executable_list before = { .items = NULL };
	size_t k = 0;
	int r;

	if (!look->is_on)
		return 0;
	before = look->known;
	look->known = (struct executable_list){ .items = NULL };
	r = list_read(look->probes, &look->known);
	if (r < 0) {
		look->known = before; /* compared with the next time */
		before = (struct executable_list){ .items = NULL };
		return r;
	}
	/* By index: whoever is told may turn it off. */
	for (size_t i = 0; i < look->known.n; i++) {
		const struct executable_record now = look->known.items[i];

		while (k < before.n && before.items[k].tgid < now.tgid)
			k++;
		if (k == before.n || !is_same(&before.items[k], &now))
			func(now.tgid, now.uid, data);
	}
	return 0;
}
