// SPDX-License-Identifier: Apache-2.0
/*
 * Which files are remembered and opened again: those that nobody but root can replace, as long as they are what they
 * were. Needs root, and a directory of root's on the root file system.
 */
#include "probes/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define NOW 2000000000u
#define DAY 86400u

static int proc_fd;
static char place[] = "/var/lib/ingero-test-XXXXXX", library[64], list[64];

static void run(const char *command)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "cd %s && %s", place, command);
	CHECK_INT_EQ(command, system(line), 0);
}

static struct file_identity identity(const char *path)
{
	struct stat st = { .st_ino = 0 };

	(void)stat(path, &st);
	return (struct file_identity){
		.device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev),
		.inode = st.st_ino,
		.bytes = (uint64_t)st.st_size,
		.change_s = st.st_ctim.tv_sec,
		.change_ns = (uint32_t)st.st_ctim.tv_nsec,
	};
}

static const struct {
	const char *name, *before; /* what is done before it is known as what it is */
	const char *after;	   /* and since */
	int want;		   /* -errno; 0: it is opened */
} cases[] = {
	{ "as it was", "true", "true", 0 },
	{ "others may write it", "chmod 666 lib/f", "true", -EPERM },
	{ "its group may write it", "chmod 664 lib/f", "true", -EPERM },
	{ "somebody's", "chown 65534 lib/f", "true", -EPERM },
	{ "others may write its directory", "chmod 777 lib", "true", -EPERM },
	{ "its directory is somebody's", "chown 65534 lib", "true", -EPERM },
	{ "its directory is a link", "mv lib real && ln -s real lib", "true", -EPERM },
	{ "a link", "mv lib/f lib/g && ln -s g lib/f", "true", -EPERM },
	{ "no file", "rm lib/f && mkfifo lib/f", "true", -EINVAL },
	{ "replaced", "true", "cp -p lib/f lib/g && mv lib/g lib/f", -ESTALE },
	{ "written to", "true", "echo more >>lib/f", -ESTALE },
	{ "touched", "true", "touch lib/f", -ESTALE },
	{ "gone", "true", "rm lib/f", -ENOENT },
	{ "its directory became somebody's", "true", "chown 65534 lib", -EPERM },
	{ "something is mounted there", "true", "mount -t tmpfs -o mode=755 none lib && touch lib/f", -EPERM },
};

static void open_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(closep) int fd = -1;
		struct file_identity id;

		run("umount lib 2>/dev/null; rm -rf lib real && mkdir -m 755 lib && echo library >lib/f && chmod 644 "
		    "lib/f");
		run(cases[i].before);
		id = identity(library);
		run(cases[i].after);
		fd = target_memory_open_file(proc_fd, library, &id);
		CHECK_INT_EQ(cases[i].name, MIN(fd, 0), cases[i].want);
	}
	run("umount lib; true");
	CHECK_INT_EQ("relative", target_memory_open_file(proc_fd, "lib/f", &(struct file_identity){ .inode = 1 }),
		     -EINVAL);
	CHECK_INT_EQ("upwards",
		     target_memory_open_file(proc_fd, "/usr/../etc/passwd", &(struct file_identity){ .inode = 1 }),
		     -EINVAL);
}

static void fresh(void)
{
	run("rm -rf lib list* && mkdir -m 755 lib && echo library >lib/f && chmod 644 lib/f");
}

/* From one run to the next. */
static void memory_test(void)
{
	struct target_memory first = { .list_path = NULL }, second = { .list_path = NULL },
			     third = { .list_path = NULL };
	struct file_identity id, other;

	fresh();
	id = identity(library);
	CHECK("without a list nothing is remembered", !target_memory_note(&first, proc_fd, library, &id, NOW));
	CHECK_INT_EQ("no list yet", target_memory_load(&first, list, NOW), 0);
	CHECK("remembered", target_memory_note(&first, proc_fd, library, &id, NOW));
	CHECK("used again", target_memory_note(&first, proc_fd, library, &id, NOW + DAY));
	CHECK_INT_EQ("once", first.files.n, 1);
	CHECK_INT_EQ("written", target_memory_save(&first), 0);
	target_memory_done(&first);

	CHECK_INT_EQ("read", target_memory_load(&second, list, NOW + TARGET_MEMORY_DAYS * DAY), 0);
	CHECK_INT_EQ("there it is", second.files.n, 1);
	CHECK("as it was", second.files.n == 1 && strcmp(second.files.items[0].path, library) == 0);
	CHECK("still the same", target_memory_holds(&second, proc_fd, &id, NOW + 2 * DAY));
	CHECK("not for ever", !target_memory_holds(&second, proc_fd, &id, NOW + (TARGET_MEMORY_DAYS + 2) * DAY));
	CHECK_INT_EQ("then it is forgotten", second.files.n, 0);
	target_memory_done(&second);

	CHECK_INT_EQ("after a long time", target_memory_load(&third, list, NOW + (TARGET_MEMORY_DAYS + 2) * DAY), 0);
	CHECK_INT_EQ("nothing", third.files.n, 0);
	run("echo more >>lib/f");
	other = identity(library);
	CHECK("another state", target_memory_note(&third, proc_fd, library, &id, NOW) == false);
	CHECK("the one there is", target_memory_note(&third, proc_fd, library, &other, NOW));
	run("echo more >>lib/f");
	CHECK("changed since", !target_memory_holds(&third, proc_fd, &other, NOW));
	target_memory_done(&third);
}

