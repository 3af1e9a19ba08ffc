// SPDX-License-Identifier: Apache-2.0
#include "children/elf_unwind_entry.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define HEAD_BYTES 20 /* of an entry: its size and its kind, with 64-bit offsets */
#define IS_64 0xffffffffu
#define CODE_MAX (1ull << 47) /* end of a process's addresses */
#define RETURN_COLUMN 16
#define ADDRESS_BYTES 8
#define POINTER_OMITTED 0xff
#define POINTER_ALIGNED 0x50

bool frame_reader_init(struct frame_reader *r, const struct elf_file *file)
{
	*r = (struct frame_reader){
		.file = file, .at_once = ELF_WINDOW_BYTES, .left = FRAME_WORK_MAX, .room = FRAME_WINDOW_BYTES
	};
	r->window = malloc(r->room);
	return r->window;
}

void frame_reader_done(struct frame_reader *r)
{
	free(r->window);
	r->window = NULL;
}

bool frame_reader_spend(struct frame_reader *r, uint64_t n)
{
	if (n > r->left) {
		r->result = PARSER_TOO_LARGE;
		return false;
	}
	r->left -= n;
	return true;
}

/*
 * n bytes at an address of the region, valid until the next call.
 * Return: NULL: they are not all in it, or too many, or cannot be read
 */
static const uint8_t *region_bytes(struct frame_reader *r, const struct frame_region *region, uint64_t address,
				   uint64_t n)
{
	uint64_t into = address - region->address, offset = region->offset + into, n_read;

	if (address < region->address || into > region->bytes || n > region->bytes - into || n > FRAME_FDE_BYTES_MAX)
		return NULL;
	if (offset >= r->start && offset - r->start <= r->n && n <= r->n - (offset - r->start))
		return r->window + (offset - r->start);

	n_read = MIN(MAX(n, (uint64_t)r->at_once), region->bytes - into);
	if (!frame_reader_spend(r, n_read))
		return NULL;
	if (n_read > r->room) {
		uint8_t *more = realloc(r->window, (size_t)n_read);

		if (!more)
			return NULL;
		r->window = more;
		r->room = (size_t)n_read;
	}
	r->n = 0;
	r->result = elf_file_read(r->file, offset, r->window, (size_t)n_read);
	if (r->result != PARSER_OK)
		return NULL;
	r->start = offset;
	r->n = (size_t)n_read;
	return r->window;
}

bool frame_entry_read(struct frame_reader *r, const struct frame_region *region, uint64_t address,
		      struct frame_entry *ret_entry)
{
	uint64_t into = address - region->address, head, left, bytes, kind, at;
	const uint8_t *data;
	size_t width = 4; /* of offsets */
	struct frame_bytes b;

	if (address < region->address || into >= region->bytes)
		return false;
	left = region->bytes - into;
	head = MIN(left, (uint64_t)HEAD_BYTES);
	data = region_bytes(r, region, address, head);
	if (!data)
		return false;

	b = (struct frame_bytes){ .at = data, .end = data + head };
	*ret_entry = (struct frame_entry){ .address = address, .end = address + 4 };
	bytes = frame_bytes_fixed(&b, 4);
	ret_entry->is_terminator = !b.is_bad && bytes == 0;
	if (ret_entry->is_terminator)
		return true;
	if (bytes == IS_64) {
		if (!region->is_debug) /* no compiler writes that there, and no unwinder reads it */
			return false;
		width = 8;
		bytes = frame_bytes_fixed(&b, 8);
	}
	at = (uint64_t)(b.at - data);
	if (b.is_bad || bytes > left - at)
		return false;
	ret_entry->end = address + at + bytes;
	kind = frame_bytes_fixed(&b, width);
	if (b.is_bad || bytes < width)
		return false;
	ret_entry->body = address + at + width;
	if (region->is_debug) {
		ret_entry->is_cie = kind == (width == 8 ? UINT64_MAX : UINT32_MAX);
		ret_entry->cie = region->address + kind;
	} else {
		ret_entry->is_cie = kind == 0;
		ret_entry->cie = address + at - kind;
	}
	return true;
}

/* ---- common entries ---- */

