// SPDX-License-Identifier: Apache-2.0
#include "children/dwarf_files.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* Source: DWARF 5, 6.2.4.1 */
#define CONTENT_PATH 1
#define CONTENT_DIRECTORY 2
#define FORMATS_MAX 16 /* guess: five contents are defined */

struct entry_text {
	char bytes[DWARF_PATH_BYTES];
};

struct entry_formats {
	size_t n;
	struct {
		uint64_t content, form;
	} items[FORMATS_MAX];
};

static void entry_text_set(struct entry_text *text, const struct dwarf_value *value, const struct elf_bytes *sections)
{
	text->bytes[0] = 0;
	if (value->kind == DWARF_TEXT)
		(void)snprintf(text->bytes, sizeof(text->bytes), "%s", value->text);
	else if (value->kind == DWARF_IN_NAMES || value->kind == DWARF_IN_LINE_NAMES)
		(void)elf_bytes_read_text(&sections[value->kind == DWARF_IN_LINE_NAMES], value->number, text->bytes,
					  sizeof(text->bytes));
}

/* ---- DWARF 5 ---- */

static bool formats_read(struct dwarf_cursor *c, struct entry_formats *formats)
{
	formats->n = (size_t)dwarf_number(c, 1);
	if (formats->n > FORMATS_MAX)
		return false;
	for (size_t i = 0; i < formats->n; i++) {
		formats->items[i].content = dwarf_unsigned(c);
		formats->items[i].form = dwarf_unsigned(c);
	}
	return !c->is_bad;
}

/*
 * Takes one entry of a table, and passes the rest of it if it must.
 * Return: false when it is damaged; ret_path is DWARF_OTHER when there is no such entry
 */
static bool names_table_read(struct dwarf_cursor *c, uint8_t address_bytes, uint64_t wanted, bool must_pass,
			     struct dwarf_value *ret_path, uint64_t *ret_directory)
{
	struct entry_formats formats;
	uint64_t n;

	ret_path->kind = DWARF_OTHER;
	*ret_directory = 0;
	if (!formats_read(c, &formats))
		return false;
	n = dwarf_unsigned(c);
	for (uint64_t i = 0; i < n && formats.n && (i <= wanted || must_pass); i++) {
		const uint8_t *start = c->at;

		for (size_t k = 0; k < formats.n; k++) {
			struct dwarf_value value;

			if (!dwarf_value(c, formats.items[k].form, address_bytes, &value))
				return false;
			if (i == wanted && formats.items[k].content == CONTENT_PATH)
				*ret_path = value;
			if (i == wanted && formats.items[k].content == CONTENT_DIRECTORY)
				*ret_directory = value.number;
		}
		if (c->at == start) /* entries without bytes could be any number */
			return false;
	}
	return !c->is_bad;
}

static bool formatted_find(const struct dwarf_head *head, const uint8_t *tables, uint64_t file,
			   const struct elf_bytes *sections, struct entry_text *parts)
{
	const struct dwarf_cursor start = { .at = tables,
					    .end = tables + (head->program - head->tables),
					    .is_64 = head->is_64 };
	struct dwarf_cursor c = start;
	struct dwarf_value path;
	uint64_t directory, none;

	/* The table of directories comes first, and the file says which one. */
	if (!names_table_read(&c, head->address_bytes, 0, /* must_pass= */ true, &path, &none))
		return false;
	entry_text_set(&parts[0], &path, sections);
	if (!names_table_read(&c, head->address_bytes, file, /* must_pass= */ false, &path, &directory))
		return false;
	entry_text_set(&parts[2], &path, sections);
	c = start;
	if (directory && names_table_read(&c, head->address_bytes, directory, /* must_pass= */ false, &path, &none))
		entry_text_set(&parts[1], &path, sections);
	return true;
}

/* ---- before ---- */

/* Numbers count from 1; directory 0 is where the compiler ran. */
static bool listed_find(const struct dwarf_head *head, const uint8_t *tables, uint64_t file, struct entry_text *parts)
{
	const struct dwarf_cursor start = { .at = tables, .end = tables + (head->program - head->tables) };
	struct dwarf_cursor c = start;
	uint64_t directory = 0;
	const char *name;

	while ((name = dwarf_text(&c)) && *name)
		;
	for (uint64_t i = 1; (name = dwarf_text(&c)) && *name; i++) {
		directory = dwarf_unsigned(&c);
		(void)dwarf_unsigned(&c); /* time and size of the file */
		(void)dwarf_unsigned(&c);
		if (i == file)
			break;
	}
	if (c.is_bad || !name || !*name)
		return false;
	(void)snprintf(parts[2].bytes, sizeof(parts[2].bytes), "%s", name);
	c = start;
	for (uint64_t i = 1; i <= directory; i++) {
		name = dwarf_text(&c);
		if (!name || !*name)
			return true;
	}
	if (directory)
		(void)snprintf(parts[1].bytes, sizeof(parts[1].bytes), "%s", name);
	return true;
}

/* ---- the path ---- */

/* Of a long path the end is left, from a '/' on if one is there. */
static void path_cut(char *path, char *text)
{
	static const char mark[] = "...";
	const char *from = path, *slash;
	size_t n;

	(void)utf8_scrub(path);
	n = strlen(path);
	if (n >= DWARF_FILE_BYTES) {
		from = path + (n - (DWARF_FILE_BYTES - sizeof(mark)));
		slash = strchr(from, '/');
		while (((uint8_t)*from & 0xc0) == 0x80) /* inside a character */
			from++;
		from = slash ? slash : from;
	}
	n = 0;
	if (from != path)
		n = sizeof(mark) - 1;
	memcpy(text, mark, n);
	memcpy(text + n, from, strlen(from) + 1);
}

void dwarf_file_write(const struct dwarf_head *head, const uint8_t *tables, const struct elf_bytes *sections,
		      uint32_t file, const char *directory, char *text)
{
	static struct entry_text parts[3]; /* where the compiler ran, directory, name; the process has one thread */
	static char path[3 * DWARF_PATH_BYTES];
	size_t first = 2;

	text[0] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		parts[i].bytes[0] = 0;
	if (head->version < DWARF_VERSION_WITH_DIRS) {
		(void)snprintf(parts[0].bytes, sizeof(parts[0].bytes), "%s", directory);
		if (!listed_find(head, tables, file, parts))
			return;
	} else if (!formatted_find(head, tables, file, sections, parts)) {
		return;
	}
	if (!parts[2].bytes[0])
		return;
	while (first && parts[first].bytes[0] != '/')
		first--;
	path[0] = 0;
	for (size_t i = first, n = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].bytes[0])
			n += (size_t)snprintf(path + n, sizeof(path) - n, "%s%s", n && path[n - 1] != '/' ? "/" : "",
					      parts[i].bytes);
	path_cut(path, text);
}
