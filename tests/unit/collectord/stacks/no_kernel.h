// SPDX-License-Identifier: Apache-2.0
/* The kernel half's tables for tests of files and mappings: entries are dropped, and look-ups find nothing. */
#pragma once

#include <stddef.h>

extern size_t no_kernel_resets; /* calls of probe_stacks_reset() */
