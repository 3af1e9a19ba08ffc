// SPDX-License-Identifier: Apache-2.0
#include "children/elf_plt.h"

#include <string.h>

#include "base/cleanup.h"
#include "children/address_sort.h"

/* Source: System V ABI, AMD64 Architecture Processor Supplement, 5.2 and 13.1. */
#define ENTRY_BYTES 16
#define RELOCATIONS_A_READ 512

enum entry_kind { ENTRY_NONE, ENTRY_SLOT, ENTRY_NUMBER };

/* @address: of its first byte. Return: what *ret_value is: address of its word, or number of its relocation */
static enum entry_kind plt_entry_read(const uint8_t *entry, size_t n, uint64_t address, uint64_t *ret_value)
{
	static const uint8_t branch_target[] = { 0xf3, 0x0f, 0x1e, 0xfa }, bounded = 0xf2, jump[] = { 0xff, 0x25 },
			     push = 0x68;
	size_t at = 0;
	int32_t value;

	if (n >= sizeof(branch_target) && memcmp(entry, branch_target, sizeof(branch_target)) == 0)
		at += sizeof(branch_target);
	if (at < n && entry[at] == push && at + 5 <= n) {
		memcpy(&value, entry + at + 1, sizeof(value));
		*ret_value = (uint32_t)value;
		return ENTRY_NUMBER;
	}
	if (at < n && entry[at] == bounded)
		at++;
	if (at + 6 > n || memcmp(entry + at, jump, sizeof(jump)) != 0)
		return ENTRY_NONE;
	memcpy(&value, entry + at + 2, sizeof(value));
	*ret_value = address + at + 6 + (uint64_t)(int64_t)value;
	return ENTRY_SLOT;
}

/* Return: false: it is of no function */
static bool relocation_use(const Elf64_Rela *relocation, struct elf_plt_target *ret_target)
{
	switch (ELF64_R_TYPE(relocation->r_info)) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		*ret_target = (struct elf_plt_target){ .symbol = (uint32_t)ELF64_R_SYM(relocation->r_info) };
		return ret_target->symbol != 0;
	case R_X86_64_IRELATIVE:
		*ret_target = (struct elf_plt_target){ .resolver = (uint64_t)relocation->r_addend };
		return true;
	default:
		return false;
	}
}

/* Return: false when there are too many */
static bool slots_add(struct elf_plt *plt, const struct elf_file *f, const Elf64_Shdr *section, Elf64_Rela *chunk)
{
	uint64_t n = MIN(section->sh_size / sizeof(*chunk), (uint64_t)ELF_RELOCATIONS_MAX);

	for (uint64_t done = 0; done < n; done += RELOCATIONS_A_READ) {
		size_t here = (size_t)MIN(n - done, (uint64_t)RELOCATIONS_A_READ);

		if (elf_file_read(f, section->sh_offset + done * sizeof(*chunk), chunk, here * sizeof(*chunk)) !=
		    PARSER_OK)
			return false;
		for (size_t i = 0; i < here; i++) {
			struct elf_slot slot = { .address = chunk[i].r_offset };

			if (relocation_use(&chunk[i], &slot.target) &&
			    (plt->slots.n == ELF_SLOTS_MAX || ARRAY_PUSH(&plt->slots, slot) < 0))
				return false;
		}
	}
	return true;
}

/*
 * Reads the relocations of functions. Those that belong to the table for lazy binding say which section they are for,
 * and they alone have numbers.
 */
static void relocations_read(struct elf_plt *plt, const struct elf_file *f)
{
	CLEANUP(freep) Elf64_Rela *chunk = malloc(RELOCATIONS_A_READ * sizeof(*chunk));
	uint64_t n_left = ELF_RELOCATIONS_MAX;

	for (uint64_t i = 0; chunk && i < f->n_sections; i++) {
		Elf64_Shdr section;

		if (!elf_file_read_section(f, i, &section) || section.sh_type != SHT_RELA ||
		    !(section.sh_flags & SHF_ALLOC) || section.sh_size / sizeof(*chunk) > n_left)
			continue;
		n_left -= section.sh_size / sizeof(*chunk);
		if ((section.sh_flags & SHF_INFO_LINK) && !plt->n_numbered) {
			plt->numbered_offset = section.sh_offset;
			plt->n_numbered = section.sh_size;
		}
		if (!slots_add(plt, f, &section, chunk))
			break;
	}
	ARRAY_FIT(&plt->slots);
	if (address_sort(plt->slots.items, plt->slots.n, sizeof(*plt->slots.items)) < 0)
		ARRAY_DONE(&plt->slots);
}

static bool slot_find(const struct elf_plt *plt, uint64_t address, struct elf_plt_target *ret_target)
{
	const struct elf_slot *slots = plt->slots.items;
	size_t i = SORTED_PLACE(plt->slots.n, k, slots[k].address < address);

	if (i == plt->slots.n || slots[i].address != address)
		return false;
	*ret_target = slots[i].target;
	return true;
}

static bool number_find(const struct elf_plt *plt, const struct elf_file *f, uint64_t number,
			struct elf_plt_target *ret_target)
{
	Elf64_Rela relocation;

	return number < plt->n_numbered / sizeof(relocation) &&
	       elf_file_read(f, plt->numbered_offset + number * sizeof(relocation), &relocation, sizeof(relocation)) ==
		       PARSER_OK &&
	       relocation_use(&relocation, ret_target);
}

bool elf_plt_find(struct elf_plt *plt, const struct elf_file *f, const struct elf_code *code, uint64_t address,
		  struct elf_plt_target *ret_target, uint64_t *ret_start)
{
	uint64_t entry_bytes = code->entry_bytes ? code->entry_bytes : ENTRY_BYTES, value = 0, n;
	uint64_t start = address - (address - code->start) % entry_bytes;
	uint8_t entry[ENTRY_BYTES];
	enum entry_kind kind;

	if (!code->is_plt || f->machine != EM_X86_64 || code->offset == UINT64_MAX || entry_bytes > ENTRY_BYTES)
		return false;
	n = MIN(entry_bytes, code->end - start);
	if (elf_file_read(f, code->offset + (start - code->start), entry, (size_t)n) != PARSER_OK)
		return false;
	kind = plt_entry_read(entry, (size_t)n, start, &value);
	if (kind != ENTRY_NONE && !plt->is_read) {
		relocations_read(plt, f);
		plt->is_read = true;
	}
	*ret_start = start;
	return kind == ENTRY_SLOT ? slot_find(plt, value, ret_target)
				  : kind == ENTRY_NUMBER && number_find(plt, f, value, ret_target);
}

size_t elf_plt_bytes(const struct elf_plt *plt)
{
	return plt->slots.room * sizeof(*plt->slots.items);
}

void elf_plt_done(struct elf_plt *plt)
{
	ARRAY_DONE(&plt->slots);
	*plt = (struct elf_plt){ .is_read = false };
}
