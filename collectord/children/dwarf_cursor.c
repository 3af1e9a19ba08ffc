// SPDX-License-Identifier: Apache-2.0
#include "children/dwarf_cursor.h"

#include <string.h>

#include "base/cleanup.h"

#define LONG_LENGTH 0xffffffffu

size_t dwarf_left(const struct dwarf_cursor *c)
{
	return (size_t)(c->end - c->at);
}

const uint8_t *dwarf_skip(struct dwarf_cursor *c, uint64_t n)
{
	const uint8_t *at = c->at;

	if (n > dwarf_left(c)) {
		c->at = c->end;
		c->is_bad = true;
		return NULL;
	}
	c->at += n;
	return at;
}

uint64_t dwarf_number(struct dwarf_cursor *c, size_t n)
{
	const uint8_t *at = dwarf_skip(c, n);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, MIN(n, sizeof(value)));
	return value;
}

uint64_t dwarf_offset(struct dwarf_cursor *c)
{
	return dwarf_number(c, c->is_64 ? 8 : 4);
}

/* @ret_shift: number of bits that were read */
static uint64_t leb_read(struct dwarf_cursor *c, unsigned int *ret_shift, bool *ret_is_negative)
{
	unsigned int shift = 0;
	uint64_t value = 0;

	while (c->at < c->end) {
		uint8_t byte = *c->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift = MIN(shift + 7, 70u);
		if (byte & 0x80)
			continue;
		*ret_shift = shift;
		*ret_is_negative = byte & 0x40;
		return value;
	}
	c->is_bad = true;
	*ret_shift = 64;
	*ret_is_negative = false;
	return 0;
}

uint64_t dwarf_unsigned(struct dwarf_cursor *c)
{
	unsigned int shift;
	bool is_negative;

	return leb_read(c, &shift, &is_negative);
}

