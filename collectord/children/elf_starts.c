// SPDX-License-Identifier: Apache-2.0
#include "children/elf_starts.h"

#include "children/elf_bytes.h"

/* Source: Linux Standard Base Core Specification 5.0, 10.6.2. The encodings are those that linkers write. */
#define HEAD_VERSION 1
#define ENCODED_UDATA4 0x03
#define ENCODED_RELATIVE_TO_TABLE_SDATA4 0x3b
#define STEPS_MAX 32

struct starts_head {
	uint8_t version;
	uint8_t frames_encoding, count_encoding, table_encoding;
	int32_t frames; /* any encoding of four bytes */
	uint32_t n;
};

struct start_entry {
	int32_t start, frame; /* relative to the section */
};

bool elf_starts_find(const struct elf_file *f, const struct elf_parts *parts, uint64_t address, uint64_t *ret_start)
{
	struct starts_head head;
	struct start_entry entry;
	struct elf_bytes bytes;
	uint64_t low = 0, high, start = 0;
	bool is_found = false;

	if (elf_bytes_open(f, &parts->frames, &bytes) != PARSER_OK)
		return false;
	if (!elf_bytes_read(&bytes, 0, &head, sizeof(head)) || head.version != HEAD_VERSION ||
	    head.count_encoding != ENCODED_UDATA4 || head.table_encoding != ENCODED_RELATIVE_TO_TABLE_SDATA4)
		return false;
	high = head.n;
	for (size_t i = 0; low < high && i < STEPS_MAX; i++) {
		uint64_t middle = low + (high - low) / 2;

		if (!elf_bytes_read(&bytes, sizeof(head) + middle * sizeof(entry), &entry, sizeof(entry)))
			return false;
		if (parts->frames.sh_addr + (uint64_t)(int64_t)entry.start <= address) {
			start = parts->frames.sh_addr + (uint64_t)(int64_t)entry.start;
			is_found = true;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (is_found)
		*ret_start = start;
	return is_found;
}
