// SPDX-License-Identifier: Apache-2.0
#include "procs/procfs.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

static const struct {
	const char *name;
	const char *line;
	int r;
	struct procfs_mapping want;
} lines[] = {
	{ "library",
	  "7f0010000000-7f0010021000 r-xp 00001000 fd:01 1234                       /usr/lib/libcuda.so.1",
	  0,
	  { 0x7f0010000000, 0x7f0010021000, 0x1000, 1234, 0xfd, 1, true, false, false, "/usr/lib/libcuda.so.1" } },
	{ "low address with a leading zero",
	  "00401000-004e5000 r-xp 00000000 08:02 7 /bin/x",
	  0,
	  { 0x401000, 0x4e5000, 0, 7, 8, 2, true, false, false, "/bin/x" } },
	{ "data", "7f00-8f00 rw-p 00000000 08:02 7 /bin/x", 0, { 0x7f00, 0x8f00, 0, 7, 8, 2, false, false, true, "/bin/x" } },
	{ "deleted",
	  "7f00-8f00 r-xp 00000000 08:02 7 /srv/a (deleted)",
	  0,
	  { 0x7f00, 0x8f00, 0, 7, 8, 2, true, true, false, "/srv/a" } },
	{ "blanks in the name",
	  "7f00-8f00 r-xp 00000000 08:02 7 /srv/a  b c",
	  0,
	  { 0x7f00, 0x8f00, 0, 7, 8, 2, true, false, false, "/srv/a  b c" } },
	{ "line end in the name",
	  "7f00-8f00 r-xp 00000000 08:02 7 /srv/a\\012b\\x",
	  0,
	  { 0x7f00, 0x8f00, 0, 7, 8, 2, true, false, false, "/srv/a\nb\\x" } },
	{ "anonymous", "7f00-8f00 rw-p 00000000 00:00 0 ", 0, { 0x7f00, 0x8f00, 0, 0, 0, 0, false, false, true, "" } },
	{ "anonymous, no blank",
	  "7f00-8f00 rw-p 00000000 00:00 0",
	  0,
	  { 0x7f00, 0x8f00, 0, 0, 0, 0, false, false, true, "" } },
	{ "the kernel's own",
	  "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
	  0,
	  { 0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, 0, true, false, false, "[vsyscall]" } },
	{ "large device number",
	  "7f00-8f00 r-xp 00000000 103:1fffff 9 /x",
	  0,
	  { 0x7f00, 0x8f00, 0, 9, 0x103, 0x1fffff, true, false, false, "/x" } },
	{ "empty", "", -EINVAL, { 0 } },
	{ "no end", "7f00 r-xp 00000000 08:02 7 /x", -EINVAL, { 0 } },
	{ "end before start", "8f00-7f00 r-xp 00000000 08:02 7 /x", -EINVAL, { 0 } },
	{ "short permissions", "7f00-8f00 r-x 00000000 08:02 7 /x", -EINVAL, { 0 } },
	{ "no device", "7f00-8f00 r-xp 00000000 0802 7 /x", -EINVAL, { 0 } },
	{ "no inode", "7f00-8f00 r-xp 00000000 08:02 /x", -EINVAL, { 0 } },
	{ "something behind the inode", "7f00-8f00 r-xp 00000000 08:02 7x /x", -EINVAL, { 0 } },
	{ "address too long", "17f0010000000000000-27f0010000000000000 r-xp 00000000 08:02 7 /x", -EINVAL, { 0 } },
};

static void lines_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct procfs_mapping *want = &lines[i].want;
		struct procfs_mapping got = { .path = NULL };
		char text[512];

		(void)snprintf(text, sizeof(text), "%s", lines[i].line);
		CHECK_INT_EQ(lines[i].name, procfs_mapping_parse(text, &got), lines[i].r);
		if (lines[i].r < 0) {
			CHECK(lines[i].name, got.path == NULL); /* untouched */
			continue;
		}
		CHECK_INT_EQ(lines[i].name, got.start, want->start);
		CHECK_INT_EQ(lines[i].name, got.end, want->end);
		CHECK_INT_EQ(lines[i].name, got.offset_bytes, want->offset_bytes);
		CHECK_INT_EQ(lines[i].name, got.inode, want->inode);
		CHECK_INT_EQ(lines[i].name, got.dev_major, want->dev_major);
		CHECK_INT_EQ(lines[i].name, got.dev_minor, want->dev_minor);
		CHECK_INT_EQ(lines[i].name, got.is_executable, want->is_executable);
		CHECK_INT_EQ(lines[i].name, got.is_deleted, want->is_deleted);
		CHECK_INT_EQ(lines[i].name, got.is_writable, want->is_writable);
		CHECK_STR_EQ(lines[i].name, got.path, want->path);
	}
}

