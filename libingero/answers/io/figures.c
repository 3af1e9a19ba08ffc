// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/io/figures.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

void io_figures_done(struct io_figures *f)
{
	for (size_t i = 0; i < f->pieces.n; i++)
		ingero__v1__io_figures__free_unpacked(f->pieces.items[i], NULL);
	ARRAY_DONE(&f->pieces);
	ARRAY_DONE(&f->files);
	*f = (struct io_figures){ .is_whole = false };
}

static Ingero__V1__IoFigures *io_piece_copy(const Ingero__V1__IoFigures *piece)
{
	size_t n = ingero__v1__io_figures__get_packed_size(piece);
	CLEANUP(freep) uint8_t *packed = malloc(n + 1);

	if (!packed)
		return NULL;
	(void)ingero__v1__io_figures__pack(piece, packed);
	return ingero__v1__io_figures__unpack(NULL, n, packed);
}

int io_figures_add(struct io_figures *f, const Ingero__V1__IoFigures *piece)
{
	Ingero__V1__IoFigures *copy;

	if (f->is_whole)
		io_figures_done(f);
	copy = io_piece_copy(piece);
	if (!copy || ARRAY_PUSH(&f->pieces, copy) < 0) {
		if (copy)
			ingero__v1__io_figures__free_unpacked(copy, NULL);
		return -ENOMEM;
	}
	for (size_t i = 0; i < copy->n_files; i++)
		if (ARRAY_PUSH(&f->files, copy->files[i]) < 0)
			return -ENOMEM;
	f->view = *f->pieces.items[0];
	f->view.files = f->files.items;
	f->view.n_files = f->files.n;
	f->view.lost = copy->lost;
	f->view.is_whole = f->is_whole = copy->is_whole;
	return 0;
}
