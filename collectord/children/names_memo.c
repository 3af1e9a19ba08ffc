// SPDX-License-Identifier: Apache-2.0
#include "children/names_memo.h"

#include <string.h>

#define ROOM_MIN 256
#define FULL_AT(room) ((room) / 2) /* so that a search is short */

/* Place of an address, or where it would be. */
static size_t memo_place_find(const struct memo_name *names, size_t room, uint64_t address)
{
	size_t i = (size_t)((address * 0x9e3779b97f4a7c15ull) >> 32) & (room - 1);

	while (names[i].address && names[i].address != address)
		i = (i + 1) & (room - 1);
	return i;
}

const struct memo_name *names_memo_find(const struct names_memo *memo, uint64_t address)
{
	const struct memo_name *name;

	if (!memo->room)
		return NULL;
	name = &memo->names[memo_place_find(memo->names, memo->room, address)];
	return name->address ? name : NULL;
}

static bool memo_grow(struct names_memo *memo)
{
	size_t room = memo->room ? 2 * memo->room : ROOM_MIN;
	struct memo_name *names;

	if (memo->n < FULL_AT(memo->room))
		return true;
	names = calloc(room, sizeof(*names));
	if (!names)
		return false;
	for (size_t i = 0; i < memo->room; i++)
		if (memo->names[i].address)
			names[memo_place_find(names, room, memo->names[i].address)] = memo->names[i];
	free(memo->names);
	memo->names = names;
	memo->room = room;
	return true;
}

/* Return: false without memory */
static bool memo_text_add(struct names_memo *memo, const char *text, uint32_t *ret_place)
{
	*ret_place = (uint32_t)memo->texts.n;
	return buf_append(&memo->texts, text, strlen(text) + 1) == 0;
}

const struct memo_name *names_memo_add(struct names_memo *memo, const struct memo_name *name, const char *symbol,
				       const char *file)
{
	struct memo_name entry = *name;
	size_t n_text = strlen(symbol) + strlen(file) + 2;

	if (memo->n == NAMES_MEMO_MAX || memo->texts.n + n_text > NAMES_MEMO_TEXT_BYTES_MAX)
		names_memo_done(memo);
	if (!memo_grow(memo) || !memo_text_add(memo, symbol, &entry.symbol) || !memo_text_add(memo, file, &entry.file))
		return NULL;
	memo->n++;
	memo->names[memo_place_find(memo->names, memo->room, entry.address)] = entry;
	return names_memo_find(memo, entry.address);
}

const char *names_memo_text(const struct names_memo *memo, uint32_t place)
{
	return (const char *)memo->texts.data + place;
}

size_t names_memo_bytes(const struct names_memo *memo)
{
	return memo->room * sizeof(*memo->names) + memo->texts.room;
}

void names_memo_done(struct names_memo *memo)
{
	free(memo->names);
	memo->names = NULL;
	memo->n = memo->room = 0;
	buf_done(&memo->texts);
}
