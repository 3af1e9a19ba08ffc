// SPDX-License-Identifier: Apache-2.0
/* Entries of the procedure linkage table: jumps to functions of other files, which no symbol names. */
#pragma once

#include "children/elf_symbols.h"

/* What an entry jumps to. */
struct elf_plt_target {
	uint32_t symbol;   /* index in the dynamic table; 0: none */
	uint64_t resolver; /* without a symbol: address of the function that chooses the target; 0: none */
	uint64_t start;	   /* of the entry, as linked */
};

/**
 * elf_plt_find() - what the entry with this address jumps to
 * @code: range of the address
 * Return: false: it is no entry, or of a machine whose entries are not known
 */
bool elf_plt_find(const struct elf_file *f, const struct elf_code *code, uint64_t address,
		  struct elf_plt_target *ret_target);
