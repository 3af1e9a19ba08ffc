// SPDX-License-Identifier: Apache-2.0
/*
 * Entries of the procedure linkage table: jumps to functions of other files, which no symbol names.
 *
 * An entry jumps through a word of the global offset table, which the dynamic loader fills by a relocation. The entry
 * of a table for lazy binding may, instead of this jump, push the number of that relocation.
 */
#pragma once

#include "base/array.h"
#include "children/elf_parts.h"

#define ELF_RELOCATIONS_MAX 4000000 /* that are looked at, 24 bytes each */
#define ELF_SLOTS_MAX 200000	    /* relocations of functions among them; libLLVM has 500 */

/* What an entry jumps to. */
struct elf_plt_target {
	uint32_t symbol;   /* index in the dynamic table; 0: none */
	uint64_t resolver; /* without a symbol: address of the function that chooses the target */
};

/* A word of the global offset table. */
struct elf_slot {
	uint64_t address; /* as linked */
	struct elf_plt_target target;
};

/* Zero at first: the relocations are read when the first entry is looked for. */
struct elf_plt {
	bool is_read;
	ARRAY(struct elf_slot) slots;	      /* by address */
	uint64_t numbered_offset, n_numbered; /* where the relocations with numbers are in the file; bytes */
};

/**
 * elf_plt_find() - what the entry with this address jumps to
 * @code: range of the address
 * @ret_start: start of the entry, as linked
 * Return: false: it is no entry, or of a machine whose entries are not known
 */
bool elf_plt_find(struct elf_plt *plt, const struct elf_file *f, const struct elf_code *code, uint64_t address,
		  struct elf_plt_target *ret_target, uint64_t *ret_start);
/** elf_plt_bytes() - memory that it holds */
size_t elf_plt_bytes(const struct elf_plt *plt);
void elf_plt_done(struct elf_plt *plt);
