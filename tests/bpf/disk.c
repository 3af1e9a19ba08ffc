// SPDX-License-Identifier: Apache-2.0
/*
 * Disks that threads wait for without a descriptor: a page fault on a mapped file, a system call that names an address.
 *
 * The disk is a loop device over a file, which reads so much ahead that a fault takes more than a millisecond. How long
 * the thread was blocked it knows by its own clocks.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"
#include "waits.h"

#define IMAGE_NAME "disk.img"
#define IMAGE_BYTES (64u << 20)
#define AHEAD_BYTES (4u << 20)
#define SECTOR_BYTES 512
#define READS (IMAGE_BYTES / AHEAD_BYTES - 1)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static int image_fd = -1, disk_fd = -1;
static uint32_t disk; /* major << 20 | minor */
static int asked[2], answered[2];

static struct shared {
	uint32_t n_sure, n_maybe; /* reads whose thread was blocked long enough to be kept: beyond doubt, or nearly */
	uint32_t tid;		  /* of the thread that read */
	uint64_t ns;		  /* it was blocked, in all */
} * shared;

/* ---- the disk ---- */

static int image_make(void)
{
	static char block[1 << 20];

	image_fd = open(IMAGE_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	memset(block, 'd', sizeof(block));
	for (size_t i = 0; i < IMAGE_BYTES / sizeof(block); i++)
		if (write(image_fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return -1;
	return fsync(image_fd);
}

static int disk_make(void)
{
	struct loop_config config = { .info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_READ_ONLY };
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), number;
	struct stat status;
	char path[32];

	number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	if (control >= 0)
		(void)close(control);
	if (number < 0 || image_make() < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/dev/loop%d", number);
	config.fd = (uint32_t)image_fd;
	disk_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (disk_fd < 0 || ioctl(disk_fd, LOOP_CONFIGURE, &config) < 0 ||
	    ioctl(disk_fd, BLKRASET, AHEAD_BYTES / SECTOR_BYTES) < 0 || fstat(disk_fd, &status) < 0)
		return -1;
	disk = (uint32_t)(major(status.st_rdev) << 20 | minor(status.st_rdev));
	return 0;
}

/* Nothing of it is in memory. */
static void disk_forget(void)
{
	(void)ioctl(disk_fd, BLKFLSBUF, 0);
	(void)posix_fadvise(image_fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* ---- who reads, and how ---- */

static void read_by_fault(const char *at)
{
	(void)*(const volatile char *)at;
}

static void read_by_madvise(const char *at)
{
	(void)madvise((void *)(uintptr_t)at, (size_t)sysconf(_SC_PAGESIZE), MADV_POPULATE_READ);
}

/* Another task has the CPU between the request, which nobody waits for, and the page fault that waits for its end. */
static void read_ahead(const char *at)
{
	const char *start = at - AHEAD_BYTES / 2;

	(void)madvise((void *)(uintptr_t)start, AHEAD_BYTES, MADV_WILLNEED);
	(void)sched_yield();
	read_by_fault(start + AHEAD_BYTES - 1);
}

struct scenario {
	const char *name;
	void (*read)(const char *at);
	enum blame_class class;
	bool is_waker; /* a thread reads that makes no calls, and the one that does waits for it */
	bool has_hog;  /* another process is ready on the same CPU */
};

static const struct scenario scenarios[] = {
	{ "a page fault", read_by_fault, BLAME_MEMORY, false, false },
	{ "a system call without a descriptor", read_by_madvise, BLAME_BLOCK_IO, false, false },
	{ "a page fault after a task switch", read_ahead, BLAME_MEMORY, false, true },
	{ "a page fault of a waker", read_by_fault, BLAME_MEMORY, true, false },
	{ "a page fault of a waker after a task switch", read_ahead, BLAME_MEMORY, true, true },
};

static const struct scenario *scenario;

static int read_once(uint32_t i)
{
	const char *at;
	uint64_t ns;

	disk_forget();
	at = mmap(NULL, IMAGE_BYTES, PROT_READ, MAP_SHARED, disk_fd, 0);
	if (at == MAP_FAILED)
		return -1;
	shared->tid = (uint32_t)gettid();
	ns = wait_blocked_ns();
	scenario->read(at + (size_t)(i + 1) * AHEAD_BYTES - AHEAD_BYTES / 2);
	ns = wait_blocked_ns() - ns;
	/* A waker is one from its first answer on. */
	if (!scenario->is_waker || i > 0) {
		shared->n_sure += ns >= WAIT_LEAST_NS * 3 / 2;
		shared->n_maybe += ns >= WAIT_LEAST_NS / 2;
		shared->ns += ns >= WAIT_LEAST_NS / 2 ? ns : 0;
	}
	return munmap((void *)(uintptr_t)at, IMAGE_BYTES);
}

static void *answer(void *data)
{
	uint32_t i;

	while (read(asked[0], &i, sizeof(i)) == (ssize_t)sizeof(i)) {
		wait_sleep(); /* the other is found to wait */
		if (read_once(i) < 0 || write(answered[1], "", 1) != 1)
			_exit(2);
	}
	return data;
}

static int ask(uint32_t i)
{
	char byte;

	if (write(asked[1], &i, sizeof(i)) != (ssize_t)sizeof(i) || read(answered[0], &byte, 1) != 1)
		return -1;
	return 0;
}

/* On the CPU of the thread that reads. */
static pid_t hog_start(void)
{
	pid_t parent = getpid(), pid;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	pid = fork();
	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	for (;;)
		(void)sched_yield();
}

static int run(void *data)
{
	pid_t hog = scenario->has_hog ? hog_start() : 0;
	pthread_t thread;

	(void)data;
	if (scenario->is_waker && (pipe2(asked, O_CLOEXEC) < 0 || pipe2(answered, O_CLOEXEC) < 0 ||
				   pthread_create(&thread, NULL, answer, NULL)))
		return 1;
	for (uint32_t i = 0; i < READS; i++) {
		(void)subject_empty();
		if ((scenario->is_waker ? ask(i) : read_once(i)) < 0)
			return 1;
	}
	(void)subject_empty();
	if (hog && kill(hog, SIGKILL) == 0)
		(void)waitpid(hog, NULL, 0);
	return 0;
}

/* ---- what was kept ---- */

struct kept {
	uint32_t slot;
	uint64_t count, ns;
};

static void kept_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	struct kept *kept = data;

	if (key->slot != kept->slot || key->tid != shared->tid || key->is_meanwhile != scenario->is_waker ||
	    key->class != scenario->class)
		return;
	if (value->name[0] && key->class == BLAME_BLOCK_IO)
		return; /* of disk_forget(), by a descriptor: no page fault has one */
	if (key->kind != RESOURCE_DEVICE || key->device != disk || key->resource || value->name[0]) {
		/* Class alone: shorter waits of a waker. */
		if (!scenario->is_waker || key->kind != RESOURCE_NONE) {
			fprintf(stderr, "[%s] a wait for something else: kind %u, device %x, resource %llu\n",
				scenario->name, key->kind, key->device, (unsigned long long)key->resource);
			CHECK(scenario->name, false);
		}
		return;
	}
	kept->count += value->count;
	kept->ns += value->ns;
}

static void check_scenario(struct rig *rig, const struct scenario *s)
{
	struct kept kept = {};
	pid_t pid;

	*shared = (struct shared){};
	scenario = s;
	CHECK_INT_EQ(s->name, rig_child(rig, run, NULL, &pid), 0);
	kept.slot = rig_slot(rig, pid);
	CHECK("some are there", probe_set_waits(rig->set, kept_add, &kept) >= 0);
	if (!shared->n_sure) {
		fprintf(stderr, "[%s] this disk is too fast\n", s->name);
		return;
	}
	CHECK_INT_IN(s->name, kept.count, shared->n_sure, shared->n_maybe);
	CHECK_INT_IN(s->name, kept.ns, kept.count * WAIT_LEAST_NS / 2, shared->ns + shared->n_maybe * WAIT_LEAST_NS);
}

int main(int argc, char **argv)
{
	struct rig rig;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		CHECK_SKIP("no memory");
	rig_open(&rig, rig_back_end(argc, argv), 0);
	if (!probe_set_measures(rig.set, BLAME_RUNNABLE))
		CHECK_SKIP("this kernel does not tell of task switches");
	if (disk_make() < 0) {
		(void)unlink(IMAGE_NAME);
		CHECK_SKIP("no loop device");
	}
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		check_scenario(&rig, &scenarios[i]);
	rig_close(&rig);
	(void)close(disk_fd);
	(void)unlink(IMAGE_NAME);
	return check_result();
}
