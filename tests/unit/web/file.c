// SPDX-License-Identifier: Apache-2.0
/* Whose directory and files a server trusts with its secrets, and whose it does not. */
#include "web/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

enum { NOBODY_OF_US = 12345 };

static const struct {
	const char *name, *home, *sentence;
} homes[] = {
	{ "no home", NULL, "HOME is not an absolute path" },
	{ "an empty one", "", "HOME is not an absolute path" },
	{ "a relative one", "home", "HOME is not an absolute path" },
	{ "a missing one", "/no/such/home", "cannot create" },
};

static void homes_test(void)
{
	struct web_place place;

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		char error[WEB_ERROR_BYTES] = "";

		CHECK_INT_EQ(homes[i].name, web_place_open(homes[i].home, error, &place), -ENOENT);
		CHECK(homes[i].name, strstr(error, homes[i].sentence));
		CHECK_INT_EQ(homes[i].name, place.fd, -1);
	}
}

static void place_test(const char *home)
{
	char error[WEB_ERROR_BYTES] = "", path[300], moved[300];
	struct web_place place;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/.ingero", home);
	(void)snprintf(moved, sizeof(moved), "%s/moved", home);
	CHECK_INT_EQ("made", web_place_open(home, error, &place), 0);
	CHECK_STR_EQ("its path", place.path, path);
	CHECK("for its user alone", stat(path, &st) == 0 && (st.st_mode & 0777) == 0700);
	web_place_close(&place);
	CHECK_INT_EQ("kept", web_place_open(home, error, &place), 0);
	web_place_close(&place);
	(void)chmod(path, 0755);
	CHECK_INT_EQ("others may look", web_place_open(home, error, &place), 0);
	web_place_close(&place);
	(void)chmod(path, 0770);
	CHECK_INT_EQ("a group may write", web_place_open(home, error, &place), -EPERM);
	CHECK("the way out", strstr(error, "chmod go-w"));
	(void)chmod(path, 0777);
	CHECK_INT_EQ("everybody may write", web_place_open(home, error, &place), -EPERM);
	(void)chmod(path, 0700);
	if (geteuid() == 0) {
		CHECK("another's", chown(path, NOBODY_OF_US, NOBODY_OF_US) == 0);
		CHECK_INT_EQ("is refused", web_place_open(home, error, &place), -EPERM);
		CHECK("its owner is the reason", strstr(error, "belongs to another user"));
		CHECK("back", chown(path, 0, 0) == 0);
	}
	CHECK("a link to it", rename(path, moved) == 0 && symlink(moved, path) == 0);
	CHECK_INT_EQ("is refused", web_place_open(home, error, &place), -ENOTDIR);
	CHECK("it is said why", strstr(error, "or a link"));
	CHECK("back", unlink(path) == 0 && rename(moved, path) == 0);
}

static int open_code(const struct web_file *file, bool is_secret, char *error)
{
	int fd = web_file_open(file, is_secret, error);

	if (fd >= 0)
		(void)close(fd);
	return MIN(fd, 0);
}

static void file_test(const char *home)
{
	char error[WEB_ERROR_BYTES] = "", path[400], link_path[400], temporary[WEB_TEMPORARY_BYTES];
	struct web_file secret = { .name = "secret", .path = path }, via = { .name = "via", .path = link_path };
	struct web_place place;
	struct stat st;
	int fd;

	CHECK_INT_EQ("the place", web_place_open(home, error, &place), 0);
	secret.directory = via.directory = place.fd;
	(void)snprintf(path, sizeof(path), "%.300s/secret", place.path);
	(void)snprintf(link_path, sizeof(link_path), "%.300s/via", place.path);
	CHECK_INT_EQ("nothing yet", open_code(&secret, true, error), -ENOENT);
	(void)umask(0777);
	fd = web_file_create(&secret, 0600, temporary, error);
	(void)umask(022);
	CHECK("made under another name", fd >= 0 && access(path, F_OK) < 0);
	CHECK("whatever the mask is", fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600);
	(void)close(fd);
	CHECK("named", renameat(place.fd, temporary, place.fd, "secret") == 0);
	CHECK_INT_EQ("read", open_code(&secret, true, error), 0);
	CHECK_INT_EQ("by its path", open_code(&WEB_FILE(path), true, error), 0);
	(void)chmod(path, 0644);
	CHECK_INT_EQ("others read it", open_code(&secret, true, error), -EPERM);
	CHECK("the way out", strstr(error, "chmod 600"));
	CHECK_INT_EQ("which is no secret", open_code(&secret, false, error), 0);
	(void)chmod(path, 0600);
	CHECK("a link", symlink("secret", link_path) == 0);
	CHECK_INT_EQ("is not followed", open_code(&via, true, error), -EPERM);
	CHECK("it is said why", strstr(error, "is a link"));
	CHECK_INT_EQ("but where an option names it", open_code(&WEB_FILE(link_path), true, error), 0);
	if (geteuid() == 0) {
		CHECK("another's", chown(path, NOBODY_OF_US, NOBODY_OF_US) == 0);
		CHECK_INT_EQ("is no secret of ours", open_code(&secret, true, error), -EPERM);
		CHECK("its owner is the reason", strstr(error, "belongs to another user"));
		CHECK_INT_EQ("nor by its path", open_code(&WEB_FILE(path), true, error), -EPERM);
		CHECK_INT_EQ("a certificate may be anybody's", open_code(&secret, false, error), 0);
	}
	(void)unlink(path);
	(void)unlink(link_path);
	CHECK("a pipe with a name", mkfifo(path, 0600) == 0);
	CHECK_INT_EQ("is no file", open_code(&secret, true, error), -EPERM);
	CHECK_INT_EQ("and is not waited for", open_code(&secret, false, error), -EPERM);
	(void)unlink(path);
	CHECK("nothing else stays", rmdir(place.path) == 0);
	web_place_close(&place);
}

int main(void)
{
	const char *place = getenv("TMPDIR");
	char home[256];

	(void)snprintf(home, sizeof(home), "%.200s/unit_web_file_XXXXXX", place ? place : P_tmpdir);
	CHECK("a home", mkdtemp(home));
	homes_test();
	place_test(home);
	file_test(home);
	(void)rmdir(home);
	return check_result();
}
