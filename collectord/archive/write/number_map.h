// SPDX-License-Identifier: Apache-2.0
/* Hash table from a number to an index in an array; entries are never removed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct number_slot {
	uint32_t number;
	uint32_t at; /* index + 1; 0: empty */
};

/* All zero: empty. */
struct number_map {
	struct number_slot *slots;
	size_t n_slots; /* power of two */
	size_t n;
};

#define NUMBER_NONE UINT32_MAX

void number_map_done(struct number_map *map);
/** number_map_get() - Return: index, or NUMBER_NONE */
uint32_t number_map_get(const struct number_map *map, uint32_t number);
/** number_map_put() - add a new number. Return: 0 or -ENOMEM */
int number_map_put(struct number_map *map, uint32_t number, uint32_t at);
