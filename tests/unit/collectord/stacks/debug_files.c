// SPDX-License-Identifier: Apache-2.0
/*
 * Which separate debug files are opened: those that nobody but root can replace, in the places where distributions put
 * them. Needs root, a directory of root's on the root file system, and one of /usr/lib/debug.
 */
#include "stacks/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static int proc_fd;
static char place[] = "/var/lib/ingero-test-XXXXXX";

static void run(const char *command)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "cd %s && %s", place, command);
	CHECK_INT_EQ(command, system(line), 0);
}

/* It is the file of that path, open for reading. */
static void opened_check(const char *name, const struct debug_file *file, const char *path)
{
	char text[16] = "", full[256];
	struct stat st;

	(void)snprintf(full, sizeof(full), "%s/%s", path[0] == '/' ? "" : place, path);
	CHECK_INT_EQ(name, stat(full, &st), 0);
	CHECK_INT_EQ(name, file->id.inode, st.st_ino);
	CHECK_INT_EQ(name, file->id.device, (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev));
	CHECK_INT_EQ(name, file->id.bytes, st.st_size);
	CHECK_INT_EQ(name, file->id.change_s, st.st_ctim.tv_sec);
	CHECK_INT_EQ(name, file->id.change_ns, st.st_ctim.tv_nsec);
	CHECK_INT_EQ(name, read(file->fd, text, sizeof(text) - 1), 5);
	CHECK_STR_EQ(name, text, "debug");
	CHECK_INT_EQ(name, fcntl(file->fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK);
	CHECK_INT_EQ(name, fcntl(file->fd, F_GETFD), FD_CLOEXEC);
}

static const struct {
	const char *name, *before;
	const char *want; /* the file that is opened */
	int r;		  /* if none is */
} cases[] = {
	{ "beside the library", "printf debug >lib/l.debug", "lib/l.debug", 0 },
	{ "in .debug", "mkdir lib/.debug && printf debug >lib/.debug/l.debug", "lib/.debug/l.debug", 0 },
	{ "below /usr/lib/debug", "mkdir -p /usr/lib/debug$PWD/lib && printf debug >/usr/lib/debug$PWD/lib/l.debug",
	  "/usr/lib/debug%s/lib/l.debug", 0 },
	{ "the first of two", "mkdir lib/.debug && printf other >lib/.debug/l.debug && printf debug >lib/l.debug",
	  "lib/l.debug", 0 },
	{ "the second, as the first is anybody's",
	  "mkdir lib/.debug && printf debug >lib/.debug/l.debug && printf debug >lib/l.debug && chmod 666 lib/l.debug",
	  "lib/.debug/l.debug", 0 },
	{ "none", "true", NULL, -ENOENT },
	{ "others may write it", "printf debug >lib/l.debug && chmod 666 lib/l.debug", NULL, -EPERM },
	{ "its group may write it", "printf debug >lib/l.debug && chmod 664 lib/l.debug", NULL, -EPERM },
	{ "somebody's", "printf debug >lib/l.debug && chown 65534 lib/l.debug", NULL, -EPERM },
	{ "others may write its directory", "printf debug >lib/l.debug && chmod 777 lib", NULL, -EPERM },
	{ "root alone may read it", "printf debug >lib/l.debug && chmod 600 lib/l.debug", NULL, -EACCES },
	{ "root alone may enter its directory", "printf debug >lib/l.debug && chmod 700 lib", NULL, -EACCES },
	{ "a link to where root alone may enter",
	  "mkdir -m 700 more && printf debug >more/m.debug && ln -s ../more/m.debug lib/l.debug", NULL, -EACCES },
	{ "a link of root's", "printf debug >lib/m.debug && ln -s m.debug lib/l.debug", "lib/m.debug", 0 },
	{ "an absolute link", "printf debug >lib/m.debug && ln -s $PWD/lib/m.debug lib/l.debug", "lib/m.debug", 0 },
	{ "a link upwards", "mkdir more && printf debug >more/m.debug && ln -s ../more/./m.debug lib/l.debug",
	  "more/m.debug", 0 },
	{ "a link beyond the root",
	  "printf debug >lib/m.debug && ln -s ../../../../../../..$PWD/lib/m.debug lib/l.debug", "lib/m.debug", 0 },
	{ "its directory is a link of root's", "mv lib real && printf debug >real/l.debug && ln -s real lib",
	  "real/l.debug", 0 },
	{ "a link of somebody's",
	  "printf debug >lib/m.debug && ln -s m.debug lib/l.debug && chown -h 65534 lib/l.debug", NULL, -EPERM },
	{ "a link to a file of somebody's",
	  "printf debug >lib/m.debug && chown 65534 lib/m.debug && ln -s m.debug lib/l.debug", NULL, -EPERM },
	{ "a link into a directory of anybody's",
	  "mkdir -m 777 more && printf debug >more/m.debug && ln -s ../more/m.debug lib/l.debug", NULL, -EPERM },
	{ "a link to itself", "ln -s l.debug lib/l.debug", NULL, -ELOOP },
	{ "a link to nothing", "ln -s m.debug lib/l.debug", NULL, -ENOENT },
	{ "a directory", "mkdir lib/l.debug", NULL, -EINVAL },
	{ "a pipe", "mkfifo lib/l.debug", NULL, -EINVAL },
	{ "a link to a device", "ln -s /dev/zero lib/l.debug", NULL, -EPERM },
	{ "something is mounted there", "mount -t tmpfs -o mode=755 none lib && printf debug >lib/l.debug", NULL,
	  -EPERM },
};

static void clean(void)
{
	run("umount lib 2>/dev/null; rm -rf lib real more && cd / && rm -rf /usr/lib/debug$OLDPWD && "
	    "{ rmdir /usr/lib/debug/var/lib /usr/lib/debug/var 2>/dev/null || true; }");
}

static void link_check(void)
{
	char library[64];

	(void)snprintf(library, sizeof(library), "%s/lib/l.so", place);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct debug_file file = { .fd = -1 };
		char want[128];

		clean();
		run("mkdir -m 755 lib");
		run(cases[i].before);
		CHECK_INT_EQ(cases[i].name, debug_files_open_link(proc_fd, library, "l.debug", &file), cases[i].r);
		if (cases[i].want) {
			(void)snprintf(want, sizeof(want), "%s", cases[i].want);
			if (strstr(want, "%s"))
				(void)snprintf(want, sizeof(want), "/usr/lib/debug%s/lib/l.debug", place);
			opened_check(cases[i].name, &file, want);
		}
		closep(&file.fd);
	}
	clean();
}

