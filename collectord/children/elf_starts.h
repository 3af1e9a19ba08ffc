// SPDX-License-Identifier: Apache-2.0
/* Where functions start, by the sorted table of .eh_frame_hdr, which files without symbols have, too. */
#pragma once

#include "children/elf_parts.h"

/**
 * elf_starts_find() - start of the function with an address, as linked
 * Return: false: the file has no such table, or no function starts at or before the address
 */
bool elf_starts_find(const struct elf_file *f, const struct elf_parts *parts, uint64_t address, uint64_t *ret_start);
