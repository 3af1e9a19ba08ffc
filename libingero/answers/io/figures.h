// SPDX-License-Identifier: Apache-2.0
/* Figures of system calls as they come: in pieces, which become one message. */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "ingero/ingero.h"

struct io_figures {
	Ingero__V1__IoFigures view; /* borrows from the pieces; valid if is_whole */
	bool is_whole;
	ARRAY(Ingero__V1__IoFigures *) pieces; /* owned */
	ARRAY(Ingero__V1__IoFile *) files;     /* of all pieces */
};

void io_figures_done(struct io_figures *figures);
/** io_figures_add() - add a piece; the one behind a last piece begins anew. Return: 0 or -ENOMEM */
int io_figures_add(struct io_figures *figures, const Ingero__V1__IoFigures *piece);
