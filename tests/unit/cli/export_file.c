// SPDX-License-Identifier: Apache-2.0
/*
 * A file that is there whole or not at all, whatever else lies in its place.
 */
#include "cli/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

static const char *text_of(const char *path)
{
	static char text[64];
	ssize_t n = fd_read_file_at(AT_FDCWD, path, text, sizeof(text));

	return n < 0 ? "(none)" : text;
}

static void put(const char *path, const char *text)
{
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT_EQ(path, fd_write_full(fd, text, strlen(text)), 0);
}

enum place { PLACE_EMPTY, PLACE_FILE, PLACE_DIRECTORY, PLACE_LINK, PLACE_PIPE, PLACE_BROKEN_OFF, PLACE_LINKED_PARTIAL };

static const struct {
	const char *name;
	enum place place;
	bool replaces;
	int open_r;
	const char *error;
} cases[] = {
	{ "nothing there", PLACE_EMPTY, false, 0, "" },
	{ "a file", PLACE_FILE, false, -EEXIST, "'x.db' exists; '--force' overwrites it" },
	{ "a file, forced", PLACE_FILE, true, 0, "" },
	{ "a directory, forced", PLACE_DIRECTORY, true, -EISDIR, "'x.db' is a directory; name a file in it" },
	{ "a link, forced", PLACE_LINK, true, -EINVAL, "'x.db' is no plain file; for a pipe write to '-o -'" },
	{ "a pipe", PLACE_PIPE, false, -EINVAL, "'x.db' is no plain file; for a pipe write to '-o -'" },
	{ "left by one that was broken off", PLACE_BROKEN_OFF, false, 0, "" },
	{ "a link where it grows", PLACE_LINKED_PARTIAL, false, -ELOOP,
	  "cannot write 'x.db.partial': Too many levels of symbolic links" },
};

static void place_make(enum place place)
{
	switch (place) {
	case PLACE_EMPTY:
		break;
	case PLACE_FILE:
		put("x.db", "old");
		break;
	case PLACE_DIRECTORY:
		CHECK_INT_EQ("directory", mkdir("x.db", 0700), 0);
		break;
	case PLACE_LINK:
		put("other", "old");
		CHECK_INT_EQ("link", symlink("other", "x.db"), 0);
		break;
	case PLACE_PIPE:
		CHECK_INT_EQ("pipe", mkfifo("x.db", 0600), 0);
		break;
	case PLACE_BROKEN_OFF:
		put("x.db.partial", "half of something long");
		break;
	case PLACE_LINKED_PARTIAL:
		put("other", "old");
		CHECK_INT_EQ("link", symlink("other", "x.db.partial"), 0);
		break;
	}
}

static void place_clear(void)
{
	(void)rmdir("x.db");
	(void)unlink("x.db");
	(void)unlink("x.db.partial");
	(void)unlink("other");
}

static void place_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].name;
		struct export_file file = EXPORT_FILE_INIT;
		char error[EXPORT_FILE_ERROR_BYTES] = "";

		place_make(cases[i].place);
		CHECK_INT_EQ(name, export_file_open("x.db", cases[i].replaces, error, &file), cases[i].open_r);
		CHECK_STR_EQ(name, error, cases[i].error);
		if (cases[i].open_r == 0) {
			CHECK_INT_EQ(name, export_file_write(&file, "new", 3), 0);
			CHECK_STR_EQ(name, text_of("x.db"), cases[i].place == PLACE_FILE ? "old" : "(none)");
			CHECK_INT_EQ(name, export_file_finish(&file), 0);
			CHECK_STR_EQ(name, text_of("x.db"), "new");
			CHECK_STR_EQ(name, text_of("x.db.partial"), "(none)");
		}
		export_file_done(&file);
		CHECK_STR_EQ(name, text_of("other"),
			     cases[i].place == PLACE_LINK || cases[i].place == PLACE_LINKED_PARTIAL ? "old" : "(none)");
		place_clear();
	}
}

static void end_test(void)
{
	struct export_file file = EXPORT_FILE_INIT, second = EXPORT_FILE_INIT;
	char error[EXPORT_FILE_ERROR_BYTES] = "";

	CHECK_INT_EQ("given up", export_file_open("x.db", false, error, &file), 0);
	CHECK_INT_EQ("given up", export_file_write(&file, "new", 3), 0);
	export_file_done(&file);
	CHECK_STR_EQ("given up", text_of("x.db"), "(none)");
	CHECK_STR_EQ("given up", text_of("x.db.partial"), "(none)");

	CHECK_INT_EQ("two at once", export_file_open("x.db", false, error, &file), 0);
	CHECK_INT_EQ("two at once", export_file_open("x.db", false, error, &second), -EEXIST);
	CHECK_STR_EQ("two at once", error,
		     "another export is writing 'x.db.partial'; wait for it, or name another file");
	put("x.db", "came meanwhile");
	CHECK_INT_EQ("name taken", export_file_finish(&file), -EEXIST);
	export_file_done(&file);
	CHECK_STR_EQ("name taken", text_of("x.db"), "came meanwhile");
	CHECK_STR_EQ("name taken", text_of("x.db.partial"), "(none)");
	place_clear();

	CHECK_INT_EQ("no directory", export_file_open("no/x.db", false, error, &file), -ENOENT);
	CHECK_STR_EQ("no directory", error, "cannot write 'no/x.db': its directory does not exist");
}

int main(void)
{
	const char *temporary = getenv("TMPDIR");
	char directory[512];

	(void)snprintf(directory, sizeof(directory), "%s/unit_cli_export_file_XXXXXX",
		       temporary ? temporary : P_tmpdir);
	if (!mkdtemp(directory) || chdir(directory) < 0)
		return 1;
	place_test();
	end_test();
	CHECK_INT_EQ("left behind", rmdir(directory), 0);
	return check_result();
}
