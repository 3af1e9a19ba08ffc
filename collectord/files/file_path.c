// SPDX-License-Identifier: Apache-2.0
#include "files/file_path.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"

static const char cut[] = "...";

static size_t path_text_add(char *ret, size_t at, const char *text, size_t n)
{
	if (n > FILE_PATH_TEXT_BYTES - 1 - at)
		n = FILE_PATH_TEXT_BYTES - 1 - at;
	memcpy(ret + at, text, n);
	return at + n;
}

void file_path_format(const struct file_record *record, char ret[FILE_PATH_TEXT_BYTES])
{
	size_t end = record->n_bytes, at = 0;

	if (record->path_flags & FILE_NAMELESS && end)
		at = record->text[0] == '[' ? path_text_add(ret, at, "anon_inode:", 11)
					    : path_text_add(ret, at, "/", 1);
	else if (record->path_flags & FILE_CUT)
		at = path_text_add(ret, at, cut, sizeof(cut) - 1);
	if (!end)
		at = path_text_add(ret, at, "/", 1);
	/* The record has the components in reverse order: the last one is next to the root. */
	while (end) {
		size_t begin = --end;

		while (begin && record->text[begin - 1])
			begin--;
		if (!(record->path_flags & FILE_NAMELESS))
			at = path_text_add(ret, at, "/", 1);
		at = path_text_add(ret, at, record->text + begin, end - begin);
		end = begin;
	}
	if (record->path_flags & FILE_UNLINKED || (record->path_flags & FILE_NAMELESS && record->text[0] != '['))
		at = path_text_add(ret, at, " (deleted)", 10);
	ret[at] = '\0';
}

void file_path_shorten(const char *path, char *ret, size_t n)
{
	size_t length = strlen(path), room = n - sizeof(cut);
	const char *end, *slash;

	if (length < n) {
		memcpy(ret, path, length + 1);
		return;
	}
	end = path + length - room;
	slash = strchr(end, '/');
	if (slash)
		end = slash;
	(void)snprintf(ret, n, "%s%s", cut, end);
}

static bool is_plain(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%";

	return *path && *path != '-' && path[strspn(path, plain)] == '\0';
}

/* Whether a terminal shows each character unchanged: no control characters, valid UTF-8. */
static bool is_printable(const char *path)
{
	size_t n = strlen(path);

	while (n) {
		uint32_t code;
		size_t taken = utf8_length(path, n);

		if (!taken)
			return false;
		(void)utf8_decode(path, n, &code);
		if (utf8_is_control(code))
			return false;
		path += taken;
		n -= taken;
	}
	return true;
}

void file_path_quote(const char *path, char *ret, size_t n)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	bool is_escaped = !is_printable(path);

	if (is_plain(path)) {
		(void)buf_append(&out, path, strlen(path));
	} else {
		(void)buf_append(&out, is_escaped ? "$'" : "'", is_escaped ? 2 : 1);
		for (const char *p = path; *p; p++) {
			unsigned char c = (unsigned char)*p;

			if (is_escaped && (c < 0x20 || c > 0x7e))
				(void)buf_printf(&out, "\\%03o", c);
			else if (is_escaped && (c == '\'' || c == '\\'))
				(void)buf_printf(&out, "\\%c", c);
			else if (c == '\'')
				(void)buf_append(&out, "'\\''", 4);
			else
				(void)buf_append(&out, p, 1);
		}
		(void)buf_append(&out, "'", 1);
	}
	ret[0] = '\0';
	if (out.failed || out.n >= n)
		return;
	memcpy(ret, out.data, out.n);
	ret[out.n] = '\0';
}
