// SPDX-License-Identifier: Apache-2.0
/*
 * Where the time of a call goes, between two witnesses. Not less than what the scheduler
 * says the thread waited for a CPU from the call's first instruction to its last, and what
 * it asked to wait; not more than wall time without the thread's own CPU clock around the
 * call. Between the two is time that the machine itself took (interrupts, a hypervisor),
 * and what other programs did right outside the call.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "rig.h"
#include "tests/support/check.h"
#include "waits.h"

#define CALLS 20
#define HOGS_MAX 3
#define HOG_UID 65534
#define HOG_UNNAMED_NS (5 * NSEC_PER_MSEC)

struct witness {
	uint64_t wall_ns;
	uint64_t off_ns; /* off the CPU; inside the call, what the scheduler admits to */
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		CHECK_SKIP("cannot be bound to a CPU");
}

static void wait_poll_nothing(void)
{
	(void)ppoll(NULL, 0, &wait_time, NULL);
}

/* What comes is of no interest, only when. */
static void byte_await(int fd)
{
	char byte;

	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
}

static void wait_socket(void)
{
	struct timeval limit = { .tv_usec = (long)(WAIT_NS / NSEC_PER_USEC) };
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return;
	(void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	byte_await(ends[0]);
	(void)recv(ends[0], &byte, 1, 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* A pipe that somebody fills in time: blocked, and none of the classes. */
static void wait_pipe(void)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return;
	pid = vfork();
	if (pid == 0) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL);
		_exit(write(ends[1], "", 1) != 1);
	}
	byte_await(ends[0]);
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)waitpid(pid, NULL, 0);
}

/*
 * A page that is missing until another thread brings it. It is there for all the calls: the end of a thread is
 * waited for in a futex, which is another class.
 */
static int fault_fd = -1;
static pthread_t fault_thread;

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void *fault_serve(void *data)
{
	for (int i = 0; i < CALLS; i++) {
		struct uffdio_zeropage zero = { .range.len = page_bytes() };
		struct uffd_msg message;

		if (read(fault_fd, &message, sizeof(message)) != sizeof(message))
			break;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL);
		zero.range.start = message.arg.pagefault.address & ~(zero.range.len - 1);
		(void)ioctl(fault_fd, UFFDIO_ZEROPAGE, &zero);
	}
	return data;
}

static bool fault_begin(void)
{
	struct uffdio_api api = { .api = UFFD_API };

	fault_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return fault_fd >= 0 && ioctl(fault_fd, UFFDIO_API, &api) == 0 &&
	       pthread_create(&fault_thread, NULL, fault_serve, NULL) == 0;
}

static void fault_end(void)
{
	(void)pthread_join(fault_thread, NULL);
	closep(&fault_fd);
}

