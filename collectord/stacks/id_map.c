// SPDX-License-Identifier: Apache-2.0
#include "stacks/id_map.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 64

/* The upper bit of an id only tells its kind. */
static size_t place_first(const struct id_map *map, uint64_t id)
{
	return (size_t)(id ^ id >> 32) & (map->room - 1);
}

/* Return: the place of an id, or the free one where it belongs */
static size_t id_place(const struct id_map *map, uint64_t id)
{
	size_t at = place_first(map, id);

	while (map->ids[at] && map->ids[at] != id)
		at = (at + 1) & (map->room - 1);
	return at;
}

void *id_map_find(const struct id_map *map, uint64_t id)
{
	size_t at = map->room && id ? id_place(map, id) : 0;

	return map->room && id && map->ids[at] ? map->values[at] : NULL;
}

static int id_map_grow(struct id_map *map)
{
	struct id_map grown = { .room = map->room ? 2 * map->room : ROOM_FIRST };

	grown.ids = calloc(grown.room, sizeof(*grown.ids));
	grown.values = calloc(grown.room, sizeof(*grown.values));
	if (!grown.ids || !grown.values) {
		id_map_done(&grown);
		return -ENOMEM;
	}
	for (size_t i = 0; i < map->room; i++)
		if (map->ids[i])
			(void)id_map_put(&grown, map->ids[i], map->values[i]);
	id_map_done(map);
	*map = grown;
	return 0;
}

int id_map_put(struct id_map *map, uint64_t id, void *value)
{
	size_t at;

	if (!id)
		return -EINVAL;
	if (map->n + 1 > map->room / 4 * 3 && id_map_grow(map) < 0)
		return -ENOMEM;
	at = id_place(map, id);
	map->n += !map->ids[at];
	map->ids[at] = id;
	map->values[at] = value;
	return 0;
}

/* Those behind it that would not be found any more move up. */
void id_map_remove(struct id_map *map, uint64_t id)
{
	size_t hole, at;

	if (!id_map_find(map, id))
		return;
	hole = at = id_place(map, id);
	for (;;) {
		size_t home;

		map->ids[hole] = 0;
		do {
			at = (at + 1) & (map->room - 1);
			if (!map->ids[at]) {
				map->n--;
				return;
			}
			home = place_first(map, map->ids[at]);
		} while (hole <= at ? hole < home && home <= at : hole < home || home <= at);
		map->ids[hole] = map->ids[at];
		map->values[hole] = map->values[at];
		hole = at;
	}
}

void id_map_each(const struct id_map *map, id_map_func func, void *data)
{
	for (size_t i = 0; i < map->room; i++)
		if (map->ids[i])
			func(map->ids[i], map->values[i], data);
}

void id_map_done(struct id_map *map)
{
	free(map->ids);
	free(map->values);
	*map = (struct id_map){ .n = 0 };
}