#define STAT_TAIL " 1 41 41 0 -1 4194560 155 0 0 0 0 0 0 0 20 0 1 0 987654 6889472 1015 18446744073709551615"

static const struct {
	const char *name;
	const char *text;
	int r;
	struct procfs_stat want;
} stats[] = {
	{ "plain", "42 (train) S" STAT_TAIL "\n", 0, { 987654, 42, 1, 'S', "train" } },
	{ "name with blanks and parentheses",
	  "42 (a) S 9 (b) R) D" STAT_TAIL "\n",
	  0,
	  { 987654, 42, 1, 'D', "a) S 9 (b) R" } },
	{ "empty name", "42 () Z" STAT_TAIL "\n", 0, { 987654, 42, 1, 'Z', "" } },
	{ "name with a line end", "42 (a\nb) S" STAT_TAIL "\n", 0, { 987654, 42, 1, 'S', "a\nb" } },
	{ "empty", "", -EINVAL, { 0 } },
	{ "no name", "42 S 1 2 3", -EINVAL, { 0 } },
	{ "ends in the name", "42 (train", -EINVAL, { 0 } },
	{ "ends after the name", "42 (train)", -EINVAL, { 0 } },
	{ "ends before the start time", "42 (train) S 1 41 41 0 -1", -EINVAL, { 0 } },
	{ "no number", "x (train) S" STAT_TAIL, -EINVAL, { 0 } },
};

static void stats_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		struct procfs_stat got = { .pid = 4711 };

		CHECK_INT_EQ(stats[i].name, procfs_stat_parse(stats[i].text, &got), stats[i].r);
		if (stats[i].r < 0) {
			CHECK_INT_EQ(stats[i].name, got.pid, 4711);
			continue;
		}
		CHECK_INT_EQ(stats[i].name, got.pid, stats[i].want.pid);
		CHECK_INT_EQ(stats[i].name, got.ppid, stats[i].want.ppid);
		CHECK_INT_EQ(stats[i].name, got.state, stats[i].want.state);
		CHECK_INT_EQ(stats[i].name, got.start_ticks, stats[i].want.start_ticks);
		CHECK_STR_EQ(stats[i].name, got.comm, stats[i].want.comm);
	}
}

static const struct {
	const char *name;
	const char *text;
	int r;
	struct procfs_status want;
} statuses[] = {
	{ "plain",
	  "Name:\tx\nTgid:\t42\nPid:\t43\nPPid:\t7\nUid:\t1\t2\t3\t4\nNSpid:\t42\t7\t1\nGroups:\t1 2\nVmSize:\t 1 "
	  "kB\nCapPrm:\t000001fffeffffff\n",
	  0,
	  { { 1, 2, 3 }, 42, 1, 7, 0x1fffeffffff, true, false } },
	{ "no namespaces",
	  "Name:\tx\nTgid:\t42\nPPid:\t1\nUid:\t0\t0\t0\t0\nCapPrm:\t0\n",
	  0,
	  { { 0, 0, 0 }, 42, 42, 1, 0, false, false } },
	{ "largest uid",
	  "Tgid:\t42\nPPid:\t1\nUid:\t4294967295\t0\t0\t0\nCapPrm:\t0\n",
	  0,
	  { { UINT32_MAX, 0, 0 }, 42, 42, 1, 0, false, false } },
	{ "name that looks like a line",
	  "Name:\tUid:\t9\nTgid:\t42\nPPid:\t1\nUid:\t5\t5\t5\t5\nCapPrm:\t0\n",
	  0,
	  { { 5, 5, 5 }, 42, 42, 1, 0, false, false } },
	{ "one that has ended",
	  "State:\tZ (zombie)\nTgid:\t42\nPPid:\t1\nUid:\t5\t5\t5\t5\nThreads:\t1\nCapPrm:\t0\n",
	  0,
	  { { 5, 5, 5 }, 42, 42, 1, 0, false, true } },
	{ "one whose first thread alone has ended",
	  "State:\tZ (zombie)\nTgid:\t42\nPPid:\t1\nUid:\t5\t5\t5\t5\nThreads:\t3\nCapPrm:\t0\n",
	  0,
	  { { 5, 5, 5 }, 42, 42, 1, 0, false, false } },
	{ "empty", "", -EINVAL, { { 0 }, 0, 0, 0, 0, false, false } },
	{ "no uid", "Name:\tx\nTgid:\t42\n", -EINVAL, { { 0 }, 0, 0, 0, 0, false, false } },
	{ "two uids", "Tgid:\t42\nPPid:\t1\nUid:\t0\t0\n", -EINVAL, { { 0 }, 0, 0, 0, 0, false, false } },
	{ "uid too large",
	  "Tgid:\t42\nPPid:\t1\nUid:\t4294967296\t0\t0\t0\n",
	  -EINVAL,
	  { { 0 }, 0, 0, 0, 0, false, false } },
	{ "no parent", "Name:\tx\nTgid:\t42\nUid:\t0\t0\t0\t0\n", -EINVAL, { { 0 }, 0, 0, 0, 0, false, false } },
	{ "no capabilities", "Tgid:\t42\nPPid:\t1\nUid:\t0\t0\t0\t0\n", -EINVAL, { { 0 }, 0, 0, 0, 0, false, false } },
	{ "capabilities that are no number",
	  "Tgid:\t42\nPPid:\t1\nUid:\t0\t0\t0\t0\nCapPrm:\tx\n",
	  -EINVAL,
	  { { 0 }, 0, 0, 0, 0, false, false } },
	{ "a parent that is no number",
	  "Tgid:\t42\nPPid:\tx\nUid:\t0\t0\t0\t0\n",
	  -EINVAL,
	  { { 0 }, 0, 0, 0, 0, false, false } },
};

