// SPDX-License-Identifier: Apache-2.0
/* A hash table from ids, which are random numbers and not 0, to pointers. Zeroed memory is an empty one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct id_map {
	uint64_t *ids; /* 0: free place */
	void **values;
	size_t n, room; /* room: 0, or a power of two */
};

/** id_map_find() - Return: the value; NULL: none */
void *id_map_find(const struct id_map *map, uint64_t id);
/** id_map_put() - enter an id that is missing. Return: 0; -EINVAL: id 0; -ENOMEM */
int id_map_put(struct id_map *map, uint64_t id, void *value);
/** id_map_remove() - remove an id; does nothing if it is missing */
void id_map_remove(struct id_map *map, uint64_t id);
typedef void (*id_map_func)(uint64_t id, void *value, void *data);
void id_map_each(const struct id_map *map, id_map_func func, void *data);
void id_map_done(struct id_map *map);
