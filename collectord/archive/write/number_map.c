// SPDX-License-Identifier: Apache-2.0
#include "archive/write/number_map.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS_MIN 64

void number_map_done(struct number_map *map)
{
	free(map->slots);
	*map = (struct number_map){ .slots = NULL };
}

/* The number's slot, or the empty one where it belongs. */
static struct number_slot *number_slot_of(const struct number_map *map, uint32_t number)
{
	size_t at = number * 2654435769u; /* rows are consecutive: any odd factor spreads them */

	while (map->slots[at & (map->n_slots - 1)].at && map->slots[at & (map->n_slots - 1)].number != number)
		at++;
	return &map->slots[at & (map->n_slots - 1)];
}

uint32_t number_map_get(const struct number_map *map, uint32_t number)
{
	const struct number_slot *slot = map->n_slots ? number_slot_of(map, number) : NULL;

	return slot && slot->at ? slot->at - 1 : NUMBER_NONE;
}

static int grow(struct number_map *map)
{
	struct number_map more = { .n_slots = map->n_slots ? map->n_slots * 2 : SLOTS_MIN, .n = map->n };

	more.slots = calloc(more.n_slots, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->slots[i].at)
			*number_slot_of(&more, map->slots[i].number) = map->slots[i];
	free(map->slots);
	*map = more;
	return 0;
}

int number_map_put(struct number_map *map, uint32_t number, uint32_t at)
{
	int r = (map->n + 1) * 2 > map->n_slots ? grow(map) : 0;

	if (r < 0)
		return r;
	*number_slot_of(map, number) = (struct number_slot){ .number = number, .at = at + 1 };
	map->n++;
	return 0;
}
