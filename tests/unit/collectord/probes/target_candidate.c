// SPDX-License-Identifier: Apache-2.0
/*
 * What a process in a root of its own maps is opened as what is mapped, whatever its name leads to by then: links out
 * of that root, FIFOs, other files; with the right to open mappings, and by name without it.
 */
#include "probes/target_candidate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "procs/procfs.h"
#include "tests/support/check.h"

#define INSIDE "/lib/libcuda.so.1" /* as the process in the root calls it */
#define FILE_BYTES 4096

static char top[256];

static const char *path_of(const char *name)
{
	static char paths[4][PATH_MAX];
	static size_t i;
	char *path = paths[i++ % ARRAY_SIZE(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void directory_remove(const char *name)
{
	char command[PATH_MAX + 64];

	(void)snprintf(command, sizeof(command), "rm -rf --one-file-system '%s'", path_of(name));
	if (system(command) != 0)
		abort();
}

static void file_make(const char *name)
{
	CLEANUP(closep) int fd = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || ftruncate(fd, FILE_BYTES) < 0)
		abort();
}

static void link_make(const char *to)
{
	if (unlink(path_of("root" INSIDE)) < 0 || symlink(to, path_of("root" INSIDE)) < 0)
		abort();
}

static void become_nothing_new(void)
{
}

static void become_absolute_link(void)
{
	link_make(path_of("outside/libcuda.so.1"));
}

static void become_climbing_link(void)
{
	char to[PATH_MAX + 64];

	(void)snprintf(to, sizeof(to), "../../../../../../../..%s", path_of("outside/libcuda.so.1"));
	link_make(to);
}

/* A process's root is a link that the kernel follows to anywhere. */
static void become_magic_link(void)
{
	char to[PATH_MAX + 64];

	(void)snprintf(to, sizeof(to), "/proc/%d/root%s", getpid(), path_of("outside/libcuda.so.1"));
	link_make(to);
	if (mkdir(path_of("root/proc"), 0755) < 0 || mount("proc", path_of("root/proc"), "proc", 0, NULL) < 0)
		abort();
}

static void become_linked_directory(void)
{
	if (rename(path_of("root/lib"), path_of("root/was")) < 0 ||
	    symlink(path_of("outside"), path_of("root/lib")) < 0)
		abort();
}

static void become_another(void)
{
	file_make("root/new");
	if (rename(path_of("root/new"), path_of("root" INSIDE)) < 0)
		abort();
}

static void become_fifo(void)
{
	if (unlink(path_of("root" INSIDE)) < 0 || mkfifo(path_of("root" INSIDE), 0600) < 0)
		abort();
}

static const struct {
	const char *name;
	void (*become)(void);
	bool is_found_by_name;
} rows[] = {
	{ "what it was", become_nothing_new, true },
	{ "a link out", become_absolute_link, false },
	{ "a link that climbs out", become_climbing_link, false },
	{ "a link through /proc", become_magic_link, false },
	{ "a directory that is a link out", become_linked_directory, false },
	{ "another file", become_another, false },
	{ "a FIFO", become_fifo, false },
};

/* Maps the file in that root and stays. Return: its process, once it has */
static pid_t subject_start(void)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		int fd = chroot(path_of("root")) < 0 || chdir("/") < 0 ? -1 : open(INSIDE, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || mmap(NULL, FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		abort();
	(void)close(ready[0]);
	return pid;
}

/* The right to open what /proc/PID/map_files names, given up and taken back. */
static void right_set(bool may)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		abort();
	for (size_t i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	if (!may) {
		data[0].effective &= ~(1u << CAP_SYS_ADMIN);
		data[1].effective &= ~(1u << (40 - 32)); /* CAP_CHECKPOINT_RESTORE, which older headers lack */
	}
	if (syscall(SYS_capset, &header, data) < 0)
		abort();
}

/* Return: inode of what was opened, or -errno */
static int64_t candidate_try(int proc_fd, int process_fd, const struct target_candidate *c)
{
	struct file_identity id;
	uint64_t bytes;
	struct stat st;
	CLEANUP(closep) int fd = target_candidate_open(proc_fd, process_fd, target_memory_device(), c, &id, &bytes);

	if (fd < 0)
		return fd;
	CHECK("cannot read", (fcntl(fd, F_GETFL) & O_PATH) && fstat(fd, &st) == 0);
	return (int64_t)st.st_ino;
}

static void row_check(size_t i)
{
	CLEANUP(target_candidates_done) struct target_candidates candidates = { .n_wanted = 0 };
	CLEANUP(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), process_fd = -1;
	struct target_candidate c;
	int64_t inode;
	pid_t pid;

	directory_remove("root");
	if (mkdir(path_of("root"), 0755) < 0 || mkdir(path_of("root/lib"), 0755) < 0)
		abort();
	file_make("root" INSIDE);
	pid = subject_start();
	process_fd = procfs_open_process(proc_fd, (uint32_t)pid);
	CHECK_INT_EQ(rows[i].name, target_candidates_read(process_fd, 0, &candidates), 0);
	CHECK(rows[i].name, candidates.n_wanted >= 1 && candidates.all.items[0].is_named);
	c = candidates.all.items[0];
	inode = (int64_t)c.inode;
	rows[i].become();

	CHECK_INT_EQ(rows[i].name, candidate_try(proc_fd, process_fd, &c), inode);
	/* As maps names it to who is outside the mount namespace that the root is the root of. */
	c.path = (char *)INSIDE;
	right_set(false);
	CHECK_INT_EQ(rows[i].name, candidate_try(proc_fd, process_fd, &c), rows[i].is_found_by_name ? inode : -EPERM);
	right_set(true);

	(void)umount2(path_of("root/proc"), MNT_DETACH); /* if this one had it */
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

int main(void)
{
	const char *temporary = getenv("TMPDIR");

	if (geteuid() != 0) {
		puts("skipped: needs root for a root of its own");
		return 77;
	}
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		abort();
	(void)snprintf(top, sizeof(top), "%s/unit_collectord_candidate_XXXXXX", temporary ? temporary : P_tmpdir);
	if (!mkdtemp(top) || chmod(top, 0755) < 0 || mkdir(path_of("outside"), 0755) < 0)
		abort();
	file_make("outside/libcuda.so.1");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		row_check(i);
	directory_remove("");
	return check_result();
}