static void statuses_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct procfs_status got = { .tgid = 4711 };

		CHECK_INT_EQ(statuses[i].name, procfs_status_parse(statuses[i].text, &got), statuses[i].r);
		if (statuses[i].r < 0) {
			CHECK_INT_EQ(statuses[i].name, got.tgid, 4711);
			continue;
		}
		for (size_t k = 0; k < PROCFS_UID_COUNT; k++)
			CHECK_INT_EQ(statuses[i].name, got.uids[k], statuses[i].want.uids[k]);
		CHECK_INT_EQ(statuses[i].name, got.tgid, statuses[i].want.tgid);
		CHECK_INT_EQ(statuses[i].name, got.ns_pid, statuses[i].want.ns_pid);
		CHECK_INT_EQ(statuses[i].name, got.ppid, statuses[i].want.ppid);
		CHECK_INT_EQ(statuses[i].name, got.permitted, statuses[i].want.permitted);
		CHECK_INT_EQ(statuses[i].name, got.has_memory, statuses[i].want.has_memory);
		CHECK_INT_EQ(statuses[i].name, got.has_ended, statuses[i].want.has_ended);
	}
}

static const struct {
	const char *name;
	const char *line;
	int r;
	struct procfs_mount want;
} mounts[] = {
	{ "disk",
	  "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
	  0,
	  { 36, "ext3", 0 } },
	{ "no tags", "36 35 98:0 / / rw - tmpfs none rw", 0, { 36, "tmpfs", 0 } },
	{ "many tags",
	  "36 35 0:9 / / rw shared:1 master:2 propagate_from:3 - overlay overlay rw,lowerdir=/a:/b",
	  0,
	  { 36, "overlay", 0 } },
	{ "a user's file system",
	  "9 35 0:9 / /m rw - fuse.sshfs host:/ rw,user_id=1000,group_id=1000,allow_other",
	  0,
	  { 9, "fuse.sshfs", 1000 } },
	{ "root's file system", "9 35 0:9 / /m rw - fuse /dev/fuse rw,user_id=0,group_id=0", 0, { 9, "fuse", 0 } },
	{ "option last", "9 35 0:9 / /m rw - fuse /dev/fuse user_id=7", 0, { 9, "fuse", 7 } },
	{ "empty", "", -EINVAL, { 0 } },
	{ "no separator", "36 35 98:0 / / rw tmpfs none rw", -EINVAL, { 0 } },
	{ "no number", "x 35 98:0 / / rw - tmpfs none rw", -EINVAL, { 0 } },
	{ "nothing behind the type", "36 35 98:0 / / rw - tmpfs", -EINVAL, { 0 } },
	{ "no super options", "36 35 98:0 / / rw - tmpfs none", -EINVAL, { 0 } },
	{ "endless type", "36 35 98:0 / / rw - ttttttttttttttttttttttttttttttttttttttttttt none rw", -EINVAL, { 0 } },
};

static void mounts_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		struct procfs_mount got = { .id = 4711 };
		char text[512];

		(void)snprintf(text, sizeof(text), "%s", mounts[i].line);
		CHECK_INT_EQ(mounts[i].name, procfs_mount_parse(text, &got), mounts[i].r);
		if (mounts[i].r < 0) {
			CHECK_INT_EQ(mounts[i].name, got.id, 4711);
			continue;
		}
		CHECK_INT_EQ(mounts[i].name, got.id, mounts[i].want.id);
		CHECK_INT_EQ(mounts[i].name, got.owner_uid, mounts[i].want.owner_uid);
		CHECK_STR_EQ(mounts[i].name, got.type, mounts[i].want.type);
	}
}

/* A directory that looks like /proc, with one process. */
struct fake_proc {
	char path[64];
	int fd;
};

