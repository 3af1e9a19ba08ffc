// SPDX-License-Identifier: Apache-2.0
/* Names of the system calls of bpf/io_calls.def. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/io_record.h"

/** io_call_name() - name of a call by its id; NULL: no such id */
const char *io_call_name(uint32_t call);
/** io_call_find() - id of a call by its name, "openat"; 0: no such call */
uint32_t io_call_find(const char *name);
/** io_call_nearest() - the call that a mistyped name may mean; NULL: none is near */
const char *io_call_nearest(const char *typed);

/** io_call_returns_bytes() - whether the return value of a call is a number of bytes */
bool io_call_returns_bytes(uint32_t call);

struct btf;
/**
 * io_calls_missing() - find the calls that a kernel lacks
 * @btf: the kernel's type information
 * @ret: a bit for each of them, by id
 */
void io_calls_missing(const struct btf *btf, uint64_t ret[IO_CALL_IDS / 64]);
