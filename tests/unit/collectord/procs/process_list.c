// SPDX-License-Identifier: Apache-2.0
/*
 * The list of processes holds those that a directory like /proc shows whole, and no others.
 */
#include "procs/process_list.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define STATUS(uid) "Name:\tx\nTgid:\t1\nUid:\t" uid "\nNSpid:\t1\n"

static const struct entry {
	const char *name;
	const char *stat;   /* NULL: there is no such file */
	const char *status; /* likewise */
	struct listed_process want;
} entries[] = {
	{ "1", "1 (init) S 0 1 1 0", STATUS("0\t0\t0\t0"), { 1, 0, 0 } },
	{ "4711", "4711 (a) b) R 1 1 1 0", STATUS("1000\t0\t0\t0"), { 4711, 1, 1000 } },
	{ "4194304", "4194304 (x) Z 4711 1 1 0", STATUS("7\t7\t7\t7"), { 4194304, 4711, 7 } },
	{ "22", NULL, STATUS("7\t7\t7\t7"), { 0 } },
	{ "23", "23 (x) S 1 1 1 0", NULL, { 0 } },
	{ "24", "24 x S 1", STATUS("7\t7\t7\t7"), { 0 } },
	{ "25", "25 (x) S 1 1 1 0", "Name:\tx\n", { 0 } },
	{ "26", NULL, NULL, { 0 } },
	{ "self", "1 (init) S 0 1 1 0", STATUS("0\t0\t0\t0"), { 0 } },
	{ "27x", "27 (x) S 1 1 1 0", STATUS("0\t0\t0\t0"), { 0 } },
	{ "-28", "28 (x) S 1 1 1 0", STATUS("0\t0\t0\t0"), { 0 } },
	{ "99999999999", "9 (x) S 1 1 1 0", STATUS("0\t0\t0\t0"), { 0 } },
};

/* procfs_stat_parse() wants all fields that the kernel writes. */
#define STAT_REST " 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0"

static void file_write(int dir_fd, const char *name, const char *text, const char *rest)
{
	CLEANUP(closep) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (!text)
		return;
	CHECK_INT_EQ(name, write(fd, text, strlen(text)), strlen(text));
	CHECK_INT_EQ(name, write(fd, rest, strlen(rest)), strlen(rest));
}

static void entry_make(int proc_fd, const struct entry *e)
{
	CLEANUP(closep) int fd = -1;

	CHECK_INT_EQ(e->name, mkdirat(proc_fd, e->name, 0700), 0);
	fd = openat(proc_fd, e->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e->stat)
		file_write(fd, "stat", e->stat, STAT_REST);
	if (e->status)
		file_write(fd, "status", e->status, "");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static const struct listed_process *find(const process_list *list, uint32_t pid)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].pid == pid)
			return &list->items[i];
	return NULL;
}

static void test_directory(void)
{
	const char *temporary = getenv("TMPDIR");
	CLEANUP(closep) int proc_fd = -1;
	process_list list = { .items = NULL };
	char root[PATH_MAX];
	size_t n = 0;

	(void)snprintf(root, sizeof(root), "%s/process_list_XXXXXX", temporary ? temporary : P_tmpdir);
	if (!mkdtemp(root))
		abort();
	proc_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT_EQ("empty", process_list_read(proc_fd, &list), 0);
	CHECK_INT_EQ("empty", list.n, 0);

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		entry_make(proc_fd, &entries[i]);
	file_write(proc_fd, "29", "29", "");	  /* a file, no directory */
	for (int round = 0; round < 2; round++) { /* reads from the beginning each time */
		list.n = n = 0;
		CHECK_INT_EQ("directory", process_list_read(proc_fd, &list), 0);
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
			const struct entry *e = &entries[i];
			const struct listed_process *got = find(&list, e->want.pid);

			if (!e->want.pid)
				continue;
			n++;
			CHECK(e->name, got);
			CHECK_INT_EQ(e->name, got ? got->ppid : UINT32_MAX, e->want.ppid);
			CHECK_INT_EQ(e->name, got ? got->uid : UINT32_MAX, e->want.uid);
		}
		CHECK_INT_EQ("no others", list.n, n);
	}
	ARRAY_DONE(&list);
	(void)nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void test_errors(void)
{
	CLEANUP(closep) int file_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	process_list list = { .items = NULL };

	CHECK_INT_EQ("no directory", process_list_read(file_fd, &list), -ENOTDIR);
	CHECK_INT_EQ("closed", process_list_read(-1, &list), -EBADF);
	CHECK_INT_EQ("nothing found", list.n, 0);
	ARRAY_DONE(&list);
}

static void test_this_machine(void)
{
	CLEANUP(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	process_list list = { .items = NULL };
	const struct listed_process *self;

	CHECK_INT_EQ("/proc", process_list_read(proc_fd, &list), 0);
	self = find(&list, (uint32_t)getpid());
	CHECK("ourselves", self);
	CHECK_INT_EQ("our parent", self ? self->ppid : 0, getppid());
	CHECK_INT_EQ("our user", self ? self->uid : UINT32_MAX, getuid());
	ARRAY_DONE(&list);
}

int main(void)
{
	test_directory();
	test_errors();
	test_this_machine();
	return check_result();
}
