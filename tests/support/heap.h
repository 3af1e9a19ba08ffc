// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>
#include <stddef.h>

/* Where the sanitizer keeps the heap. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/** heap_bytes() - bytes that are allocated, but for blocks so large that they have a mapping of their own */
static inline size_t heap_bytes(void)
{
	return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
						       : mallinfo2().uordblks;
}