static void wait_fault(void)
{
	struct uffdio_register area = { .range.len = page_bytes(), .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	area.range.start = (uintptr_t)page;
	if (page == MAP_FAILED || ioctl(fault_fd, UFFDIO_REGISTER, &area) < 0)
		CHECK_SKIP("no userfaultfd");
	*(volatile char *)page = 1;
	(void)munmap(page, page_bytes());
}

/* Read past the page cache, where the file system can. */
#define DISK_BYTES (4u << 20)
static int disk_fd = -1;
static void *disk_buffer;

static bool disk_open(void)
{
	disk_buffer = mmap(NULL, DISK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	disk_fd = open(".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	return disk_buffer != MAP_FAILED && disk_fd >= 0 && write(disk_fd, disk_buffer, DISK_BYTES) == DISK_BYTES &&
	       fdatasync(disk_fd) == 0;
}

static void wait_disk(void)
{
	if (pread(disk_fd, disk_buffer, DISK_BYTES, 0) < 0)
		perror("pread");
}

/* A group of its own with a fifth of a CPU, under either version. */
static int group_write(const char *directory, const char *file, const char *text)
{
	CLEANUP(closep) int fd = -1;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static char group[128];

static bool quota_begin(void)
{
	static const char *const parents[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parents); i++) {
		(void)snprintf(group, sizeof(group), "%s/ingero-test-%d", parents[i], getpid());
		(void)group_write(parents[i], "cgroup.subtree_control", "+cpu");
		if (mkdir(group, 0755) < 0)
			continue;
		if ((group_write(group, "cpu.max", "20000 100000") == 0 ||
		     (group_write(group, "cpu.cfs_period_us", "100000") == 0 &&
		      group_write(group, "cpu.cfs_quota_us", "20000") == 0)) &&
		    group_write(group, "cgroup.procs", "0") == 0)
			return true;
		(void)rmdir(group);
	}
	return false;
}

static void quota_end(void)
{
	char *end = strrchr(group, '/');
	char path[sizeof(group)];

	(void)snprintf(path, sizeof(path), "%.*s", (int)(end - group), group);
	(void)group_write(path, "cgroup.procs", "0");
	(void)rmdir(group);
}

static void wait_mixed(void)
{
	spin(WAIT_NS / 2);
	wait_sleep();
}

struct measured {
	void (*wait)(void);
	struct witness inside;
};

/* Second field of schedstat: nanoseconds the thread was ready and did not run. */
static uint64_t run_delay_ns(void)
{
	char text[96];
	unsigned long long delay = 0;

	if (fd_read_file_at(AT_FDCWD, "/proc/thread-self/schedstat", text, sizeof(text)) < 0 ||
	    sscanf(text, "%*u %llu", &delay) != 1)
		CHECK_SKIP("no schedstat");
	return delay;
}

static int func_wait(void *data)
{
	struct measured *m = data;
	uint64_t delay = run_delay_ns(), wall = rig_now_ns();

	m->wait();
	m->inside.wall_ns += rig_now_ns() - wall;
	m->inside.off_ns += run_delay_ns() - delay;
	return 0;
}

/* CALLS calls of one kind. */
static struct witness measure(void (*wait)(void), struct witness *ret_inside)
{
	struct measured m = { .wait = wait };
	struct witness w = {};
	int i;

	for (i = 0; i < CALLS; i++) {
		uint64_t wall = rig_now_ns(), cpu = rig_thread_cpu_ns();

		subject_call(func_wait, &m);
		cpu = rig_thread_cpu_ns() - cpu;
		wall = rig_now_ns() - wall;
		w.wall_ns += wall;
		w.off_ns += wall - MIN(wall, cpu);
	}
	*ret_inside = m.inside;
	return w;
}

/*
 * Back once it must not be met under our name. It gets its own, and another user's rights, when it has run for a while,
 * as a child of a shell or of a login does: who it was last counts.
 */
static pid_t hog_start(int cpu, const char *name, bool is_hidden)
{
	pid_t parent = getpid(), pid;
	int ready[2];

	if (pipe(ready) < 0)
		CHECK_SKIP("no pipe");
	pid = fork();
	if (pid != 0) {
		(void)close(ready[1]);
		byte_await(ready[0]);
		(void)close(ready[0]);
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	pin(cpu);
	(void)prctl(PR_SET_NAME, "unnamed");
	(void)close(ready[0]);
	(void)close(ready[1]);
	while (rig_thread_cpu_ns() < HOG_UNNAMED_NS)
		;
	if (setresuid(HOG_UID, HOG_UID, HOG_UID) < 0 || prctl(PR_SET_DUMPABLE, !is_hidden) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, name);
	for (;;)
		;
}

static void hog_stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

struct behind_sums {
	uint32_t slot;
	pid_t hogs[HOGS_MAX];
	uint64_t hog_ns[HOGS_MAX];
	uint64_t others_ns;
	bool has_name;
	bool is_guarded;
	bool is_between; /* calls, else in one */
};

static void behind_sum(const struct behind_key *key, const struct behind_value *value, void *data)
{
	struct behind_sums *sums = data;
	unsigned int i;

	if (key->slot != sums->slot || key->is_between != sums->is_between)
		return;
	for (i = 0; i < HOGS_MAX; i++) {
		if (sums->hogs[i] && key->tgid == (uint32_t)sums->hogs[i]) {
			sums->hog_ns[i] += value->ns;
			sums->has_name |= strcmp(value->comm, "hog") == 0 && value->uid == HOG_UID;
			sums->is_guarded |= value->is_guarded;
			return;
		}
	}
	sums->others_ns += value->ns;
}

/* ---- between calls ---- */

/*
 * Whoever has the CPU while the thread is ready between its calls is named for that, and for nothing in them, and also
 * whether its own user may inspect it.
 */
static void check_between(struct rig *rig, bool is_hidden)
{
	struct behind_sums in_before = { .slot = rig_slot(rig, getpid()) }, in, before, sums;
	uint64_t runnable_ns, lost_before = rig_loss(rig, LOSS_BEHIND);

	in_before.hogs[0] = hog_start(0, "hog", is_hidden);
	in = before = sums = in_before;
	before.is_between = sums.is_between = true;
	(void)subject_empty();
	runnable_ns = rig_figures(rig, getpid(), OP_EVENT_wait_main).blame_ns[BLAME_RUNNABLE];
	(void)probe_set_behind(rig->set, behind_sum, &in_before);
	(void)probe_set_behind(rig->set, behind_sum, &before);
	for (int i = 0; i < CALLS; i++) {
		wait_spin();
		(void)subject_empty();
	}
	runnable_ns = rig_figures(rig, getpid(), OP_EVENT_wait_main).blame_ns[BLAME_RUNNABLE] - runnable_ns;
	(void)probe_set_behind(rig->set, behind_sum, &in);
	(void)probe_set_behind(rig->set, behind_sum, &sums);
	hog_stop(sums.hogs[0]);

	CHECK("between calls: it waited", runnable_ns > CALLS * WAIT_NS / 10);
	sums.hog_ns[0] -= before.hog_ns[0];
	sums.others_ns -= before.others_ns;
	CHECK_INT_IN("between calls", sums.hog_ns[0] + sums.others_ns,
		     rig_loss(rig, LOSS_BEHIND) == lost_before ? runnable_ns - runnable_ns / 50 : 0, runnable_ns);
	CHECK("between calls: the hog had its share", sums.hog_ns[0] > CALLS * WAIT_NS / 10);
	CHECK("between calls: by its name", sums.has_name);
	CHECK_INT_EQ("between calls: its user may not inspect it", sums.is_guarded, is_hidden);
	CHECK_INT_IN("between calls: not in one", in.hog_ns[0] - in_before.hog_ns[0], 0, runnable_ns / 20);
}

/* ---- a wait with more switches than are remembered ---- */

#define ROUNDS 2000

struct players {
	pid_t pids[2];
	int to[2]; /* write ends of what each reads */
	int told;  /* a byte of each when it is ready, and when it is through */
};

/* Before every usual task on its CPU: once it may run, nobody else does until it waits. */
static void play(int from, int to, int told)
{
	const struct sched_param first = { .sched_priority = 1 };
	char ball;

	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0 || write(told, "", 1) != 1)
		_exit(1);
	for (int i = 0; i < ROUNDS; i++)
		if (read(from, &ball, 1) != 1 || write(to, &ball, 1) != 1)
			_exit(1);
	_exit(write(told, "", 1) != 1);
}

static bool players_start(struct players *players)
{
	int ends[3][2];

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (pipe2(ends[i], O_CLOEXEC) < 0)
			return false;
	for (int i = 0; i < 2; i++) {
		players->pids[i] = fork();
		if (players->pids[i] == 0)
			play(ends[i][0], ends[!i][1], ends[2][1]);
		players->to[i] = ends[i][1];
	}
	players->told = ends[2][0];
	for (int i = 0; i < 2; i++)
		byte_await(players->told);
	return true;
}

static int func_play(void *data)
{
	const struct players *players = data;
	struct pollfd told = { .fd = players->told, .events = POLLIN };

	if (write(players->to[0], "", 1) != 1)
		return 1;
	while (poll(&told, 1, 0) == 0)
		; /* always ready to run */
	return 0;
}

/* Who ran at the end of the wait is named, the rest is counted as not known. */
static void check_long_wait(struct rig *rig)
{
	uint64_t lost_before = rig_loss(rig, LOSS_BEHIND), runnable_before, runnable_ns;
	struct behind_sums sums = { .slot = rig_slot(rig, getpid()) };
	struct players players;

	if (!players_start(&players))
		CHECK_SKIP("no pipes");
	for (int i = 0; i < 2; i++)
		sums.hogs[i] = players.pids[i];
	runnable_before = rig_figures(rig, getpid(), RIG_CALL).blame_ns[BLAME_RUNNABLE];
	CHECK_INT_EQ("long wait", subject_call(func_play, &players), 0);
	runnable_ns = rig_figures(rig, getpid(), RIG_CALL).blame_ns[BLAME_RUNNABLE] - runnable_before;
	(void)probe_set_behind(rig->set, behind_sum, &sums);
	for (int i = 0; i < 2; i++) {
		CHECK("long wait: named", sums.hog_ns[i] > 0);
		(void)waitpid(players.pids[i], NULL, 0);
	}
	CHECK("long wait: not all of it", sums.hog_ns[0] + sums.hog_ns[1] < runnable_ns);
	CHECK("long wait: and that is counted", rig_loss(rig, LOSS_BEHIND) > lost_before);
}

static const struct {
	const char *name;
	void (*wait)(void);
	enum blame_class class; /* where what the CPU clock does not show must be; ON_CPU: nowhere */
	unsigned int n_hogs;
	uint64_t least_ns;   /* of that class in each call: what was asked for, timers are never early */
	bool (*begin)(void); /* false: cannot be had here */
	void (*end)(void);
	bool are_tracers; /* the hogs are ours: the wait is there, and nobody is named */
} cases[] = {
	{ "sleep", wait_sleep, BLAME_SLEEP, 0, WAIT_NS, NULL, NULL, false },
	{ "poll of nothing", wait_poll_nothing, BLAME_SLEEP, 0, WAIT_NS, NULL, NULL, false },
	{ "poll", wait_poll, BLAME_DEVICE, 0, WAIT_NS, NULL, NULL, false },
	{ "futex", wait_futex, BLAME_LOCK, 0, WAIT_NS, NULL, NULL, false },
	{ "socket", wait_socket, BLAME_NETWORK, 0, WAIT_NS, NULL, NULL, false },
	{ "pipe", wait_pipe, BLAME_OTHER, 0, WAIT_NS, NULL, NULL, false },
	{ "page fault", wait_fault, BLAME_MEMORY, 0, WAIT_NS, fault_begin, fault_end, false },
	{ "disk", wait_disk, BLAME_BLOCK_IO, 0, 0, disk_open, NULL, false },
	{ "quota", wait_spin, BLAME_QUOTA, 0, 0, quota_begin, quota_end, false },
	{ "spin", wait_spin, BLAME_ON_CPU, 0, 0, NULL, NULL, false },
	{ "spin and sleep", wait_mixed, BLAME_SLEEP, 0, WAIT_NS, NULL, NULL, false },
	{ "one hog", wait_spin, BLAME_RUNNABLE, 1, 0, NULL, NULL, false },
	{ "three hogs", wait_spin, BLAME_RUNNABLE, 3, 0, NULL, NULL, false },
	{ "spin and sleep, one hog", wait_mixed, BLAME_SLEEP, 1, WAIT_NS, NULL, NULL, false },
	{ "one hog, the tracer itself", wait_spin, BLAME_RUNNABLE, 1, 0, NULL, NULL, true },
};

int main(int argc, char **argv)
{
	const char *only = argc > 2 ? argv[2] : NULL;
	struct rig rig;
	size_t i, k;

	rig_open(&rig, rig_back_end(argc, argv), 0);
	rig_target(&rig, 0, RIG_NO_CALL);
	pin(0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig_figures before = rig_figures(&rig, getpid(), RIG_CALL), f;
		struct behind_sums sums = {}, sums_before = {};
		uint64_t low_ns, high_ns, blame_ns = 0, hogs_ns = 0, runnable_ns, lost_before, hidden_ns = 0;
		const char *name = cases[i].name;
		struct witness w, inside;

		if (only && strcmp(only, name) != 0)
			continue;
		if (cases[i].begin && !cases[i].begin()) {
			fprintf(stderr, "skipped: [%s] cannot be had here\n", name);
			continue;
		}
		lost_before = rig_loss(&rig, LOSS_BEHIND);
		sums.slot = sums_before.slot = rig_slot(&rig, getpid());
		(void)probe_set_behind(rig.set, behind_sum, &sums_before);
		for (k = 0; k < cases[i].n_hogs; k++) {
			sums.hogs[k] = hog_start(0, "hog", /* is_hidden= */ false);
			if (cases[i].are_tracers)
				CHECK_INT_EQ(name, probe_set_tracer_add(rig.set, (uint32_t)sums.hogs[k]), 0);
		}
		w = measure(cases[i].wait, &inside);
		f = rig_figures(&rig, getpid(), RIG_CALL);
		sums.slot = rig_slot(&rig, getpid());
		(void)probe_set_behind(rig.set, behind_sum, &sums);
		for (k = 0; k < cases[i].n_hogs; k++) {
			if (cases[i].are_tracers) {
				uint32_t pid = (uint32_t)sums.hogs[k];

				CHECK_INT_EQ(name, probe_set_tracer_hidden(rig.set, pid, &hidden_ns), 0);
				CHECK_INT_EQ(name, probe_set_tracer_remove(rig.set, pid), 0);
				CHECK("no more", probe_set_tracer_hidden(rig.set, pid, &hidden_ns) < 0);
			}
			hog_stop(sums.hogs[k]);
		}
		if (cases[i].end)
			cases[i].end();

		/* In total within 1 % of wall. */
		low_ns = inside.off_ns + CALLS * cases[i].least_ns;
		low_ns -= MIN(low_ns, inside.wall_ns / 100);
		high_ns = w.off_ns + w.wall_ns / 100;
		for (k = 1; k < BLAME_COUNT; k++) {
			f.blame_ns[k] -= before.blame_ns[k];
			blame_ns += f.blame_ns[k];
		}
		CHECK_INT_EQ(name, f.count - before.count, CALLS);
		CHECK_INT_IN(name, blame_ns, low_ns, high_ns);
		CHECK_INT_IN(name, f.raw_ns - before.raw_ns, inside.wall_ns, w.wall_ns);
		runnable_ns = f.blame_ns[BLAME_RUNNABLE];
		if (cases[i].class != BLAME_ON_CPU && cases[i].class != BLAME_RUNNABLE)
			CHECK_INT_IN(name, f.blame_ns[cases[i].class] + runnable_ns,
				     low_ns - MIN(low_ns, w.wall_ns / 50), high_ns);
		CHECK_INT_IN(name, f.blame_ns[cases[i].class], CALLS * cases[i].least_ns * 98 / 100, w.wall_ns);
		/* No class but the one asked for, and waiting for a CPU, which any machine's other work brings. */
		for (k = 1; k < BLAME_COUNT; k++)
			if (k != BLAME_RUNNABLE && k != cases[i].class)
				CHECK_INT_IN(name, f.blame_ns[k], 0, w.wall_ns / 50);
		for (k = 0; k < cases[i].n_hogs; k++)
			hogs_ns += sums.hog_ns[k];
		if (cases[i].are_tracers) {
			CHECK_INT_EQ(name, hogs_ns, 0);
			CHECK("the tracer kept it waiting", runnable_ns > w.wall_ns / 10);
			CHECK("and that is counted", hidden_ns > w.wall_ns / 20);
		} else if (cases[i].n_hogs) {
			uint64_t others = sums.others_ns - sums_before.others_ns;

			/* on a machine with much else to do some waits are too long to know all of them */
			bool is_whole = rig_loss(&rig, LOSS_BEHIND) == lost_before;

			CHECK_INT_IN(name, hogs_ns + others, is_whole ? runnable_ns - runnable_ns / 50 : 0,
				     runnable_ns);
			CHECK(name, sums.has_name);
			for (k = 0; k < cases[i].n_hogs; k++)
				CHECK_INT_IN(name, sums.hog_ns[k], hogs_ns / cases[i].n_hogs / 2, hogs_ns);
		}
	}
	if (!only) {
		for (int is_hidden = 0; is_hidden < 2; is_hidden++)
			check_between(&rig, is_hidden);
		check_long_wait(&rig);
	}
	rig_close(&rig);
	return check_result();
}
