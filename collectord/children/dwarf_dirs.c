// SPDX-License-Identifier: Apache-2.0
#include "children/dwarf_dirs.h"

#include <string.h>

#include "children/address_sort.h"
#include "children/dwarf_cursor.h"

#define ATTRIBUTE_LINES 0x10
#define ATTRIBUTE_DIRECTORY 0x1b
#define FORM_INDIRECT 0x16
#define FORM_IMPLICIT 0x21
#define UNIT_SKELETON 4
#define UNIT_SPLIT 5
#define UNIT_COMPILE 1
#define UNIT_PARTIAL 3
#define VERSION_WITH_TYPES 5
#define UNIT_BYTES 1024	 /* of a unit that are looked at: its first entry */
#define FORMS_BYTES 4096 /* of its abbreviations: that entry's is the first one of a compiler's */
#define DIRECTORY_BYTES 1024

struct dirs_input {
	struct elf_bytes units, forms, names, line_names;
	char last[DIRECTORY_BYTES]; /* directory of the unit before: most units have the same */
	uint64_t last_text;
	/* Abbreviations from here on. */
	uint64_t forms_at;
	size_t n_forms;
	uint8_t forms_read[FORMS_BYTES];
};

struct unit_head {
	uint64_t n; /* bytes of the unit */
	uint64_t forms;
	uint16_t version;
	uint8_t address_bytes;
	bool is_compiled; /* of a kind that has lines */
};

static void unit_head_read(struct dwarf_cursor *c, struct unit_head *head)
{
	const uint8_t *start = c->at;
	uint64_t n = dwarf_length(c);
	uint8_t type = UNIT_COMPILE;

	head->n = n + (uint64_t)(c->at - start);
	head->version = (uint16_t)dwarf_number(c, 2);
	if (head->version >= VERSION_WITH_TYPES) {
		type = (uint8_t)dwarf_number(c, 1);
		head->address_bytes = (uint8_t)dwarf_number(c, 1);
		head->forms = dwarf_offset(c);
	} else {
		head->forms = dwarf_offset(c);
		head->address_bytes = (uint8_t)dwarf_number(c, 1);
	}
	if (type == UNIT_SKELETON || type == UNIT_SPLIT)
		(void)dwarf_number(c, 8);
	head->is_compiled = type == UNIT_COMPILE || type == UNIT_PARTIAL || type == UNIT_SKELETON || type == UNIT_SPLIT;
	head->is_compiled &= head->version >= 2 && head->version <= VERSION_WITH_TYPES && head->address_bytes <= 8;
}

/* Passes the attributes of an abbreviation. Return: false at the end of them */
static bool attribute_read(struct dwarf_cursor *c, uint64_t *ret_name, uint64_t *ret_form)
{
	*ret_name = dwarf_unsigned(c);
	*ret_form = dwarf_unsigned(c);
	if (*ret_form == FORM_IMPLICIT)
		(void)dwarf_signed(c);
	return !c->is_bad && (*ret_name || *ret_form);
}

/* Places the cursor on the attributes of an abbreviation. */
static bool forms_find(struct dirs_input *in, uint64_t at, uint64_t code, struct dwarf_cursor *ret_cursor)
{
	struct dwarf_cursor c;
	uint64_t name, form;

	if (!in->n_forms || in->forms_at != at) {
		in->n_forms = elf_bytes_read_some(&in->forms, at, in->forms_read, sizeof(in->forms_read));
		in->forms_at = at;
	}
	c = (struct dwarf_cursor){ .at = in->forms_read, .end = in->forms_read + in->n_forms };
	while (!c.is_bad) {
		uint64_t here = dwarf_unsigned(&c);

		if (!here)
			return false;
		(void)dwarf_unsigned(&c);  /* tag */
		(void)dwarf_number(&c, 1); /* whether it has children */
		if (here == code) {
			*ret_cursor = c;
			return !c.is_bad;
		}
		while (attribute_read(&c, &name, &form))
			;
	}
	return false;
}

static void directory_read(struct dirs_input *in, const struct dwarf_value *value, char *text)
{
	text[0] = 0;
	if (value->kind == DWARF_TEXT)
		(void)snprintf(text, DIRECTORY_BYTES, "%s", value->text);
	else if (value->kind == DWARF_IN_NAMES || value->kind == DWARF_IN_LINE_NAMES)
		(void)elf_bytes_read_text(value->kind == DWARF_IN_NAMES ? &in->names : &in->line_names, value->number,
					  text, DIRECTORY_BYTES);
}

