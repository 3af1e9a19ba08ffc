// SPDX-License-Identifier: Apache-2.0
#include "events/kin.h"

#include <stdlib.h>

#define KIN_PLACES_FIRST 64u /* a power of two */

static size_t kin_home(const struct kin_table *table, uint32_t tgid)
{
	return (tgid * 2654435761u >> 4) & (table->n_places - 1);
}

static size_t place_after(const struct kin_table *table, size_t place)
{
	return (place + 1) & (table->n_places - 1);
}

/* Return: the place of the process, or the free one where it belongs. The table has places, of which one is free */
static size_t kin_place(const struct kin_table *table, uint32_t tgid)
{
	size_t place = kin_home(table, tgid);

	while (table->places[place].tgid && table->places[place].tgid != tgid)
		place = place_after(table, place);
	return place;
}

static struct kin *kin_find(const struct kin_table *table, uint32_t tgid)
{
	struct kin *kin = table->n ? &table->places[kin_place(table, tgid)] : NULL;

	return kin && kin->tgid && tgid ? kin : NULL;
}

static bool kin_make_room(struct kin_table *table)
{
	struct kin_table fresh = { .n_places = table->n_places ? table->n_places * 2 : KIN_PLACES_FIRST,
				   .n = table->n };

	if (table->n < table->n_places / 2)
		return true;
	fresh.places = calloc(fresh.n_places, sizeof(*fresh.places));
	if (!fresh.places)
		return false;
	for (size_t i = 0; i < table->n_places; i++)
		if (table->places[i].tgid)
			fresh.places[kin_place(&fresh, table->places[i].tgid)] = table->places[i];
	free(table->places);
	*table = fresh;
	return true;
}

/* Entries behind it move up: none may have a free place before it. */
static void kin_remove(struct kin_table *table, size_t place)
{
	size_t mask = table->n_places - 1;

	(void)process_unref(table->places[place].process);
	for (size_t i = place_after(table, place); table->places[i].tgid; i = place_after(table, i)) {
		size_t home = kin_home(table, table->places[i].tgid);

		if (((i - home) & mask) < ((i - place) & mask))
			continue; /* its home is behind the free place */
		table->places[place] = table->places[i];
		place = i;
	}
	table->places[place] = (struct kin){ .tgid = 0 };
	table->n--;
}

bool kin_has(const struct kin_table *table, uint32_t tgid)
{
	return kin_find(table, tgid);
}

void kin_add(struct kin_table *table, uint32_t tgid)
{
	if (!tgid || table->n == KIN_MAX || kin_find(table, tgid) || !kin_make_room(table))
		return;
	table->places[kin_place(table, tgid)].tgid = tgid;
	table->n++;
}

void kin_follow(struct kin_table *table, uint32_t tgid, struct process *process)
{
	struct kin *kin = kin_find(table, tgid);

	if (!kin)
		return;
	if (!process) {
		kin_remove(table, (size_t)(kin - table->places));
		return;
	}
	(void)process_ref(process);
	(void)process_unref(kin->process);
	kin->process = process;
}

void kin_forget(struct kin_table *table, bool (*is_gone)(uint32_t tgid))
{
	for (size_t i = 0; i < table->n_places;) {
		if (table->places[i].tgid && is_gone(table->places[i].tgid))
			kin_remove(table, i); /* another one may be here now */
		else
			i++;
	}
}

void kin_clear(struct kin_table *table)
{
	for (size_t i = 0; i < table->n_places; i++)
		(void)process_unref(table->places[i].process);
	free(table->places);
	*table = (struct kin_table){ .n = 0 };
}
