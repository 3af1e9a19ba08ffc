// SPDX-License-Identifier: Apache-2.0
/*
 * Where in a function a probe is cheap.
 *
 * The kernel emulates a few instructions in the breakpoint handler and single-steps
 * all others, at ten times the price (docs/measurements/cost.md). Given the
 * first bytes of a function, place_find() picks the first emulated instruction that
 * every call reaches with argument registers and stack pointer as at entry, and
 * settles for the function's own address where it does not know an encoding.
 * The only file here that knows instructions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/ops.h"

struct place {
	uint32_t delta; /* bytes from the function's first byte to the probed instruction */
	enum call_head head;
};

/** place_find() - always finds one: {0, CALL_HEAD_STEPPED} when nothing better is known
 * @machine: ELF e_machine of the file (EM_X86_64, EM_AARCH64) */
struct place place_find(uint16_t machine, const uint8_t *head, size_t n_head);