int64_t dwarf_signed(struct dwarf_cursor *c)
{
	unsigned int shift;
	bool is_negative;
	uint64_t value = leb_read(c, &shift, &is_negative);

	if (is_negative && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

const char *dwarf_text(struct dwarf_cursor *c)
{
	const uint8_t *at = c->at, *nul = memchr(at, 0, dwarf_left(c));

	if (!nul) {
		c->at = c->end;
		c->is_bad = true;
		return NULL;
	}
	c->at = nul + 1;
	return (const char *)at;
}

uint64_t dwarf_length(struct dwarf_cursor *c)
{
	uint64_t n = dwarf_number(c, 4);

	c->is_64 = n == LONG_LENGTH;
	return c->is_64 ? dwarf_number(c, 8) : n;
}

/* ---- values. Source: DWARF 5, 7.5.6, and the extensions of GNU ---- */

enum form_kind {
	FORM_UNKNOWN,
	FORM_FIXED, /* so many bytes */
	FORM_ADDRESS,
	FORM_OFFSET,
	FORM_UNSIGNED,
	FORM_SIGNED,
	FORM_TEXT,
	FORM_IN_NAMES,
	FORM_IN_LINE_NAMES,
	FORM_BLOCK, /* so many bytes of length, and then those bytes; 0: a length of seven bits a byte */
};

static const struct {
	uint8_t kind, n; /* enum form_kind */
} forms[] = {
	[0x01] = { FORM_ADDRESS, 0 },  [0x03] = { FORM_BLOCK, 2 },	   [0x04] = { FORM_BLOCK, 4 },
	[0x05] = { FORM_FIXED, 2 },    [0x06] = { FORM_FIXED, 4 },	   [0x07] = { FORM_FIXED, 8 },
	[0x08] = { FORM_TEXT, 0 },     [0x09] = { FORM_BLOCK, 0 },	   [0x0a] = { FORM_BLOCK, 1 },
	[0x0b] = { FORM_FIXED, 1 },    [0x0c] = { FORM_FIXED, 1 },	   [0x0d] = { FORM_SIGNED, 0 },
	[0x0e] = { FORM_IN_NAMES, 0 }, [0x0f] = { FORM_UNSIGNED, 0 },	   [0x10] = { FORM_OFFSET, 0 },
	[0x11] = { FORM_FIXED, 1 },    [0x12] = { FORM_FIXED, 2 },	   [0x13] = { FORM_FIXED, 4 },
	[0x14] = { FORM_FIXED, 8 },    [0x15] = { FORM_UNSIGNED, 0 },	   [0x17] = { FORM_OFFSET, 0 },
	[0x18] = { FORM_BLOCK, 0 },    [0x19] = { FORM_FIXED, 0 },	   [0x1a] = { FORM_UNSIGNED, 0 },
	[0x1b] = { FORM_UNSIGNED, 0 }, [0x1c] = { FORM_FIXED, 4 },	   [0x1d] = { FORM_OFFSET, 0 },
	[0x1e] = { FORM_FIXED, 16 },   [0x1f] = { FORM_IN_LINE_NAMES, 0 }, [0x20] = { FORM_FIXED, 8 },
	[0x21] = { FORM_FIXED, 0 }, /* its value is with the form */
	[0x22] = { FORM_UNSIGNED, 0 }, [0x23] = { FORM_UNSIGNED, 0 },	   [0x24] = { FORM_FIXED, 8 },
	[0x25] = { FORM_FIXED, 1 },    [0x26] = { FORM_FIXED, 2 },	   [0x27] = { FORM_FIXED, 3 },
	[0x28] = { FORM_FIXED, 4 },    [0x29] = { FORM_FIXED, 1 },	   [0x2a] = { FORM_FIXED, 2 },
	[0x2b] = { FORM_FIXED, 3 },    [0x2c] = { FORM_FIXED, 4 },
};

#define FORM_GNU_ADDRESS_INDEX 0x1f01
#define FORM_GNU_TEXT_INDEX 0x1f02
#define FORM_GNU_REFERENCE_ALT 0x1f20
#define FORM_GNU_TEXT_ALT 0x1f21

static enum form_kind form_find(uint64_t form, uint8_t *ret_n)
{
	*ret_n = 0;
	if (form == FORM_GNU_ADDRESS_INDEX || form == FORM_GNU_TEXT_INDEX)
		return FORM_UNSIGNED;
	if (form == FORM_GNU_REFERENCE_ALT || form == FORM_GNU_TEXT_ALT)
		return FORM_OFFSET;
	if (form >= ARRAY_SIZE(forms))
		return FORM_UNKNOWN;
	*ret_n = forms[form].n;
	return forms[form].kind;
}

bool dwarf_value(struct dwarf_cursor *c, uint64_t form, uint8_t address_bytes, struct dwarf_value *ret_value)
{
	struct dwarf_value value = { .kind = DWARF_NUMBER };
	uint8_t n;

	switch (form_find(form, &n)) {
	case FORM_UNKNOWN:
		return false;
	case FORM_FIXED:
		value.number = dwarf_number(c, n);
		break;
	case FORM_ADDRESS:
		value.number = dwarf_number(c, address_bytes);
		break;
	case FORM_OFFSET:
		value.number = dwarf_offset(c);
		break;
	case FORM_UNSIGNED:
		value.number = dwarf_unsigned(c);
		break;
	case FORM_SIGNED:
		value.number = (uint64_t)dwarf_signed(c);
		break;
	case FORM_TEXT:
		value.text = dwarf_text(c);
		value.kind = value.text ? DWARF_TEXT : DWARF_OTHER;
		break;
	case FORM_IN_NAMES:
		value = (struct dwarf_value){ .kind = DWARF_IN_NAMES, .number = dwarf_offset(c) };
		break;
	case FORM_IN_LINE_NAMES:
		value = (struct dwarf_value){ .kind = DWARF_IN_LINE_NAMES, .number = dwarf_offset(c) };
		break;
	case FORM_BLOCK:
		(void)dwarf_skip(c, n ? dwarf_number(c, n) : dwarf_unsigned(c));
		value.kind = DWARF_OTHER;
		break;
	}
	*ret_value = value;
	return !c->is_bad;
}
