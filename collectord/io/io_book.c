// SPDX-License-Identifier: Apache-2.0
#include "io/io_book.h"

#include <errno.h>
#include <stdlib.h>

#define PLACES_LEAST 256u

void io_sums_done(struct io_sums *sums)
{
	histogram_done(&sums->histogram);
}

void io_book_done(struct io_book *b)
{
	for (size_t i = 0; i < b->rows.n; i++)
		io_sums_done(&b->rows.items[i].sums);
	ARRAY_DONE(&b->rows);
	free(b->places);
	*b = (struct io_book){ .places = NULL };
}

static size_t book_row_hash(uint32_t process, uint32_t call, uint64_t file)
{
	uint64_t hash = file ^ ((uint64_t)process << 32 | call) * 0x9e3779b97f4a7c15ull;

	hash *= 0x9e3779b97f4a7c15ull;
	return (size_t)(hash ^ hash >> 32);
}

/* Return: place of the row, or the free one for it */
static uint32_t *row_place(const struct io_book *b, uint32_t process, uint32_t call, uint64_t file)
{
	size_t at = book_row_hash(process, call, file) & (b->n_places - 1);

	for (; b->places[at]; at = (at + 1) & (b->n_places - 1)) {
		const struct io_row *row = &b->rows.items[b->places[at] - 1];

		if (row->process == process && row->call == call && row->file == file)
			break;
	}
	return &b->places[at];
}

/* Room for another row, half of the places free. */
static int rows_reserve(struct io_book *b)
{
	struct io_book fresh = { .rows = b->rows, .n_places = b->n_places ? b->n_places * 2 : PLACES_LEAST };

	if (b->n_places && (b->rows.n + 1) * 2 <= b->n_places)
		return 0;
	fresh.places = calloc(fresh.n_places, sizeof(*fresh.places));
	if (!fresh.places)
		return -ENOMEM;
	for (size_t i = 0; i < b->rows.n; i++) {
		const struct io_row *row = &b->rows.items[i];

		*row_place(&fresh, row->process, row->call, row->file) = (uint32_t)i + 1;
	}
	free(b->places);
	b->places = fresh.places;
	b->n_places = fresh.n_places;
	return 0;
}

/* Return: NULL without memory */
static struct io_row *row_take(struct io_book *b, const struct io_key *key)
{
	struct io_row fresh = { .process = key->process, .call = key->call, .file = key->file };
	uint32_t *place;

	if (rows_reserve(b) < 0)
		return NULL;
	place = row_place(b, key->process, key->call, fresh.file);
	if (!*place && b->rows.n >= IO_ROWS_MOST) {
		fresh.file = 0;
		place = row_place(b, key->process, key->call, 0);
	}
	if (*place)
		return &b->rows.items[*place - 1];
	if (ARRAY_PUSH(&b->rows, fresh) < 0)
		return NULL;
	*place = (uint32_t)b->rows.n;
	return &b->rows.items[b->rows.n - 1];
}

static uint64_t cell_count(const struct io_cell *cell)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += cell->buckets[i];
	return n;
}

void io_book_add(struct io_book *b, const struct io_key *key, const struct io_cell *cell)
{
	struct io_row *row = row_take(b, key);
	uint64_t n = cell_count(cell);

	if (!row) {
		b->lost += n;
		return;
	}
	row->sums.count += n;
	row->sums.errors += cell->errors;
	row->sums.bytes += cell->bytes;
	row->sums.total_ns += cell->total_ns;
	row->sums.gap_ns += cell->gap_ns;
	row->sums.max_ns = MAX(row->sums.max_ns, cell->max_ns);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (cell->buckets[i])
			(void)histogram_add(&row->sums.histogram, i, cell->buckets[i]); /* counts stay exact without */
}

int io_sums_merge(struct io_sums *sums, const struct io_sums *other)
{
	sums->count += other->count;
	sums->errors += other->errors;
	sums->bytes += other->bytes;
	sums->total_ns += other->total_ns;
	sums->gap_ns += other->gap_ns;
	sums->max_ns = MAX(sums->max_ns, other->max_ns);
	return histogram_merge(&sums->histogram, &other->histogram);
}
