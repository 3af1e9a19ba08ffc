// SPDX-License-Identifier: Apache-2.0
#include "io/io_calls.h"

#include <bpf/btf.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"

#if defined(__x86_64__)
#define ENTRY_PREFIX "__x64_sys_"
#else
#define ENTRY_PREFIX "__arm64_sys_"
#endif

static const char *const names[IO_CALL_COUNT] = {
#define IO_CALL(name, ...) [IO_CALL_##name] = #name,
#include "bpf/io_calls.def"
};

/* Calls that this processor never had. */
static const bool is_foreign[IO_CALL_COUNT] = {
#if defined(__aarch64__)
#define IO_CALL(name, ...)
#define IO_CALL_X86(name, ...) [IO_CALL_##name] = true,
#include "bpf/io_calls.def"
#endif
};

const char *io_call_name(uint32_t call)
{
	return call && call < IO_CALL_COUNT ? names[call] : NULL;
}

const char *io_call_nearest(const char *typed)
{
	return name_nearest(typed, names, ARRAY_SIZE(names));
}

bool io_call_returns_bytes(uint32_t call)
{
	static const uint8_t of[IO_CALL_COUNT] = {
#define IO_CALL(name, x86, arm64, object, fd, path, bytes) [IO_CALL_##name] = bytes,
#include "bpf/io_calls.def"
	};

	return call < IO_CALL_COUNT && of[call] != IO_NO_BYTES;
}

uint32_t io_call_find(const char *name)
{
	for (uint32_t i = 1; i < IO_CALL_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

void io_calls_missing(const struct btf *btf, uint64_t ret[IO_CALL_IDS / 64])
{
	uint32_t n = btf__type_cnt(btf);

	memset(ret, 0, IO_CALL_IDS / 8);
	for (uint32_t i = 1; i < IO_CALL_COUNT; i++)
		if (!is_foreign[i])
			ret[i / 64] |= 1ull << (i & 63);
	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *type = btf__type_by_id(btf, i);
		const char *name = btf_is_func(type) ? btf__name_by_offset(btf, type->name_off) : NULL;
		uint32_t call;

		if (!name || strncmp(name, ENTRY_PREFIX, strlen(ENTRY_PREFIX)) != 0)
			continue;
		call = io_call_find(name + strlen(ENTRY_PREFIX));
		if (call)
			ret[call / 64] &= ~(1ull << (call & 63));
	}
}
