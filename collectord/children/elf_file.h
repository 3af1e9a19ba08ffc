// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of an ELF file, read piece by piece and each believed only as far as the file's length bears it out.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "children/elf.h"

#define ELF_WINDOW_BYTES 4096

/* Zero, with fd and bytes set, before its header is read. */
struct elf_file {
	int fd;
	uint64_t bytes;
	size_t n_segments;
	uint64_t sections_offset;
	size_t n_sections; /* 65535 at most */
	Elf64_Phdr segments[ELF_SEGMENTS_MAX];
	/* Names are read through this: bytes of the file from window_start on. */
	uint64_t window_start;
	size_t n_window;
	char window[ELF_WINDOW_BYTES];
};

/* Tables that the dynamic segment points at: addresses as linked, 0 when absent. */
struct elf_dynamic {
	uint64_t symbols;
	uint64_t strings;
	uint64_t strings_bytes;
	uint64_t hash;
	uint64_t gnu_hash;
	uint64_t soname; /* index into strings */
	bool has_soname;
};

/** elf_file_read() - exactly n bytes, or a result that says why not */
enum parser_result elf_file_read(const struct elf_file *f, uint64_t offset, void *data, size_t n);
/**
 * elf_file_find() - where an address as linked lies in the file
 * @flags: PF_*, that its segment must have
 * @ret_bytes: how many of the bytes there belong to its segment
 * Return: false when no segment holds it
 */
bool elf_file_find(const struct elf_file *f, uint64_t address, uint32_t flags, uint64_t *ret_offset,
		   uint64_t *ret_bytes);
/** elf_file_read_at() - as elf_file_read(), by an address as linked */
enum parser_result elf_file_read_at(const struct elf_file *f, uint64_t address, void *data, size_t n);
/** elf_file_read_header() - the header and the segments, which all else needs; tells the machine */
enum parser_result elf_file_read_header(struct elf_file *f, uint16_t *ret_machine);
enum parser_result elf_file_read_dynamic(const struct elf_file *f, struct elf_dynamic *ret_dynamic);
/** elf_file_count_symbols() - of the dynamic table, which says itself only by its hashes how long it is */
enum parser_result elf_file_count_symbols(const struct elf_file *f, const struct elf_dynamic *d, uint32_t *ret_n);
/**
 * elf_file_read_name() - a name of at most room - 1 characters; longer ones are none of ours and read as ""
 * Return: false when the name lies outside the table of names
 */
bool elf_file_read_name(struct elf_file *f, uint64_t strings_offset, uint64_t strings_bytes, uint64_t at, char *name,
			size_t room);
/** elf_file_read_section() - Return: false unless it lies in the file */
bool elf_file_read_section(const struct elf_file *f, uint64_t i, Elf64_Shdr *ret_section);
