// SPDX-License-Identifier: Apache-2.0
/* Bytes of a section of an ELF file. Those of a compressed section are unpacked into memory. */
#pragma once

#include "children/elf_file.h"

#define ELF_UNPACKED_BYTES_MAX (128u << 20) /* of one section; libc6-dbg of Debian has 5 MiB */
#define ELF_XZ_BYTES_MAX (32u << 20)	    /* of .gnu_debugdata unpacked, which has functions alone */

/* A section whose bytes can be read: in place, or unpacked. */
struct elf_bytes {
	const struct elf_file *file; /* borrowed */
	uint64_t offset;	     /* in the file */
	uint64_t n;
	uint8_t *unpacked; /* owned; NULL: in the file */
};

/**
 * elf_bytes_open() - read a section, unpacked if it is compressed
 * Return: PARSER_OK; PARSER_TOO_LARGE beyond ELF_UNPACKED_BYTES_MAX; another one if it is missing or damaged. Only with
 * PARSER_OK is *ret_bytes set.
 */
enum parser_result elf_bytes_open(const struct elf_file *f, const Elf64_Shdr *section, struct elf_bytes *ret_bytes);
/** elf_bytes_open_xz() - the same for .gnu_debugdata */
enum parser_result elf_bytes_open_xz(const struct elf_file *f, const Elf64_Shdr *section, struct elf_bytes *ret_bytes);
void elf_bytes_close(struct elf_bytes *bytes);
/** elf_bytes_read() - read exactly n bytes. Return: false outside of the section */
bool elf_bytes_read(const struct elf_bytes *bytes, uint64_t at, void *data, size_t n);
/** elf_bytes_read_some() - read at most n bytes, fewer at the end. Return: number of bytes, 0 on failure */
size_t elf_bytes_read_some(const struct elf_bytes *bytes, uint64_t at, void *data, size_t n);
/**
 * elf_bytes_read_text() - read a NUL-terminated text, cut to room - 1 bytes
 * Return: its length; 0 if it is empty or not in the section, and then text is ""
 */
size_t elf_bytes_read_text(const struct elf_bytes *bytes, uint64_t at, char *text, size_t room);
