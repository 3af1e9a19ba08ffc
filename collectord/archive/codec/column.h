// SPDX-License-Identifier: Apache-2.0
/*
 * One column: n numbers of 64 bits, packed in the form that is smallest for them.
 *
 * On disk: id (1 byte), form (1 byte), length (varint), bytes. Columns follow each other;
 * one that is all zero is left out, one whose id is not known is skipped. Forms:
 *
 *   constant    the number
 *   dictionary  up to 256 numbers, ascending; an index byte for each value
 *   ranks       values that follow from another column, as flags do from the operation: for each
 *               group of that, the numbers seen in it; a byte for each value says which
 *   bits        a length byte for each value (its significant bits), then the bits below the
 *               top one, densely: what is random costs what it must, no more
 *   varints     for few values
 *
 * All but constants and bits pass zstd where that saves 3 %.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What the reader of a column has of others already, for each value; NULL: nothing. */
struct column_context {
	/* Significant bits of a bound, or of a guess, as the whole is of a part: lengths are kept as the difference. */
	const uint8_t *bounds;
	const uint8_t *groups; /* numbered from 0 */
};

struct column_packer;
int column_packer_new(struct column_packer **ret_packer);
void column_packer_free(struct column_packer *packer);
/** column_packer_set_plain() - neither zstd nor dictionaries, which cost more than they save on what is soon deleted */
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

/* Where the columns of a block lie. */
#define COLUMN_IDS 64

struct column_index {
	struct {
		const uint8_t *bytes; /* NULL: not there, all zero */
		size_t n_bytes;
		uint8_t form;
	} columns[COLUMN_IDS];
};

/** column_find() - look through columns. Return: 0, or -EBADMSG when one is cut short or there twice */
int column_find(const uint8_t *data, size_t n, struct column_index *ret_index);

/** column_needs_groups() - whether a column was packed by groups */
bool column_needs_groups(const struct column_index *index, uint8_t id);

struct column_unpacker;
int column_unpacker_new(struct column_unpacker **ret_unpacker);
void column_unpacker_free(struct column_unpacker *unpacker);
static inline void column_unpacker_freep(struct column_unpacker **unpacker)
{
	column_unpacker_free(*unpacker);
}

/**
 * column_unpack() - the values of a column
 * @context:    as packed with
 * @most:       largest value that is not damage
 * @ret_values: room for n; may be written on failure, too
 *
 * Return: 0, -EBADMSG for damage, or -ENOMEM
 */
int column_unpack(struct column_unpacker *unpacker, const struct column_index *index, uint8_t id,
		  const struct column_context *context, uint64_t most, uint64_t *ret_values, size_t n);