static void names_check(void)
{
	static const struct {
		const char *name, *path, *link;
	} wrong[] = {
		{ "no name", "/lib/l.so", "" },
		{ "another directory", "/lib/l.so", "../etc/passwd" },
		{ "an absolute path", "/lib/l.so", "/etc/passwd" },
		{ "the directory", "/lib/l.so", "." },
		{ "the one above", "/lib/l.so", ".." },
		{ "a relative library", "lib/l.so", "l.debug" },
		{ "no library", "", "l.debug" },
		{ "no path", "[vdso]", "l.debug" },
	};
	static char longest[5000];
	struct debug_file file = { .fd = -1 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_INT_EQ(wrong[i].name, debug_files_open_link(proc_fd, wrong[i].path, wrong[i].link, &file),
			     -EINVAL);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[4090] = '/';
	CHECK_INT_EQ("a long path", debug_files_open_link(proc_fd, longest, "l.debug", &file), -ENAMETOOLONG);
	CHECK_INT_EQ("a long name", debug_files_open_link(proc_fd, "/lib/l.so", longest + 4091, &file), -EINVAL);
	CHECK_INT_EQ("nothing is opened", file.fd, -1);
}

static void build_id_check(void)
{
	/* Of no file: the last bytes are those of this process. */
	uint8_t id[20] = { 0xfe, 0xed, 0x01 };
	struct debug_file file = { .fd = -1 };
	char path[128], command[512];
	size_t n;

	memcpy(id + 3, place, 17);
	memcpy(id + 10, &(int){ getpid() }, sizeof(int));
	n = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/fe/");
	for (size_t i = 1; i < sizeof(id); i++)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "%02x", id[i]);
	(void)snprintf(path + n, sizeof(path) - n, ".debug");

	CHECK_INT_EQ("none", debug_files_open_build_id(proc_fd, id, sizeof(id), &file), -ENOENT);
	(void)snprintf(command, sizeof(command), "mkdir -p /usr/lib/debug/.build-id/fe && printf debug >%s", path);
	run(command);
	CHECK_INT_EQ("there", debug_files_open_build_id(proc_fd, id, sizeof(id), &file), 0);
	opened_check("there", &file, path);
	closep(&file.fd);
	CHECK_INT_EQ("another", debug_files_open_build_id(proc_fd, id, sizeof(id) - 1, &file), -ENOENT);
	CHECK_INT_EQ("none at all", debug_files_open_build_id(proc_fd, id, 0, &file), -EINVAL);
	CHECK_INT_EQ("too short", debug_files_open_build_id(proc_fd, id, 1, &file), -EINVAL);
	CHECK_INT_EQ("too long", debug_files_open_build_id(proc_fd, id, 65, &file), -EINVAL);
	CHECK_INT_EQ("chmod", chmod(path, 0666), 0);
	CHECK_INT_EQ("others may write it", debug_files_open_build_id(proc_fd, id, sizeof(id), &file), -EPERM);
	(void)unlink(path);
	(void)rmdir("/usr/lib/debug/.build-id/fe"); /* unless others are there */
}

int main(void)
{
	if (geteuid() != 0 || access("/usr/lib", W_OK) < 0 || !mkdtemp(place))
		CHECK_SKIP("needs root, a directory of root's, and to write below /usr/lib");
	(void)umask(022);
	(void)chmod(place, 0755);
	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	link_check();
	names_check();
	build_id_check();
	run("rmdir \"$PWD\"");
	(void)close(proc_fd);
	return check_result();
}
