// SPDX-License-Identifier: Apache-2.0
#include "unwind_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PCREL_SDATA4 0x1b
#define NAMES "\0.eh_frame\0.debug_frame\0.gopclntab\0.shstrtab"
#define NAME_EH_FRAME 1
#define NAME_DEBUG_FRAME 11
#define NAME_GO 24
#define NAME_NAMES 35

void image_start(struct image *image, bool is_debug)
{
	memset(image, 0, sizeof(*image));
	image->at = IMAGE_FRAMES;
	image->is_debug = is_debug;
}

void image_put(struct image *image, const void *bytes, size_t n)
{
	if (n > IMAGE_SECTIONS - image->at)
		abort();
	if (n)
		memcpy(image->bytes + image->at, bytes, n);
	image->at += (uint32_t)n;
}

/* Its size is written by entry_end(). */
static uint32_t entry_begin(struct image *image, uint32_t kind)
{
	uint32_t start = image->at, none = 0;

	image_put(image, &none, 4);
	image_put(image, &kind, 4);
	return start;
}

static uint32_t entry_end(struct image *image, uint32_t start)
{
	uint32_t n = image->at - start - 4;

	memcpy(image->bytes + start, &n, 4);
	return start;
}

uint32_t image_cie(struct image *image, const uint8_t *head, size_t n_head, const uint8_t *program, size_t n)
{
	static const uint8_t usual[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, PCREL_SDATA4 };
	static const uint8_t debug[] = { 3, 0, 1, 0x78, 16 };
	uint32_t start = entry_begin(image, image->is_debug ? UINT32_MAX : 0);

	image->encoding = PCREL_SDATA4;
	if (head)
		image_put(image, head, n_head);
	else if (image->is_debug)
		image_put(image, debug, sizeof(debug));
	else
		image_put(image, usual, sizeof(usual));
	image_put(image, program, n);
	return entry_end(image, start);
}

uint32_t image_fde(struct image *image, uint32_t cie, uint64_t code, uint64_t n_code, const uint8_t *program, size_t n)
{
	uint32_t start = entry_begin(image, image->is_debug ? cie - IMAGE_FRAMES : image->at + 4 - cie);
	uint64_t begin = code + image->code_bias;
	uint8_t none = 0;

	if (image->is_debug || image->encoding != PCREL_SDATA4) {
		image_put(image, &begin, 8);
		image_put(image, &n_code, 8);
	} else {
		int32_t delta = (int32_t)(int64_t)(begin - image->at - image->data_bias);

		image_put(image, &delta, 4);
		image_put(image, &n_code, 4);
	}
	if (!image->is_debug)
		image_put(image, &none, 1); /* no data of augmentation */
	image_put(image, program, n);
	if (image->n == IMAGE_ENTRIES_MAX)
		abort();
	image->entries[image->n].begin = begin;
	image->entries[image->n++].at = start;
	return entry_end(image, start);
}

Elf64_Phdr *image_segment(struct image *image, size_t i)
{
	return (Elf64_Phdr *)(image->bytes + sizeof(Elf64_Ehdr)) + i;
}

static struct image_table_entry *table_write(struct image *image)
{
	static const uint8_t encodings[] = { 1, PCREL_SDATA4, 0x03, 0x3b };
	uint64_t address = IMAGE_HEAD + image->data_bias;
	struct image_table_entry *table = (struct image_table_entry *)(image->bytes + IMAGE_HEAD + 12);
	int32_t delta = (int32_t)(IMAGE_FRAMES - (IMAGE_HEAD + 4));
	uint32_t n = (uint32_t)image->n;

	if (12 + n * sizeof(*table) > IMAGE_FRAMES - IMAGE_HEAD)
		abort();
	memcpy(image->bytes + IMAGE_HEAD, encodings, 4);
	memcpy(image->bytes + IMAGE_HEAD + 4, &delta, 4);
	memcpy(image->bytes + IMAGE_HEAD + 8, &n, 4);
	for (uint32_t i = 0, k; i < n; i++) {
		struct image_table_entry entry = {
			(int32_t)(int64_t)(image->entries[i].begin - address),
			(int32_t)(image->entries[i].at - IMAGE_HEAD),
		};

		for (k = i; k && table[k - 1].begin > entry.begin; k--)
			table[k] = table[k - 1];
		table[k] = entry;
	}
	return table;
}

static void sections_write(struct image *image, uint32_t flags)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(image->bytes + IMAGE_SECTIONS);
	Elf64_Shdr frames = {
		.sh_name = flags & IMAGE_DEBUG ? NAME_DEBUG_FRAME : NAME_EH_FRAME,
		.sh_type = SHT_PROGBITS,
		.sh_flags = flags & IMAGE_COMPRESSED ? SHF_COMPRESSED : 0,
		.sh_addr = flags & IMAGE_DEBUG ? 0 : IMAGE_FRAMES + image->data_bias,
		.sh_offset = IMAGE_FRAMES,
		.sh_size = image->at - IMAGE_FRAMES,
	};
	Elf64_Shdr names = {
		.sh_name = NAME_NAMES,
		.sh_type = SHT_STRTAB,
		.sh_offset = IMAGE_SECTIONS + 4 * sizeof(names),
		.sh_size = sizeof(NAMES),
	};

	sections[1] = names;
	sections[2] = frames;
	if (flags & IMAGE_GO)
		sections[3] = (Elf64_Shdr){ .sh_name = NAME_GO, .sh_type = SHT_PROGBITS, .sh_size = 1 };
	memcpy(image->bytes + names.sh_offset, NAMES, sizeof(NAMES));
}

struct image_table_entry *image_finish(struct image *image, uint32_t flags)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = flags & IMAGE_FIXED ? ET_EXEC : ET_DYN,
#ifdef __aarch64__
		.e_machine = EM_AARCH64,
#else
		.e_machine = EM_X86_64,
#endif
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = flags & IMAGE_TABLE ? 3 : 2,
		.e_shoff = flags & IMAGE_NAMES ? IMAGE_SECTIONS : 0,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = flags & IMAGE_NAMES ? 4 : 0,
		.e_shstrndx = flags & IMAGE_NAMES ? 1 : 0,
	};
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = IMAGE_CODE,
		  .p_vaddr = IMAGE_CODE + image->code_bias,
		  .p_filesz = IMAGE_CODE_BYTES,
		  .p_memsz = IMAGE_CODE_BYTES },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R,
		  .p_offset = IMAGE_HEAD,
		  .p_vaddr = IMAGE_HEAD + image->data_bias,
		  .p_filesz = IMAGE_SECTIONS - IMAGE_HEAD,
		  .p_memsz = IMAGE_SECTIONS - IMAGE_HEAD },
		{ .p_type = PT_GNU_EH_FRAME,
		  .p_flags = PF_R,
		  .p_offset = IMAGE_HEAD,
		  .p_vaddr = IMAGE_HEAD + image->data_bias,
		  .p_filesz = 12 + image->n * sizeof(struct image_table_entry),
		  .p_memsz = 12 + image->n * sizeof(struct image_table_entry) },
	};

	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image_segment(image, 0), segments, sizeof(segments));
	if (flags & IMAGE_NAMES)
		sections_write(image, flags);
	return flags & IMAGE_TABLE ? table_write(image) : NULL;
}
