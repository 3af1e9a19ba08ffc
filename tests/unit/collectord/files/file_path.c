// SPDX-License-Identifier: Apache-2.0
#include "files/file_path.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

/* Components as the kernel half sends them, the file's first. */
static void paths_are_put_together(void)
{
	static const struct {
		const char *name;
		const char *text;
		uint32_t n_bytes, flags;
		const char *want;
	} rows[] = {
		{ "a file", "train.bin\0data\0", 15, 0, "/data/train.bin" },
		{ "the root", "", 0, 0, "/" },
		{ "unlinked", "a\0", 2, FILE_UNLINKED, "/a (deleted)" },
		{ "a name that only ends so", "a (deleted)\0", 12, 0, "/a (deleted)" },
		{ "cut", "c\0b\0", 4, FILE_CUT, ".../b/c" },
		{ "of another root", "c\0b\0", 4, FILE_OUTSIDE, "/b/c" },
		{ "memory", "memfd:weights\0", 14, FILE_NAMELESS, "/memfd:weights (deleted)" },
		{ "an inode of the kernel", "[eventfd]\0", 10, FILE_NAMELESS, "anon_inode:[eventfd]" },
		{ "any bytes", "\x1b[31m\n\xff\0", 8, 0, "/\x1b[31m\n\xff" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct file_record record = { .path_flags = rows[i].flags, .n_bytes = rows[i].n_bytes };
		char path[FILE_PATH_TEXT_BYTES];

		memcpy(record.text, rows[i].text, rows[i].n_bytes);
		file_path_format(&record, path);
		CHECK_STR_EQ(rows[i].name, path, rows[i].want);
	}
}

static void the_longest_fits(void)
{
	struct file_record record = { .path_flags = FILE_UNLINKED | FILE_CUT, .n_bytes = FILE_PATH_BYTES };
	char path[FILE_PATH_TEXT_BYTES];

	for (size_t i = 0; i < FILE_PATH_BYTES; i++)
		record.text[i] = i % 2 ? '\0' : 'x';
	file_path_format(&record, path);
	CHECK_INT_EQ("whole", strlen(path), FILE_PATH_BYTES + strlen("... (deleted)"));
	memset(record.text, 'y', FILE_PATH_BYTES - 1);
	file_path_format(&record, path);
	CHECK_INT_EQ("one name", strlen(path), FILE_PATH_BYTES + strlen("... (deleted)"));
}

static void long_paths_keep_their_end(void)
{
	static const struct {
		const char *path;
		size_t n;
		const char *want;
	} rows[] = {
		{ "/data/train.bin", 16, "/data/train.bin" },
		{ "/data/train2.bin", 16, ".../train2.bin" },
		{ "/a/b/c/d/e/f/g/h", 16, ".../c/d/e/f/g/h" },
		{ "/data/a_name_that_is_long", 16, "...that_is_long" },
		{ "", 16, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char ret[16];

		file_path_shorten(rows[i].path, ret, rows[i].n);
		CHECK_STR_EQ(rows[i].path, ret, rows[i].want);
	}
}

static void paths_are_words_of_a_shell(void)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "/data/train.bin", "/data/train.bin" },
		{ "/data/my set", "'/data/my set'" },
		{ "/data/$(reboot)", "'/data/$(reboot)'" },
		{ "/it's", "'/it'\\''s'" },
		{ "/a;b", "'/a;b'" },
		{ "~root", "'~root'" },
		{ "-rf", "'-rf'" },
		{ "", "''" },
		{ "/d\xc3\xa4ten", "'/d\xc3\xa4ten'" },
		{ "/a\nb", "$'/a\\012b'" },
		{ "/\x1b[31m'\\", "$'/\\033[31m\\'\\\\'" },
		{ "/\xff", "$'/\\377'" },
		{ "/\xc2\x9b", "$'/\\302\\233'" }, /* a control character of 8 bits */
	};
	char small[8];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char ret[FILE_PATH_QUOTED_BYTES(32)];

		file_path_quote(rows[i].path, ret, sizeof(ret));
		CHECK_STR_EQ(rows[i].path, ret, rows[i].want);
	}
	file_path_quote("/eight b", small, sizeof(small));
	CHECK_STR_EQ("no room: nothing, rather than half a word", small, "");
}

int main(void)
{
	paths_are_put_together();
	the_longest_fits();
	long_paths_keep_their_end();
	paths_are_words_of_a_shell();
	return check_result();
}