/* Letters say what follows; 'z': so many bytes. Return: false: the encoding of pointers is not known */
static bool augmentation_read(struct frame_bytes *b, const char *letters, struct frame_cie *cie)
{
	struct frame_bytes data;
	uint8_t encoding;
	uint64_t n = 0;

	cie->has_augmentation = *letters == 'z';
	if (cie->has_augmentation) {
		n = frame_bytes_uleb(b);
		letters++;
	}
	data = (struct frame_bytes){ .at = b->at };
	frame_bytes_skip(b, n);
	if (b->is_bad)
		return false;
	data.end = b->at;
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = (uint8_t)frame_bytes_fixed(&data, 1);
			break;
		case 'P': /* the function that knows the language */
			encoding = (uint8_t)frame_bytes_fixed(&data, 1);
			if (encoding == POINTER_OMITTED)
				break;
			if ((encoding & FRAME_PE_BASE) == POINTER_ALIGNED)
				return false;
			(void)frame_bytes_formatted(&data, encoding & FRAME_PE_FORMAT);
			break;
		case 'L':
			frame_bytes_skip(&data, 1);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			return false;
		}
	}
	return !data.is_bad;
}

/* Return: false: nothing that refers to it can be read */
static bool cie_read(struct frame_bytes b, bool is_debug, bool has_fixed_addresses, struct frame_cie *cie)
{
	uint8_t version = (uint8_t)frame_bytes_fixed(&b, 1);
	const char *letters = (const char *)b.at;
	uint64_t column;

	*cie = (struct frame_cie){ .encoding = 0 };
	if (b.is_bad || !memchr(letters, 0, (size_t)(b.end - b.at)))
		return false;
	frame_bytes_skip(&b, strlen(letters) + 1);
	if (version != 1 && version != 3 && !(version == 4 && is_debug))
		return false;
	/* Sizes of an address and of a segment selector. */
	if (version == 4 && (frame_bytes_fixed(&b, 1) != ADDRESS_BYTES || frame_bytes_fixed(&b, 1) != 0))
		return false;
	cie->code_align = frame_bytes_uleb(&b);
	cie->data_align = frame_bytes_sleb(&b);
	column = version == 1 ? frame_bytes_fixed(&b, 1) : frame_bytes_uleb(&b);
	if (!augmentation_read(&b, letters, cie))
		return false;
	/* What the dynamic loader relocates is something else in the file. */
	if (b.is_bad || (!is_debug && !has_fixed_addresses && !(cie->encoding & FRAME_PE_BASE)))
		return false;
	frame_cie_run(cie, b.at, (size_t)(b.end - b.at));
	cie->is_damaged |= column != RETURN_COLUMN;
	return true;
}

/* Return: NULL: it cannot be used */
static const struct frame_cie *cie_get(struct frame_reader *r, const struct frame_region *region, uint64_t address)
{
	uint64_t offset = region->offset + (address - region->address);
	const uint8_t *data;
	struct frame_entry entry;
	size_t i;

	for (i = 0; i < MIN(r->n_cies, (size_t)FRAME_CIES); i++)
		if (r->cies[i].offset == offset)
			return r->cies[i].is_usable ? &r->cies[i].cie : NULL;

	i = r->n_cies++ % FRAME_CIES;
	r->cies[i].offset = offset;
	r->cies[i].is_usable = false;
	if (!frame_entry_read(r, region, address, &entry) || !entry.is_cie ||
	    entry.end - entry.body > FRAME_CIE_BYTES_MAX)
		return NULL;
	data = region_bytes(r, region, entry.body, entry.end - entry.body);
	if (!data)
		return NULL;
	r->cies[i].is_usable = cie_read((struct frame_bytes){ .at = data, .end = data + (entry.end - entry.body) },
					region->is_debug, r->has_fixed_addresses, &r->cies[i].cie);
	return r->cies[i].is_usable ? &r->cies[i].cie : NULL;
}

bool frame_fde_read(struct frame_reader *r, const struct frame_region *region, const struct frame_entry *entry,
		    struct frame_fde *ret_fde)
{
	const struct frame_cie *cie = cie_get(r, region, entry->cie);
	uint64_t n = entry->end - entry->body, n_code;
	const uint8_t *data = cie ? region_bytes(r, region, entry->body, n) : NULL;
	struct frame_bytes b;

	if (!data)
		return false;
	b = (struct frame_bytes){ .at = data, .end = data + n };
	ret_fde->cie = cie;
	ret_fde->begin = frame_bytes_pointer(&b, cie->encoding, entry->body, 0);
	n_code = frame_bytes_formatted(&b, cie->encoding & FRAME_PE_FORMAT);
	if (cie->has_augmentation)
		frame_bytes_skip(&b, frame_bytes_uleb(&b));
	/* Of removed code the address is 0. */
	if (b.is_bad || !ret_fde->begin || ret_fde->begin >= CODE_MAX || n_code > CODE_MAX - ret_fde->begin)
		return false;
	ret_fde->end = ret_fde->begin + n_code;
	ret_fde->program = b.at;
	ret_fde->n_program = (size_t)(b.end - b.at);
	ret_fde->address = entry->body + (uint64_t)(b.at - data);
	return true;
}
