// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the place in a function where a probe is cheap.
 *
 * The kernel emulates a few instructions in the breakpoint handler and single-steps all others, at ten times the cost
 * (docs/measurements/cost.md). From the first bytes of a function, place_find() selects the first emulated instruction
 * that every call reaches with argument registers and stack pointer as at entry. If it does not know an encoding, it
 * returns the function's own address. No other file here decodes instructions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/ops.h"

struct place {
	uint32_t delta; /* bytes from the function's first byte to the probed instruction */
	enum call_head head;
};

/**
 * place_find() - find the place for a probe; {0, CALL_HEAD_STEPPED} if no better one is known
 * @machine: ELF e_machine of the file (EM_X86_64, EM_AARCH64)
 */
struct place place_find(uint16_t machine, const uint8_t *head, size_t n_head);