/* A list that somebody else wrote, or nobody could have, is none. */
static void list_test(void)
{
	static const struct {
		const char *name, *text, *and;
		size_t want;
	} lists[] = {
		{ "right", "ingero libraries 1\\n1 2 3 4 5 1999999999 /usr/lib/libcuda.so.1\\n", "true", 1 },
		{ "of another version", "ingero libraries 2\\n1 2 3 4 5 1999999999 /usr/lib/libcuda.so.1\\n", "true",
		  0 },
		{ "cut", "ingero libraries 1\\n1 2 3 4 5 1999999999 /usr/lib/a\\n1 2 3", "true", 1 },
		{ "no number", "ingero libraries 1\\n1 2 three 4 5 1999999999 /usr/lib/a\\n", "true", 0 },
		{ "no path", "ingero libraries 1\\n1 2 3 4 5 1999999999 usr/lib/a\\n", "true", 0 },
		{ "empty", "", "true", 0 },
		{ "the same twice", "ingero libraries 1\\n1 2 3 4 5 1999999999 /a\\n1 2 3 4 5 1999999999 /b\\n", "true",
		  1 },
		{ "others may write it", "ingero libraries 1\\n1 2 3 4 5 1999999999 /a\\n", "chmod 666 list", 0 },
		{ "somebody's", "ingero libraries 1\\n1 2 3 4 5 1999999999 /a\\n", "chown 65534 list", 0 },
		{ "a link", "ingero libraries 1\\n1 2 3 4 5 1999999999 /a\\n", "mv list list2 && ln -s list2 list", 0 },
		{ "a fifo", "", "rm list && mkfifo list", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct target_memory memory = { .list_path = NULL };
		char command[512];

		fresh();
		(void)snprintf(command, sizeof(command), "printf '%s' >list && chmod 600 list && %s", lists[i].text,
			       lists[i].and);
		run(command);
		CHECK_INT_EQ(lists[i].name, target_memory_load(&memory, list, NOW), 0);
		CHECK_INT_EQ(lists[i].name, memory.files.n, lists[i].want);
		target_memory_done(&memory);
	}
}

/* More than there is room for: those used last stay. */
static void room_test(void)
{
	struct target_memory memory = { .list_path = NULL };

	fresh();
	(void)target_memory_load(&memory, list, NOW);
	for (unsigned int i = 0; i < TARGET_MEMORY_FILES_MAX + 3; i++) {
		char path[80], command[80];
		struct file_identity id;

		(void)snprintf(command, sizeof(command), "echo %u >lib/%u && chmod 644 lib/%u", i, i, i);
		run(command);
		(void)snprintf(path, sizeof(path), "%s/lib/%u", place, i);
		id = identity(path);
		CHECK(path, target_memory_note(&memory, proc_fd, path, &id, NOW + i));
	}
	CHECK_INT_EQ("as many as there is room", memory.files.n, TARGET_MEMORY_FILES_MAX);
	for (size_t i = 0; i < memory.files.n; i++)
		CHECK("of the latest", memory.files.items[i].used_s >= NOW + 3);
	CHECK_INT_EQ("written", target_memory_save(&memory), 0);
	target_memory_done(&memory);
	CHECK_INT_EQ("read", target_memory_load(&memory, list, NOW), 0);
	CHECK_INT_EQ("all of them", memory.files.n, TARGET_MEMORY_FILES_MAX);
	target_memory_done(&memory);
}

int main(void)
{
	if (geteuid() != 0 || !mkdtemp(place))
		CHECK_SKIP("needs root and a directory of root's");
	(void)chmod(place, 0755);
	(void)snprintf(library, sizeof(library), "%s/lib/f", place);
	(void)snprintf(list, sizeof(list), "%s/list", place);
	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	open_test();
	memory_test();
	list_test();
	room_test();
	run("umount lib 2>/dev/null; rm -rf lib real list* && rmdir \"$PWD\"");
	(void)close(proc_fd);
	return check_result();
}
