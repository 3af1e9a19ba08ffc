// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Loops with too many rounds to unroll.
 */
#pragma once

#include "maps.h"

/*
 * repeat() - round(i, walk) for i from 0, until it returns 1 or the rounds are over
 * @rounds: maximum number of rounds with bpf_loop(), Linux 5.17
 * @followed: maximum number without bpf_loop(), a constant. The verifier follows that loop round by round, at most 8192
 * branches deep: a round with many branches belongs in a VERIFIED_ALONE function.
 * @round: long round(__u32 i, TYPE *walk), static
 * @walk: on the stack
 */
#define repeat(rounds, followed, round, walk)                                                                          \
	do {                                                                                                           \
		if (has_loop) {                                                                                        \
			bpf_loop(rounds, round, walk, 0);                                                              \
			break;                                                                                         \
		}                                                                                                      \
		_Pragma("clang loop unroll(disable)") for (__u32 i_ = 0; i_ < (followed); i_++)                        \
		{                                                                                                      \
			if (round(i_, walk))                                                                           \
				break;                                                                                 \
		}                                                                                                      \
	} while (0)
