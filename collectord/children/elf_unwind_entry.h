// SPDX-License-Identifier: Apache-2.0
/* Entries of .eh_frame and .debug_frame, read in pieces: which code each describes, and its program. */
#pragma once

#include "children/elf_file.h"
#include "children/elf_unwind_cfa.h"

#define FRAME_CIE_BYTES_MAX 1024       /* guess: 24 are usual */
#define FRAME_FDE_BYTES_MAX (8u << 20) /* likewise: 4 096 are many */
#define FRAME_CIES 8		       /* kept for the next entries; libraries have up to 4 */
#define FRAME_WINDOW_BYTES 65536       /* at most read at once, if no entry is larger */
#define FRAME_WORK_MAX (192u << 20)    /* bytes read, run and painted for one question; libtorch_cpu.so has 15 MiB */

/* Bytes with entries, which are in the file at `offset`. */
struct frame_region {
	uint64_t address; /* as linked; of .debug_frame, which is not loaded, 0 */
	uint64_t offset;
	uint64_t bytes;
	bool is_debug;		 /* .debug_frame */
	bool ends_at_terminator; /* `bytes` may be too large */
};

struct frame_reader {
	const struct elf_file *file;
	bool has_fixed_addresses;  /* the file is not relocated when it is loaded */
	enum parser_result result; /* PARSER_OK as long as the file could be read and work is left */
	uint64_t left;		   /* work that is left, bytes */
	size_t at_once;		   /* bytes to read at least, FRAME_WINDOW_BYTES at most */
	uint64_t start;		   /* offset of the window in the file */
	size_t n, room;
	uint8_t *window; /* owned */
	struct {
		uint64_t offset; /* in the file */
		bool is_usable;
		struct frame_cie cie;
	} cies[FRAME_CIES];
	size_t n_cies; /* read so far */
};

struct frame_entry {
	uint64_t address, body, end; /* body: what follows its kind */
	uint64_t cie;		     /* address of its CIE */
	bool is_cie;
	bool is_terminator;
};

struct frame_fde {
	const struct frame_cie *cie;
	uint64_t begin, end;	/* addresses of its code */
	uint64_t address;	/* of its program */
	const uint8_t *program; /* these two are valid until the next entry is read */
	size_t n_program;
};

/** frame_reader_init() - return false without memory; frame_reader_done() in both cases */
bool frame_reader_init(struct frame_reader *r, const struct elf_file *file);
void frame_reader_done(struct frame_reader *r);
/** frame_reader_spend() - take from the work that is left. Return: false: there is too little */
bool frame_reader_spend(struct frame_reader *r, uint64_t n);
/** frame_entry_read() - kind and size of the entry at an address. Return: false: there is no such entry */
bool frame_entry_read(struct frame_reader *r, const struct frame_region *region, uint64_t address,
		      struct frame_entry *ret_entry);
/** frame_fde_read() - read an entry that is no CIE. Return: false: damaged, or of a kind that is not understood */
bool frame_fde_read(struct frame_reader *r, const struct frame_region *region, const struct frame_entry *entry,
		    struct frame_fde *ret_fde);
