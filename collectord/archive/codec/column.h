// SPDX-License-Identifier: Apache-2.0
/*
 * One column: n numbers of 64 bits, packed in the smallest of several forms.
 *
 * On disk: id (1 byte), form (1 byte), length (varint), bytes. Columns follow each other; a column of zeros is left
 * out, an unknown id is skipped. Forms:
 *
 * constant    the number
 * dictionary  up to 256 numbers, ascending; an index byte for each value
 * ranks       for values that depend on another column, as flags depend on the operation: a list of the numbers that
 * occur in each group of that column; a byte for each value selects one from the list of its group
 * bits        for random values: a length byte for each value (its significant bits), then of each value the bits below
 * its top bit, without padding
 * varints     for few values
 *
 * Index bytes, selecting bytes, length bytes and varints are compressed by zstd where that saves 3 %.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Data from other columns, which the reader has unpacked before; NULL: none. */
struct column_context {
	/*
	 * For each value, the number of significant bits of an upper bound or of a guess; for a part of a time, of the
	 * whole. Form bits then stores this number minus the length, instead of the length.
	 */
	const uint8_t *bounds;
	const uint8_t *groups; /* group of each value, numbered from 0 */
};

struct column_packer;
int column_packer_new(struct column_packer **ret_packer);
void column_packer_free(struct column_packer *packer);
/** column_packer_set_plain() - use neither zstd nor dictionaries, which cost more than they save on short-lived data */
void column_packer_set_plain(struct column_packer *packer, bool is_plain);
static inline void column_packer_freep(struct column_packer **packer)
{
	column_packer_free(*packer);
}

/**
 * column_pack() - append a column
 * @context: NULL: none
 *
 * Nothing is appended when all values are 0.
 *
 * Return: 0 or -ENOMEM, with `out` as it was
 */
int column_pack(struct column_packer *packer, uint8_t id, const uint64_t *values, size_t n,
		const struct column_context *context, struct buf *out);

/* Positions of the columns of a block. */
#define COLUMN_IDS 128

struct column_index {
	struct {
		const uint8_t *bytes; /* NULL: absent, all zero */
		size_t n_bytes;
		uint8_t form;
	} columns[COLUMN_IDS];
};

/** column_find() - find the columns. Return: 0, or -EBADMSG when one is cut short or occurs twice */
int column_find(const uint8_t *data, size_t n, struct column_index *ret_index);

/** column_needs_groups() - whether a column needs context.groups: form ranks */
bool column_needs_groups(const struct column_index *index, uint8_t id);

/** column_is_there() - false: all its values are 0 */
static inline bool column_is_there(const struct column_index *index, uint8_t id)
{
	return index->columns[id].bytes != NULL;
}

struct column_unpacker;
int column_unpacker_new(struct column_unpacker **ret_unpacker);
void column_unpacker_free(struct column_unpacker *unpacker);

/**
 * column_unpack() - unpack the values of a column
 * @context:    the context of packing
 * @most:       largest valid value
 * @ret_values: room for n; may be written on failure, too
 *
 * Return: 0, -EBADMSG for damage, or -ENOMEM
 */
int column_unpack(struct column_unpacker *unpacker, const struct column_index *index, uint8_t id,
		  const struct column_context *context, uint64_t most, uint64_t *ret_values, size_t n);
