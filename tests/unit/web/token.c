// SPDX-License-Identifier: Apache-2.0
/* Tokens: which are taken, who may read their files, and what matches them. */
#include "web/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define TOKEN "0123456789abcdef"

static const struct {
	const char *name, *header;
	bool matches;
} headers[] = {
	{ "as it is", "Bearer " TOKEN, true },
	{ "scheme in any case", "bEARER " TOKEN, true },
	{ "more blanks", "Bearer   " TOKEN, true },
	{ "none", NULL, false },
	{ "empty", "", false },
	{ "without scheme", TOKEN, false },
	{ "another scheme", "Basic " TOKEN, false },
	{ "no token", "Bearer ", false },
	{ "another", "Bearer 0123456789abcdeF", false },
	{ "its beginning", "Bearer 0123456789abcde", false },
	{ "more than it", "Bearer " TOKEN "0", false },
	{ "blanks behind it", "Bearer " TOKEN " \t", true },
	{ "blanks alone", "Bearer   ", false },
};

static void values_test(void)
{
	char error[WEB_ERROR_BYTES], longest[WEB_TOKEN_BYTES_MAX + 2];
	struct web_token token;

	memset(longest, 'a', sizeof(longest));
	longest[WEB_TOKEN_BYTES_MAX + 1] = 0;
	CHECK_INT_EQ("too short", web_token_set("0123456789abcde", error, &token), -EINVAL);
	CHECK_INT_EQ("too long", web_token_set(longest, error, &token), -EINVAL);
	longest[WEB_TOKEN_BYTES_MAX] = 0;
	CHECK_INT_EQ("the longest", web_token_set(longest, error, &token), 0);
	CHECK_INT_EQ("a blank in it", web_token_set("0123456789 abcdef", error, &token), -EINVAL);
	CHECK("is not repeated", !strstr(error, "0123456789"));
	CHECK_INT_EQ("set", web_token_set(TOKEN, error, &token), 0);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		CHECK_INT_EQ(headers[i].name, web_token_matches(&token, headers[i].header), headers[i].matches);
}

static void files_test(void)
{
	const char *place = getenv("TMPDIR");
	char directory[256], path[300], error[WEB_ERROR_BYTES], text[128] = "Bearer ";
	struct web_token token, again;
	struct web_file file;
	struct stat st;
	bool is_new;
	int fd;

	(void)snprintf(directory, sizeof(directory), "%.200s/unit_web_token_XXXXXX", place ? place : P_tmpdir);
	CHECK("a directory", mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/token", directory);
	file = WEB_FILE(path);
	CHECK_INT_EQ("no file", web_token_read(&file, error, &token), -ENOENT);
	CHECK_INT_EQ("made", web_token_keep(&file, error, &token, &is_new), 0);
	CHECK("is new", is_new);
	CHECK("for its owner alone", stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK_INT_EQ("kept", web_token_keep(&file, error, &again, &is_new), 0);
	CHECK("is the old one", !is_new && memcmp(&token, &again, sizeof(token)) == 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_INT_EQ("64 digits and a line end", read(fd, text + strlen(text), 65), 65);
	(void)close(fd);
	text[7 + 64] = 0;
	CHECK("what is in the file matches", web_token_matches(&token, text));
	CHECK_INT_EQ("an empty file", truncate(path, 0), 0);
	CHECK_INT_EQ("is no token", web_token_read(&file, error, &token), -EINVAL);
	CHECK("the file is named", strstr(error, path));
	(void)chmod(path, 0640);
	CHECK_INT_EQ("others can read it", web_token_read(&file, error, &token), -EPERM);
	CHECK("the way out", strstr(error, "chmod 600"));
	(void)unlink(path);
	CHECK("a link", symlink("/etc/passwd", path) == 0);
	CHECK("is not followed to make one", web_token_keep(&file, error, &token, &is_new) < 0);
	(void)unlink(path);
	CHECK("a link to nothing", symlink("none", path) == 0);
	CHECK("nor there", web_token_keep(&file, error, &token, &is_new) < 0);
	(void)unlink(path);
	(void)rmdir(directory);
}

int main(void)
{
	values_test();
	files_test();
	return check_result();
}
