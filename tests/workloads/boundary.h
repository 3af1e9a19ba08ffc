// SPDX-License-Identifier: Apache-2.0
/* What boundary.c shares with boundary_stacks.c and boundary_enter.S. */
#pragma once

#define BOUNDARY_CELLS_MAX 4096

#if !defined(__ASSEMBLER__)
#include <stdbool.h>
#include <stdint.h>

/* By number of the cell. */
extern const void *boundary_functions[BOUNDARY_CELLS_MAX];

/** boundary_enter() - note the stack, then jump to the function. %r11d: number of the cell. Not called by C */
void boundary_enter(void);
/** boundary_stacks_open() - if a file for stacks is named. Return: whether it is */
bool boundary_stacks_open(void);
/** boundary_witness() - note the stack of the caller of boundary_enter() */
void boundary_witness(uint32_t cell);
#endif
