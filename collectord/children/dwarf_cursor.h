// SPDX-License-Identifier: Apache-2.0
/*
 * Reading of DWARF from memory. Past the end everything reads as 0 and `is_bad` is set, to be checked after a number of
 * reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_cursor {
	const uint8_t *at, *end;
	bool is_64; /* offsets in sections have 8 bytes, not 4 */
	bool is_bad;
};

/* What an attribute has. */
struct dwarf_value {
	enum { DWARF_OTHER, DWARF_NUMBER, DWARF_TEXT, DWARF_IN_NAMES, DWARF_IN_LINE_NAMES } kind;
	uint64_t number;  /* or offset in .debug_str or .debug_line_str */
	const char *text; /* borrowed from what is read */
};

size_t dwarf_left(const struct dwarf_cursor *c);
/** dwarf_skip() - pass n bytes. Return: the first of them, NULL past the end */
const uint8_t *dwarf_skip(struct dwarf_cursor *c, uint64_t n);
/** dwarf_number() - a number of n bytes, 8 at most */
uint64_t dwarf_number(struct dwarf_cursor *c, size_t n);
/** dwarf_offset() - an offset in a section */
uint64_t dwarf_offset(struct dwarf_cursor *c);
/** dwarf_unsigned() - a number of seven bits a byte */
uint64_t dwarf_unsigned(struct dwarf_cursor *c);
int64_t dwarf_signed(struct dwarf_cursor *c);
/** dwarf_text() - pass a NUL-terminated text. Return: NULL when it has no end */
const char *dwarf_text(struct dwarf_cursor *c);
/** dwarf_length() - length of a unit, which says how long offsets in it are. Return: bytes that follow it */
uint64_t dwarf_length(struct dwarf_cursor *c);
/**
 * dwarf_value() - a value of a form (DW_FORM_*), at least one byte of it unless its form says that it has none
 * Return: false when the form is not known: what follows cannot be read
 */
bool dwarf_value(struct dwarf_cursor *c, uint64_t form, uint8_t address_bytes, struct dwarf_value *ret_value);