static void fake_proc_open(struct fake_proc *fake, const char *maps)
{
	CLEANUP(closep) int fd = -1;
	char path[96];

	(void)snprintf(fake->path, sizeof(fake->path), "procfs-XXXXXX");
	if (!mkdtemp(fake->path))
		abort();
	(void)snprintf(path, sizeof(path), "%s/42", fake->path);
	if (mkdir(path, 0700) < 0)
		abort();
	(void)snprintf(path, sizeof(path), "%s/42/maps", fake->path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_full(fd, maps, strlen(maps)) < 0)
		abort();
	fake->fd = open(fake->path, O_DIRECTORY | O_CLOEXEC);
}

static void fake_proc_close(struct fake_proc *fake)
{
	(void)unlinkat(fake->fd, "42/maps", 0);
	(void)unlinkat(fake->fd, "42", AT_REMOVEDIR);
	(void)rmdir(fake->path);
	closep(&fake->fd);
}

struct seen {
	size_t n;
	uint64_t inodes;
	int stop_at;
};

static int on_mapping(const struct procfs_mapping *m, void *data)
{
	struct seen *seen = data;

	seen->inodes += m->inode;
	return (int)++seen->n == seen->stop_at ? 77 : 0;
}

static void maps_check(void)
{
	static char many[1 << 20], path[4000];
	const struct {
		const char *name;
		const char *maps;
		int stop_at;
		int r;
		size_t n;
		uint64_t inodes;
	} cases[] = {
		{ "nothing", "", 0, 0, 0, 0 },
		{ "two", "1000-2000 r-xp 00000000 08:02 7 /a\n2000-3000 r-xp 00000000 08:02 9 /b\n", 0, 0, 2, 16 },
		{ "stop at the first", "1000-2000 r-xp 00000000 08:02 7 /a\n2000-3000 r-xp 00000000 08:02 9 /b\n", 1,
		  77, 1, 7 },
		{ "nonsense in the middle", "1000-2000 r-xp 00000000 08:02 7 /a\nwhat\n", 0, -EINVAL, 1, 7 },
		{ "cut in a line", "1000-2000 r-xp 00000000 08:02 7 /a\n2000-3000 r-xp", 0, -EINVAL, 1, 7 },
		{ "more than one read", many, 0, 0, 200, 200 * 201 / 2 },
	};
	size_t n = 0;

	memset(path, 'p', sizeof(path) - 1);
	for (int i = 1; i <= 200; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "%x-%x r-xp 00000000 08:02 %d /%s\n", i * 4096,
				      (i + 1) * 4096, i, path);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen seen = { .stop_at = cases[i].stop_at };
		CLEANUP(closep) int process_fd = -1;
		struct fake_proc fake;

		fake_proc_open(&fake, cases[i].maps);
		process_fd = procfs_open_process(fake.fd, 42);
		CHECK(cases[i].name, process_fd >= 0);
		CHECK_INT_EQ(cases[i].name, procfs_maps_read(process_fd, on_mapping, &seen), cases[i].r);
		CHECK_INT_EQ(cases[i].name, seen.n, cases[i].n);
		CHECK_INT_EQ(cases[i].name, seen.inodes, cases[i].inodes);
		CHECK_INT_EQ(cases[i].name, procfs_open_process(fake.fd, 43), -ENOENT);
		fake_proc_close(&fake);
	}
}

/* The kernel's own text, which is what all of this is for. */
static void self_check(void)
{
	CLEANUP(closep) int proc_fd = open("/proc", O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closep) int process_fd = procfs_open_process(proc_fd, (uint32_t)getpid());
	struct seen seen = { 0 };
	struct procfs_mount mount;
	struct procfs_status status;
	struct procfs_stat stat;
	uint64_t id;

	CHECK_INT_EQ("self", procfs_stat_read(process_fd, &stat), 0);
	CHECK_INT_EQ("self", stat.pid, getpid());
	CHECK_INT_EQ("self", stat.ppid, getppid());
	CHECK("self", stat.start_ticks > 0);
	CHECK_INT_EQ("self", procfs_status_read(process_fd, &status), 0);
	CHECK_INT_EQ("self", status.uids[0], getuid());
	CHECK_INT_EQ("self", status.tgid, getpid());
	CHECK_INT_EQ("self", procfs_maps_read(process_fd, on_mapping, &seen), 0);
	CHECK("self", seen.n > 3);

	/* The directory /proc itself lies on a mount of that type. */
	CHECK_INT_EQ("self", procfs_mount_id(proc_fd, proc_fd, &id), 0);
	CHECK_INT_EQ("self", procfs_mount_find(process_fd, id, &mount), 0);
	CHECK_STR_EQ("self", mount.type, "proc");
	CHECK_INT_EQ("self", procfs_mount_find(process_fd, UINT64_MAX, &mount), -ENOENT);
}

int main(void)
{
	lines_check();
	stats_check();
	statuses_check();
	mounts_check();
	maps_check();
	self_check();
	return check_result();
}
