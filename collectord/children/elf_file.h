// SPDX-License-Identifier: Apache-2.0
/* Parts of an ELF file, read in pieces. Every value is checked against the file's size. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "children/elf.h"

#define ELF_WINDOW_BYTES 4096
#define ELF_NEEDED_MAX 32 /* guess: Python's interpreters need 7 libraries; more are not looked at */

/* Set fd (or image) and bytes, all else zero, before the header is read. */
struct elf_file {
	int fd;
	const uint8_t *image; /* its bytes in memory; NULL: they are read from fd */
	uint64_t bytes;
	uint16_t machine; /* e_machine */
	size_t n_segments;
	uint64_t sections_offset;
	size_t n_sections;    /* 65535 at most */
	size_t names_section; /* index of the section with the names of sections */
	Elf64_Phdr segments[ELF_SEGMENTS_MAX];
	/* Window for reading names: bytes of the file from window_start on. */
	uint64_t window_start;
	size_t n_window;
	char window[ELF_WINDOW_BYTES];
};

/* Tables of the dynamic segment: addresses as linked, 0 when absent. */
struct elf_dynamic {
	uint64_t symbols;
	uint64_t strings;
	uint64_t strings_bytes;
	uint64_t hash;
	uint64_t gnu_hash;
	uint64_t soname; /* index into strings */
	bool has_soname;
	uint64_t relocations; /* with addends (DT_RELA) */
	uint64_t relocations_bytes;
	uint64_t needed[ELF_NEEDED_MAX]; /* libraries: indices into strings */
	size_t n_needed;
};

/** elf_file_read() - read exactly n bytes. Return: PARSER_OK, or the reason of failure */
enum parser_result elf_file_read(const struct elf_file *f, uint64_t offset, void *data, size_t n);
/**
 * elf_file_find() - file offset of an address as linked
 * @flags: PF_*, required flags of its segment
 * @ret_bytes: number of bytes from there to the end of the segment, and of those that go on after it both in memory and
 *	       in the file, as patchelf leaves them
 * Return: false when no segment contains it
 */
bool elf_file_find(const struct elf_file *f, uint64_t address, uint32_t flags, uint64_t *ret_offset,
		   uint64_t *ret_bytes);
/** elf_file_read_at() - read exactly n bytes at an address as linked. Return: PARSER_OK, or the reason of failure */
enum parser_result elf_file_read_at(const struct elf_file *f, uint64_t address, void *data, size_t n);
/** elf_file_read_header() - read header and segments, needed by all other functions; yields the machine */
enum parser_result elf_file_read_header(struct elf_file *f, uint16_t *ret_machine);
enum parser_result elf_file_read_dynamic(const struct elf_file *f, struct elf_dynamic *ret_dynamic);
/** elf_file_count_symbols() - size of the dynamic symbol table, which only its hash tables contain */
enum parser_result elf_file_count_symbols(const struct elf_file *f, const struct elf_dynamic *d, uint32_t *ret_n);
/**
 * elf_file_read_name() - read a name of at most room - 1 characters; longer names cannot match and read as ""
 * Return: false when the name lies outside the table of names
 */
bool elf_file_read_name(struct elf_file *f, uint64_t strings_offset, uint64_t strings_bytes, uint64_t at, char *name,
			size_t room);
/** elf_file_read_section() - read a section. Return: false unless it lies in the file */
bool elf_file_read_section(const struct elf_file *f, uint64_t i, Elf64_Shdr *ret_section);
/**
 * elf_file_read_build_id() - read the build-id from the notes of the segments, else of the sections
 * @id: room for PARSER_BUILD_ID_BYTES, which a longer one is cut to
 * @ret_n: number of its bytes; 0: none
 * Return: PARSER_OK, or why the segments cannot be read, whether or not one was found
 */
enum parser_result elf_file_read_build_id(const struct elf_file *f, uint8_t *id, uint8_t *ret_n);
