// SPDX-License-Identifier: Apache-2.0
#include "children/elf_bytes.h"

#include <string.h>

#include "base/cleanup.h"
#include "children/elf_unpack.h"

#define TEXT_STEP_BYTES 128  /* most texts are shorter */
#define COMPRESSED_BY_ZSTD 2 /* ELFCOMPRESS_ZSTD, which not every <elf.h> has */

bool elf_bytes_read(const struct elf_bytes *bytes, uint64_t at, void *data, size_t n)
{
	if (at > bytes->n || n > bytes->n - at)
		return false;
	if (bytes->unpacked)
		memcpy(data, bytes->unpacked + at, n);
	return bytes->unpacked || elf_file_read(bytes->file, bytes->offset + at, data, n) == PARSER_OK;
}

size_t elf_bytes_read_some(const struct elf_bytes *bytes, uint64_t at, void *data, size_t n)
{
	if (at >= bytes->n)
		return 0;
	n = (size_t)MIN((uint64_t)n, bytes->n - at);
	return elf_bytes_read(bytes, at, data, n) ? n : 0;
}

size_t elf_bytes_read_text(const struct elf_bytes *bytes, uint64_t at, char *text, size_t room)
{
	size_t n = 0, end = MIN((size_t)TEXT_STEP_BYTES, room - 1);

	while (n < room - 1) {
		size_t got = elf_bytes_read_some(bytes, at + n, text + n, end - n);
		const char *nul = memchr(text + n, 0, got);

		if (nul)
			return (size_t)(nul - text);
		n += got;
		if (n < end) { /* the section ends without one */
			n = 0;
			break;
		}
		end = MIN(4 * end, room - 1);
	}
	text[n] = 0;
	return n;
}

void elf_bytes_close(struct elf_bytes *bytes)
{
	free(bytes->unpacked);
	*bytes = (struct elf_bytes){ .n = 0 };
}

/* Reads packed bytes. Return: NULL: they cannot be read; the caller's */
static uint8_t *packed_read(const struct elf_file *f, uint64_t offset, uint64_t n)
{
	CLEANUP(freep) uint8_t *packed = n <= ELF_UNPACKED_BYTES_MAX ? malloc((size_t)n + 1) : NULL;

	if (!packed || elf_file_read(f, offset, packed, (size_t)n) != PARSER_OK)
		return NULL;
	return TAKE_PTR(packed);
}

static enum parser_result compressed_open(const struct elf_file *f, const Elf64_Shdr *section,
					  struct elf_bytes *ret_bytes)
{
	CLEANUP(freep) uint8_t *packed = NULL, *unpacked = NULL;
	uint64_t n = section->sh_size - sizeof(Elf64_Chdr);
	enum parser_result r;
	Elf64_Chdr head;
	bool is_ok;

	if (section->sh_size < sizeof(head))
		return PARSER_DAMAGED;
	r = elf_file_read(f, section->sh_offset, &head, sizeof(head));
	if (r != PARSER_OK)
		return r;
	if (head.ch_size > ELF_UNPACKED_BYTES_MAX || n > ELF_UNPACKED_BYTES_MAX)
		return PARSER_TOO_LARGE;
	packed = packed_read(f, section->sh_offset + sizeof(head), n);
	unpacked = malloc((size_t)head.ch_size + 1);
	if (!packed || !unpacked)
		return PARSER_UNREADABLE;
	if (head.ch_type == ELFCOMPRESS_ZLIB)
		is_ok = unpack_zlib(packed, (size_t)n, unpacked, (size_t)head.ch_size);
	else
		is_ok = head.ch_type == COMPRESSED_BY_ZSTD &&
			unpack_zstd(packed, (size_t)n, unpacked, (size_t)head.ch_size);
	if (!is_ok)
		return PARSER_DAMAGED;
	*ret_bytes = (struct elf_bytes){ .file = f, .n = head.ch_size, .unpacked = TAKE_PTR(unpacked) };
	return PARSER_OK;
}

enum parser_result elf_bytes_open(const struct elf_file *f, const Elf64_Shdr *section, struct elf_bytes *ret_bytes)
{
	if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS)
		return PARSER_DAMAGED;
	if (section->sh_flags & SHF_COMPRESSED)
		return compressed_open(f, section, ret_bytes);
	*ret_bytes = (struct elf_bytes){ .file = f, .offset = section->sh_offset, .n = section->sh_size };
	return PARSER_OK;
}

enum parser_result elf_bytes_open_xz(const struct elf_file *f, const Elf64_Shdr *section, struct elf_bytes *ret_bytes)
{
	CLEANUP(freep) uint8_t *packed = NULL;
	uint8_t *unpacked;
	size_t n;

	if (section->sh_type == SHT_NULL || section->sh_size > ELF_XZ_BYTES_MAX)
		return PARSER_DAMAGED;
	packed = packed_read(f, section->sh_offset, section->sh_size);
	unpacked = packed ? unpack_xz(packed, (size_t)section->sh_size, ELF_XZ_BYTES_MAX, &n) : NULL;
	if (!unpacked)
		return PARSER_DAMAGED;
	*ret_bytes = (struct elf_bytes){ .file = f, .n = n, .unpacked = unpacked };
	return PARSER_OK;
}
