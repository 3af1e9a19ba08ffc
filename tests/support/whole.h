// SPDX-License-Identifier: Apache-2.0
/* Functions that stay one, with an address of their own: gcc makes copies for constant arguments, clang does not. */
#pragma once

#if __has_attribute(noclone)
#define WHOLE __attribute__((noinline, noclone))
#else
#define WHOLE __attribute__((noinline))
#endif
