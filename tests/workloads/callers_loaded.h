// SPDX-License-Identifier: Apache-2.0
/* Interface of the libraries that callers_libraries.c loads. */
#pragma once

#include "callers.h"

#define LOADED_FRAMES 3

struct loaded {
	void *returns[LOADED_FRAMES]; /* innermost first: where calls of the library's functions return to; [0] is not
					 theirs */
};

/* loaded_call: the first two arguments are those of callers_fn, so that the witness takes its place. */
typedef int loaded_fn(void **pointer, size_t bytes, callers_fn *function, struct loaded *loaded);
loaded_fn loaded_call;
