// SPDX-License-Identifier: Apache-2.0
/*
 * The list of processes holds those that a directory like /proc shows whole, and no others.
 * (unit.collectord.procs.owner has whose they are.)
 */
#include "procs/process_list.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "procs/owner.h"
#include "tests/support/check.h"

#define STATUS(ppid, uid) "Name:\tx\nTgid:\t1\nPPid:\t" ppid "\nUid:\t" uid "\nNSpid:\t1\nCapPrm:\t0\n"

static const struct entry {
	const char *name;
	const char *status; /* NULL: there is no such file */
	struct listed_process want;
} entries[] = {
	{ "1", STATUS("0", "0\t0\t0\t0"), { 1, 0, 0 } },
	{ "4711", STATUS("1", "1000\t0\t0\t0"), { 4711, 1, OWNER_NOBODY } },
	{ "4194304", STATUS("4711", "7\t7\t7\t7"), { 4194304, 4711, OWNER_NOBODY } },
	{ "23", NULL, { 0 } },
	{ "24", STATUS("x", "7\t7\t7\t7"), { 0 } },
	{ "25", "Name:\tx\n", { 0 } },
	{ "self", STATUS("0", "0\t0\t0\t0"), { 0 } },
	{ "27x", STATUS("1", "0\t0\t0\t0"), { 0 } },
	{ "-28", STATUS("1", "0\t0\t0\t0"), { 0 } },
	{ "99999999999", STATUS("1", "0\t0\t0\t0"), { 0 } },
};

static void file_write(int dir_fd, const char *name, const char *text)
{
	CLEANUP(closep) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK_INT_EQ(name, write(fd, text, strlen(text)), strlen(text));
}

static void entry_make(int proc_fd, const struct entry *e)
{
	CLEANUP(closep) int fd = -1;

	CHECK_INT_EQ(e->name, mkdirat(proc_fd, e->name, 0700), 0);
	fd = openat(proc_fd, e->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e->status)
		file_write(fd, "status", e->status);
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
	file_write(proc_fd, "29", "29");	  /* a file, no directory */
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

/* A walk goes on where it was left, and ends once. */
static void test_walk(void)
{
	CLEANUP(closep) int proc_fd = procfs_open();
	struct process_walk walk = { .dir = NULL };
	struct listed_process process, former = { .pid = 0 };
	size_t n_own = 0;
	int r;

	CHECK_INT_EQ("walk: closed", process_walk_begin(&walk, -1), -EBADF);
	CHECK_INT_EQ("walk", process_walk_begin(&walk, proc_fd), 0);
	while ((r = process_walk_next(&walk, &process)) > 0) {
		CHECK("walk: each once", process.pid > former.pid);
		former = process;
		n_own += process.pid == (uint32_t)getpid();
	}
	CHECK_INT_EQ("walk: the end", r, 0);
	CHECK("walk: ended", !walk.dir);
	CHECK_INT_EQ("walk: this process", n_own, 1);
	CHECK_INT_EQ("walk: again", process_walk_begin(&walk, proc_fd), 0);
	CHECK_INT_EQ("walk: the first", process_walk_next(&walk, &process), 1);
	process_walk_end(&walk);
	process_walk_end(&walk);
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
	test_walk();
	test_this_machine();
	return check_result();
}