/* Reads the first entry of a unit. Return: false when it has no lines, or no directory */
static bool first_entry_read(struct dirs_input *in, const struct unit_head *head, struct dwarf_cursor *c,
			     uint64_t *ret_lines, char *directory)
{
	struct dwarf_value value, path = { .kind = DWARF_OTHER };
	bool has_lines = false;
	struct dwarf_cursor forms;
	uint64_t name, form;

	if (!forms_find(in, head->forms, dwarf_unsigned(c), &forms))
		return false;
	while (attribute_read(&forms, &name, &form) && (!has_lines || path.kind == DWARF_OTHER)) {
		if (form == FORM_INDIRECT)
			form = dwarf_unsigned(c);
		if (!dwarf_value(c, form, head->address_bytes, &value))
			return false;
		if (name == ATTRIBUTE_DIRECTORY)
			path = value;
		if (name == ATTRIBUTE_LINES) {
			*ret_lines = value.number;
			has_lines = true;
		}
	}
	directory_read(in, &path, directory);
	return has_lines && directory[0];
}

static bool dir_add(struct dwarf_dirs *dirs, struct dirs_input *in, uint64_t lines, const char *directory)
{
	struct dwarf_dir dir = { .lines = lines };

	if (!dirs->dirs.n || strcmp(in->last, directory) != 0) {
		in->last_text = dirs->texts.n;
		if (buf_append(&dirs->texts, directory, strlen(directory) + 1) < 0)
			return false;
		memcpy(in->last, directory, strlen(directory) + 1);
	}
	dir.text = in->last_text;
	return dirs->dirs.n < DWARF_DIRS_UNITS_MAX && ARRAY_PUSH(&dirs->dirs, dir) == 0;
}

static void units_read(struct dwarf_dirs *dirs, struct dirs_input *in)
{
	uint64_t at = 0;

	for (size_t i = 0; i < DWARF_DIRS_UNITS_MAX; i++) {
		char directory[DIRECTORY_BYTES];
		uint8_t unit[UNIT_BYTES];
		struct dwarf_cursor c = { .at = unit };
		struct unit_head head = { .n = 0 };
		uint64_t lines = 0;

		c.end = unit + elf_bytes_read_some(&in->units, at, unit, sizeof(unit));
		unit_head_read(&c, &head);
		if (c.is_bad || head.n > in->units.n - at)
			return;
		if (head.n < dwarf_left(&c))
			c.end = MAX(c.at, unit + head.n);
		if (head.is_compiled && first_entry_read(in, &head, &c, &lines, directory) &&
		    !dir_add(dirs, in, lines, directory))
			return;
		at += head.n;
	}
}

void dwarf_dirs_read(struct dwarf_dirs *dirs, const struct elf_file *f, const struct elf_parts *parts)
{
	CLEANUP(freep) struct dirs_input *in = calloc(1, sizeof(*in));

	if (!in)
		return;
	if (elf_bytes_open(f, &parts->units, &in->units) == PARSER_OK &&
	    elf_bytes_open(f, &parts->unit_forms, &in->forms) == PARSER_OK) {
		(void)elf_bytes_open(f, &parts->names, &in->names);
		(void)elf_bytes_open(f, &parts->line_names, &in->line_names);
		units_read(dirs, in);
	}
	elf_bytes_close(&in->units);
	elf_bytes_close(&in->forms);
	elf_bytes_close(&in->names);
	elf_bytes_close(&in->line_names);
	if (address_sort(dirs->dirs.items, dirs->dirs.n, sizeof(*dirs->dirs.items)) < 0)
		dwarf_dirs_done(dirs);
}

const char *dwarf_dirs_find(const struct dwarf_dirs *dirs, uint64_t lines)
{
	size_t i = SORTED_PLACE(dirs->dirs.n, k, dirs->dirs.items[k].lines < lines);

	if (i == dirs->dirs.n || dirs->dirs.items[i].lines != lines)
		return "";
	return (const char *)dirs->texts.data + dirs->dirs.items[i].text;
}

void dwarf_dirs_done(struct dwarf_dirs *dirs)
{
	ARRAY_DONE(&dirs->dirs);
	buf_done(&dirs->texts);
}
