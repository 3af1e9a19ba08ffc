// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a record of either ring. What is let through can be relied on: its operation is one
 * there is, its names end where they say.
 */
#include <stdlib.h>
#include <string.h>

#include "events/decode.h"
#include "events/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint64_t *copy = calloc(1, n + sizeof(*copy)); /* aligned, as a ring gives it */
	struct call_record call;
	const struct file_record *file;
	const struct life_record *life;

	REQUIRE(copy);
	if (n)
		memcpy(copy, data, n);
	if (decode_call(copy, n, &call) == DECODE_OK) {
		REQUIRE(n >= CALL_RECORD_SHORT);
		REQUIRE(op_get(call.op) && memchr(call.comm, 0, sizeof(call.comm)));
	}
	if (decode_file(copy, n, &file) == DECODE_OK) {
		REQUIRE((const void *)file == copy && n >= FILE_RECORD_HEAD && file->n_bytes <= n - FILE_RECORD_HEAD);
		REQUIRE(!file->n_bytes || !file->text[file->n_bytes - 1]);
	}
	if (decode_life(copy, n, &life) == DECODE_OK) {
		REQUIRE((const void *)life == copy && n >= sizeof(*life));
		REQUIRE(memchr(life->comm, 0, sizeof(life->comm)));
		REQUIRE(life->type != RECORD_OOM || memchr(life->oom.by_comm, 0, sizeof(life->oom.by_comm)));
	}
	free(copy);
	return 0;
}
