// SPDX-License-Identifier: Apache-2.0
/* Names that were found, by address, so that they are found once. When it is full, it forgets all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define NAMES_MEMO_MAX 32768
#define NAMES_MEMO_TEXT_BYTES_MAX (4u << 20)

struct memo_name {
	uint64_t address; /* as linked, never 0 */
	uint64_t offset;
	uint32_t symbol, file; /* places in the texts */
	uint32_t line;
	bool is_exported;
};

struct names_memo {
	struct memo_name *names; /* room places, a power of two; address 0: free */
	size_t n, room;
	struct buf texts;
};

#define NAMES_MEMO_INIT                                                                                                \
	{                                                                                                              \
		.texts = BUF_INIT_CAP(NAMES_MEMO_TEXT_BYTES_MAX)                                                       \
	}

/** names_memo_find() - Return: borrowed until the next addition; NULL: not known yet */
const struct memo_name *names_memo_find(const struct names_memo *memo, uint64_t address);
/**
 * names_memo_add() - remember the name of an address that is not known yet
 * @name: without the places of its texts
 * Return: as names_memo_find(); NULL without memory
 */
const struct memo_name *names_memo_add(struct names_memo *memo, const struct memo_name *name, const char *symbol,
				       const char *file);
const char *names_memo_text(const struct names_memo *memo, uint32_t place);
/** names_memo_bytes() - memory that it holds */
size_t names_memo_bytes(const struct names_memo *memo);
void names_memo_done(struct names_memo *memo);
