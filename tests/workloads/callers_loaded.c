// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries that callers_libraries.c loads: one source, each with its own function names and frames.
 *
 *   LOADED_NAME(function)  name of a function in this library
 *   LOADED_ROOM            bytes of a frame
 *
 * Each function notes where it returns to, so that the stack is known also where nothing describes it.
 */
#include <string.h>

#include "callers_loaded.h"
#include "tests/support/whole.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define LOADED(function) JOIN(LOADED_NAME, function)
#define STAYS(room) __asm__ volatile("" ::"r"(room) : "memory")
#define NOINLINE static WHOLE

NOINLINE int LOADED(_inner)(void **pointer, size_t bytes, callers_fn *function, struct loaded *loaded)
{
	char room[LOADED_ROOM];
	int r;

	memset(room, 1, sizeof(room));
	STAYS(room);
	loaded->returns[1] = __builtin_return_address(0);
	r = function(pointer, bytes);
	STAYS(room);
	return r;
}

NOINLINE int LOADED(_middle)(void **pointer, size_t bytes, callers_fn *function, struct loaded *loaded)
{
	char room[2 * LOADED_ROOM];
	int r;

	memset(room, 1, sizeof(room));
	STAYS(room);
	loaded->returns[2] = __builtin_return_address(0);
	r = LOADED(_inner)(pointer, bytes, function, loaded);
	STAYS(room);
	return r + 1;
}

/* The same name in each library: found by dlsym(3). */
__attribute__((visibility("default"))) int loaded_call(void **pointer, size_t bytes, callers_fn *function,
						       struct loaded *loaded)
{
	int r = LOADED(_middle)(pointer, bytes, function, loaded);

	STAYS(loaded);
	return r + 1;
}
