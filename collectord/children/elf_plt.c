// SPDX-License-Identifier: Apache-2.0
#include "children/elf_plt.h"

#include <string.h>

#include "base/cleanup.h"

/*
 * An entry jumps through a word of the global offset table, which the dynamic loader fills by a relocation. The entry
 * of a table for lazy binding may, instead of this jump, push the number of that relocation. Source: System V ABI,
 * AMD64 Architecture Processor Supplement, 5.2 and 13.1.
 */
#define ENTRY_BYTES 16
#define RELOCATIONS_MAX 1000000	  /* of a section, 24 bytes each */
#define RELOCATION_SECTIONS_MAX 8 /* linkers write two */
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

static bool relocation_use(const Elf64_Rela *relocation, struct elf_plt_target *target)
{
	switch (ELF64_R_TYPE(relocation->r_info)) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_64:
		target->symbol = (uint32_t)ELF64_R_SYM(relocation->r_info);
		return target->symbol != 0;
	case R_X86_64_IRELATIVE:
		target->resolver = (uint64_t)relocation->r_addend;
		return true;
	default:
		return false;
	}
}

/* Looks for the relocation of a word in one section. */
static bool slot_search(const struct elf_file *f, const Elf64_Shdr *section, uint64_t slot,
			struct elf_plt_target *target)
{
	CLEANUP(freep) Elf64_Rela *chunk = malloc(RELOCATIONS_A_READ * sizeof(*chunk));
	uint64_t n = MIN(section->sh_size / sizeof(*chunk), (uint64_t)RELOCATIONS_MAX);

	for (uint64_t done = 0; chunk && done < n; done += RELOCATIONS_A_READ) {
		size_t here = (size_t)MIN(n - done, (uint64_t)RELOCATIONS_A_READ);

		if (elf_file_read(f, section->sh_offset + done * sizeof(*chunk), chunk, here * sizeof(*chunk)) !=
		    PARSER_OK)
			return false;
		for (size_t i = 0; i < here; i++)
			if (chunk[i].r_offset == slot)
				return relocation_use(&chunk[i], target);
	}
	return false;
}

static bool number_search(const struct elf_file *f, const Elf64_Shdr *section, uint64_t number,
			  struct elf_plt_target *target)
{
	Elf64_Rela relocation;

	return number < section->sh_size / sizeof(relocation) &&
	       elf_file_read(f, section->sh_offset + number * sizeof(relocation), &relocation, sizeof(relocation)) ==
		       PARSER_OK &&
	       relocation_use(&relocation, target);
}

/*
 * Looks in the sections of one kind: those that belong to the table for lazy binding say which section they are for,
 * and their relocations alone have numbers.
 */
static bool sections_search(const struct elf_file *f, bool is_lazy, enum entry_kind kind, uint64_t value,
			    struct elf_plt_target *target)
{
	size_t n_sections = 0;

	for (uint64_t i = 0; i < f->n_sections && n_sections < RELOCATION_SECTIONS_MAX; i++) {
		Elf64_Shdr section;

		if (!elf_file_read_section(f, i, &section) || section.sh_type != SHT_RELA ||
		    !(section.sh_flags & SHF_ALLOC) || !(section.sh_flags & SHF_INFO_LINK) == is_lazy)
			continue;
		n_sections++;
		if (kind == ENTRY_SLOT ? slot_search(f, &section, value, target)
				       : number_search(f, &section, value, target))
			return true;
	}
	return false;
}

bool elf_plt_find(const struct elf_file *f, const struct elf_code *code, uint64_t address,
		  struct elf_plt_target *ret_target)
{
	uint64_t entry_bytes = code->entry_bytes ? code->entry_bytes : ENTRY_BYTES, value = 0, n;
	struct elf_plt_target target = { .start = address - (address - code->start) % entry_bytes };
	uint8_t entry[ENTRY_BYTES];
	enum entry_kind kind;

	if (!code->is_plt || f->machine != EM_X86_64 || code->offset == UINT64_MAX || entry_bytes > ENTRY_BYTES)
		return false;
	n = MIN(entry_bytes, code->end - target.start);
	if (elf_file_read(f, code->offset + (target.start - code->start), entry, (size_t)n) != PARSER_OK)
		return false;
	kind = plt_entry_read(entry, (size_t)n, target.start, &value);
	if (kind == ENTRY_NONE ||
	    (!sections_search(f, /* is_lazy= */ true, kind, value, &target) &&
	     (kind == ENTRY_NUMBER || !sections_search(f, /* is_lazy= */ false, kind, value, &target))))
		return false;
	*ret_target = target;
	return true;
}
