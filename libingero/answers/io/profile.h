// SPDX-License-Identifier: Apache-2.0
/* Figures of system calls as a profile for flame graphs: what they are summed by, in any order. */
#pragma once

#include "ingero/ingero.h"
#include "libingero/render/flame.h"

enum io_dimension { IO_BY_PATH, IO_BY_OP, IO_BY_COMM, IO_BY_PID, IO_BY_COUNT };

struct io_dimensions {
	enum io_dimension items[IO_BY_COUNT]; /* outermost first */
	size_t n;
};

/** io_dimensions_parse() - "path,op": each at most once. Return: 0 or -EINVAL */
int io_dimensions_parse(const char *text, struct io_dimensions *ret);

/* Names of the measures, in the order of their values in a profile; NULL-terminated. */
extern const char *const io_weights[];

/**
 * io_profile_fill() - make a profile of a summary; a path becomes a frame for each component
 * @ret: initialised here; the caller releases it
 * Return: 0 or -ENOMEM
 */
int io_profile_fill(const Ingero__V1__IoFigures *figures, const struct io_dimensions *by, struct flame *ret);
/** io_profile_value() - index of a measure by its name in io_weights */
size_t io_profile_value(const char *weight);
