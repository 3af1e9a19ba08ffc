// SPDX-License-Identifier: Apache-2.0
/*
 * ELF files made by hand, with entries of unwinding. A file has code from IMAGE_CODE on, .eh_frame or .debug_frame with
 * the entries that were added, and what IMAGE_* flags ask for.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_CODE 0x1000u /* place in the file */
#define IMAGE_CODE_BYTES 0x8000u
#define IMAGE_HEAD 0x9000u /* of the table */
#define IMAGE_FRAMES 0xa000u
#define IMAGE_SECTIONS 0x1f000u
#define IMAGE_BYTES 0x20000u
#define IMAGE_ENTRIES_MAX 500
#define IMAGE_PROGRAM_BYTES 48

/* Flags of image_finish(). */
#define IMAGE_TABLE 1	    /* PT_GNU_EH_FRAME */
#define IMAGE_NAMES 2	    /* section headers */
#define IMAGE_DEBUG 4	    /* the entries are .debug_frame */
#define IMAGE_FIXED 8	    /* ET_EXEC */
#define IMAGE_GO 16	    /* with IMAGE_NAMES: a section of Go */
#define IMAGE_COMPRESSED 32 /* with IMAGE_NAMES: the section of entries */

struct image_table_entry {
	int32_t begin, fde;
};

struct image {
	uint64_t code_bias, data_bias; /* address minus place in the file */
	uint32_t at;		       /* place of the next entry */
	uint8_t encoding;	       /* of pointers to code */
	bool is_debug;
	size_t n;
	struct {
		uint64_t begin;
		uint32_t at;
	} entries[IMAGE_ENTRIES_MAX];
	uint8_t bytes[IMAGE_BYTES];
};

/** image_start() - forget everything; entries that are added now are for .debug_frame, or .eh_frame */
void image_start(struct image *image, bool is_debug);
/** image_put() - append n bytes to the entry that is being added */
void image_put(struct image *image, const void *bytes, size_t n);
/**
 * image_cie() - add a CIE
 * @head: version, augmentation, factors and so on; NULL: version 1, "zR", 1, -8, 16, pcrel | sdata4
 * Return: its place
 */
uint32_t image_cie(struct image *image, const uint8_t *head, size_t n_head, const uint8_t *program, size_t n);
/** image_fde() - add an FDE of n_code bytes of code at a place in the file. Return: its place */
uint32_t image_fde(struct image *image, uint32_t cie, uint64_t code, uint64_t n_code, const uint8_t *program, size_t n);
/** image_finish() - write headers and the table. Return: the table, which may be spoiled */
struct image_table_entry *image_finish(struct image *image, uint32_t flags);
/** image_segment() - the i-th program header: code, data, and the table */
Elf64_Phdr *image_segment(struct image *image, size_t i);
