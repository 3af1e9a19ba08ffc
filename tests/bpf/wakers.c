// SPDX-License-Identifier: Apache-2.0
/*
 * What threads that make calls wait for, and who ends their waits: each scenario knows both.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "file_locks.h"
#include "ipc.h"
#include "probes/probe_set_state.h"
#include "rig.h"
#include "rooms.h"
#include "tests/support/check.h"
#include "waits.h"

#define WAITS 10
#define WAKER_UID 65534
#define OTHERS_SLOT (PROCESS_SLOTS - 2)
#define FIFO_NAME "wakers.fifo"

/* Shared by the process that waits, its waker and the test. */
static struct shared {
	uint32_t word;
	uint64_t resource;
	uint32_t device;
	uint32_t waker_tgid, waker_tid; /* 0: nobody */
	/* Waits whose thread was blocked long enough to be kept, beyond doubt or nearly: a waker may come before the
	 * other is asleep. How long, in all, and the longest. */
	uint32_t n_sure, n_maybe;
	uint64_t sure_ns, maybe_ns, max_ns;
} * shared;

static int go[2], pipe_ends[2], sockets[2], tcp[2], tcp_6[2], fifo_fd, epoll_fd;

static void shared_word_set(uint32_t value)
{
	__atomic_store_n(&shared->word, value, __ATOMIC_SEQ_CST);
}

/* ---- what is waited for ---- */

static void await_futex(void)
{
	while (!__atomic_load_n(&shared->word, __ATOMIC_SEQ_CST))
		(void)syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, NULL, NULL, 0);
	shared_word_set(0);
}

static void await_pipe(void)
{
	char byte;

	if (read(pipe_ends[0], &byte, 1) != 1)
		_exit(2);
}

static void await_fifo(void)
{
	char byte;

	if (read(fifo_fd, &byte, 1) != 1)
		_exit(2);
}

static void await_socket(void)
{
	char byte;

	if (recv(sockets[0], &byte, 1, 0) != 1)
		_exit(2);
}

static void await_tcp(void)
{
	char byte;

	if (recv(tcp[0], &byte, 1, 0) != 1)
		_exit(2);
}

static void await_tcp_6(void)
{
	char byte;

	if (read(tcp_6[0], &byte, 1) != 1)
		_exit(2);
}

static void await_epoll(void)
{
	struct epoll_event event;

	if (epoll_wait(epoll_fd, &event, 1, -1) != 1)
		_exit(2);
	await_pipe(); /* takes what is there */
}

static void await_timer(void)
{
	(void)syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, &wait_time, NULL, 0);
}

static void await_short(void)
{
	static const struct timespec moment = { .tv_nsec = 100000 };

	(void)syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, &moment, NULL, 0);
}

/* ---- who ends it ---- */

static void wake_futex(void)
{
	shared_word_set(1);
	(void)syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void wake_pipe(void)
{
	if (write(pipe_ends[1], "", 1) != 1)
		_exit(2);
}

static void wake_fifo(void)
{
	if (write(fifo_fd, "", 1) != 1)
		_exit(2);
}

static void wake_socket(void)
{
	if (send(sockets[1], "", 1, 0) != 1)
		_exit(2);
}

static void wake_tcp(void)
{
	if (send(tcp[1], "", 1, 0) != 1)
		_exit(2);
}

static void wake_tcp_6(void)
{
	if (write(tcp_6[1], "", 1) != 1)
		_exit(2);
}

static void wake_nobody(void)
{
}

/* Whose last wait nothing follows: of the process itself, behind its waits. */
static void end_by_exit(void)
{
	_exit(0);
}

static void end_by_exec(void)
{
	(void)execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* RING: the process itself, or where pipes cannot refuse to wait a worker of its io_uring. */
enum waker { NOBODY, THREAD, PROCESS, WORKER, RING, HIDDEN_PROCESS, CHILD, HIDDEN_CHILD, HOG };

struct scenario {
	const char *name;
	void (*await)(void);
	void (*wake)(void);
	enum waker waker;
	bool is_in; /* in calls, else between them */
	enum blame_class class;
	enum resource_kind kind;
	const char *resource_name;
	const struct file_lock *lock; /* that is waited for, in the place of `await` and `wake`; NULL: none */
};

static const struct scenario *scenario;
static struct probe_set *probes;

/* Whether a process beside the test wakes it, which is no child that ends. */
static bool is_own_process(const struct scenario *s)
{
	return s->waker == PROCESS || s->waker == WORKER || s->waker == RING || s->waker == HIDDEN_PROCESS;
}

static bool is_child(const struct scenario *s)
{
	return s->waker == CHILD || s->waker == HIDDEN_CHILD;
}

/* One wake-up for each byte that comes. */
static void *wake(void *data)
{
	char byte;

	shared->waker_tgid = (uint32_t)getpid();
	shared->waker_tid = (uint32_t)gettid();
	(void)prctl(PR_SET_NAME, "waker");
	while (read(go[0], &byte, 1) == 1) {
		if (scenario->lock)
			file_lock_take(scenario->lock);
		wait_sleep();
		if (scenario->lock)
			scenario->lock->give();
		else
			scenario->wake();
	}
	return data;
}

static void await_child(void)
{
	pid_t pid = shared->resource ? vfork() : fork(); /* in vfork(2) the kernel says that a thread is frozen */

	if (pid == 0) {
		if (scenario->waker == HIDDEN_CHILD &&
		    (setresuid(WAKER_UID, WAKER_UID, WAKER_UID) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0))
			_exit(1);
		wait_sleep();
		_exit(0);
	}
	(void)syscall(SYS_wait4, pid, NULL, 0, NULL);
	/* Only the first is looked for: each child is a resource of its own. */
	if (!shared->resource) {
		shared->resource = shared->waker_tgid = shared->waker_tid = (uint32_t)pid;
	}
}

/* On the waiting thread's own CPU, so that the timer interrupts its system calls. */
static void hog(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (;;)
		if (write(fd, "", 1) != 1)
			_exit(2);
}

static pid_t process_start(void (*run)(void))
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	(void)close(go[1]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	run();
	_exit(0);
}

static void process_wake(void)
{
	if (setresuid(WAKER_UID, WAKER_UID, WAKER_UID) < 0 ||
	    prctl(PR_SET_DUMPABLE, scenario->waker != HIDDEN_PROCESS) < 0)
		_exit(1);
	(void)wake(NULL);
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static int func_await(void *data)
{
	(void)data;
	if (scenario->lock)
		scenario->lock->await();
	else
		scenario->await();
	return 0;
}

/* Of children only the first is looked for. */
static void wait_once(const struct scenario *s, int i)
{
	uint64_t ns;

	if (s->lock)
		file_lock_await_taken();
	ns = wait_blocked_ns();
	if (s->is_in)
		(void)subject_call(func_await, NULL);
	else
		(void)func_await(NULL);
	ns = wait_blocked_ns() - ns;
	if (is_child(s) && i > 0)
		return;
	if (ns >= WAIT_LEAST_NS * 3 / 2) {
		shared->n_sure++;
		shared->sure_ns += ns;
	}
	if (ns >= WAIT_LEAST_NS / 2) {
		shared->n_maybe++;
		shared->maybe_ns += ns;
	}
	shared->max_ns = MAX(shared->max_ns, ns);
}

static int run(void *data)
{
	struct interpreter interpreter = { .n_bytes = sizeof(shared->word) };
	const struct scenario *s = data;
	pthread_t thread;
	pid_t pid = 0;

	if (pipe2(go, O_CLOEXEC) < 0)
		return 1;
	/* The state of the interpreter: of the GIL the word is inside, of other locks just beside. */
	interpreter.start = (uintptr_t)&shared->word + (s->kind == RESOURCE_GIL ? 0 : sizeof(shared->word));
	if (probe_set_interpreter_note(probes, (uint32_t)getpid(), &interpreter) < 0)
		return 1;
	if (s->waker == THREAD && pthread_create(&thread, NULL, wake, NULL))
		return 1;
	if (is_own_process(s))
		pid = process_start(process_wake);
	if (s->waker == HOG) {
		pin();
		pid = process_start(hog);
	}
	for (int i = 0; i < WAITS; i++) {
		(void)subject_empty();
		if (write(go[1], "", 1) != 1)
			return 1;
		wait_once(s, i);
	}
	if (s->waker == HOG)
		s->wake();
	(void)subject_empty();
	(void)close(go[1]);
	if (s->waker == THREAD)
		(void)pthread_join(thread, NULL);
	if (pid && kill(pid, SIGKILL) == 0)
		(void)waitpid(pid, NULL, 0);
	return 0;
}

static const struct scenario scenarios[] = {
	{ "futex, a thread", await_futex, wake_futex, THREAD, false, BLAME_LOCK, RESOURCE_FUTEX, "", NULL },
	{ "futex, a thread, in calls", await_futex, wake_futex, THREAD, true, BLAME_LOCK, RESOURCE_FUTEX, "", NULL },
	{ "futex, a process", await_futex, wake_futex, PROCESS, false, BLAME_LOCK, RESOURCE_FUTEX, "", NULL },
	{ "futex, a timer", await_timer, wake_nobody, HOG, false, BLAME_LOCK, RESOURCE_FUTEX, "", NULL },
	{ "futex, a timer, in calls", await_timer, wake_nobody, HOG, true, BLAME_LOCK, RESOURCE_FUTEX, "", NULL },
	{ "futex, a moment", await_short, wake_nobody, NOBODY, false, BLAME_LOCK, RESOURCE_FUTEX, "", NULL },
	{ "GIL, a thread", await_futex, wake_futex, THREAD, false, BLAME_LOCK, RESOURCE_GIL, "", NULL },
	{ "GIL, a thread, in calls", await_futex, wake_futex, THREAD, true, BLAME_LOCK, RESOURCE_GIL, "", NULL },
	{ "GIL, a timer", await_timer, wake_nobody, HOG, false, BLAME_LOCK, RESOURCE_GIL, "", NULL },
	{ "GIL, a timer, to its end", await_timer, end_by_exit, HOG, false, BLAME_LOCK, RESOURCE_GIL, "", NULL },
	{ "GIL, a timer, to its exec", await_timer, end_by_exec, HOG, false, BLAME_LOCK, RESOURCE_GIL, "", NULL },
	{ "pipe, a process", await_pipe, wake_pipe, PROCESS, false, BLAME_OTHER, RESOURCE_PIPE, "", NULL },
	{ "pipe, a process that its user may not inspect", await_pipe, wake_pipe, HIDDEN_PROCESS, false, BLAME_OTHER,
	  RESOURCE_PIPE, "", NULL },
	{ "pipe, a process, in calls", await_pipe, wake_pipe, PROCESS, true, BLAME_OTHER, RESOURCE_PIPE, "", NULL },
	{ "FIFO, a thread", await_fifo, wake_fifo, THREAD, false, BLAME_OTHER, RESOURCE_PIPE, FIFO_NAME, NULL },
	{ "socket, a process", await_socket, wake_socket, PROCESS, false, BLAME_NETWORK, RESOURCE_PEER, "", NULL },
	{ "TCP, a process", await_tcp, wake_tcp, PROCESS, false, BLAME_NETWORK, RESOURCE_PEER, "", NULL },
	{ "TCP, a process, in calls", await_tcp, wake_tcp, PROCESS, true, BLAME_NETWORK, RESOURCE_PEER, "", NULL },
	{ "TCP, a thread", await_tcp, wake_tcp, THREAD, false, BLAME_NETWORK, RESOURCE_PEER, "", NULL },
	{ "TCP of IPv6, a process", await_tcp_6, wake_tcp_6, PROCESS, false, BLAME_NETWORK, RESOURCE_PEER, "", NULL },
	{ "flock, a thread", NULL, NULL, THREAD, false, BLAME_LOCK, RESOURCE_FILE_LOCK, FILE_LOCK_NAME,
	  &file_lock_flock },
	{ "flock, a process, in calls", NULL, NULL, PROCESS, true, BLAME_LOCK, RESOURCE_FILE_LOCK, FILE_LOCK_NAME,
	  &file_lock_flock },
	{ "flock, given up with its file", NULL, NULL, THREAD, false, BLAME_LOCK, RESOURCE_FILE_LOCK, FILE_LOCK_NAME,
	  &file_lock_closed },
	{ "fcntl, a process", NULL, NULL, PROCESS, false, BLAME_LOCK, RESOURCE_FILE_LOCK, FILE_LOCK_NAME,
	  &file_lock_record },
	{ "fcntl of an open file, a thread, in calls", NULL, NULL, THREAD, true, BLAME_LOCK, RESOURCE_FILE_LOCK,
	  FILE_LOCK_NAME, &file_lock_open_file },
	{ "full pipe, a process", await_full_pipe, wake_full_pipe, PROCESS, false, BLAME_OTHER, RESOURCE_FULL_PIPE, "",
	  NULL },
	{ "full pipe, a thread, in calls", await_full_pipe, wake_full_pipe, THREAD, true, BLAME_OTHER,
	  RESOURCE_FULL_PIPE, "", NULL },
	{ "full socket, a process", await_full_socket, wake_full_socket, PROCESS, false, BLAME_NETWORK,
	  RESOURCE_FULL_PEER, "", NULL },
	{ "stop, a process", await_stop, wake_stop, PROCESS, false, BLAME_OTHER, RESOURCE_STOPPED, "", NULL },
	{ "stop, a process, in calls", await_stop, wake_stop, PROCESS, true, BLAME_OTHER, RESOURCE_STOPPED, "", NULL },
	{ "epoll, a process", await_epoll, wake_pipe, PROCESS, false, BLAME_OTHER, RESOURCE_NONE, "", NULL },
	{ "semaphore, a process", await_semaphore, wake_semaphore, PROCESS, false, BLAME_OTHER, RESOURCE_NONE, "",
	  NULL },
	{ "semaphore, a thread, in calls", await_semaphore, wake_semaphore, THREAD, true, BLAME_OTHER, RESOURCE_NONE,
	  "", NULL },
	{ "message queue, a process", await_message, wake_message, PROCESS, false, BLAME_OTHER, RESOURCE_NONE, "",
	  NULL },
	{ "POSIX message queue, a process", await_posix_message, wake_posix_message, PROCESS, false, BLAME_OTHER,
	  RESOURCE_NONE, "", NULL },
	{ "pipe, a process through io_uring", await_pipe, wake_pipe_ring, RING, false, BLAME_OTHER, RESOURCE_PIPE, "",
	  NULL },
	{ "pipe, a worker of io_uring", await_pipe, wake_pipe_worker, WORKER, false, BLAME_OTHER, RESOURCE_PIPE, "",
	  NULL },
	{ "child", await_child, wake_nobody, CHILD, false, BLAME_OTHER, RESOURCE_CHILD, "", NULL },
	{ "child that its user may not inspect", await_child, wake_nobody, HIDDEN_CHILD, false, BLAME_OTHER,
	  RESOURCE_CHILD, "", NULL },
	{ "sleep", wait_sleep, wake_nobody, HOG, false, BLAME_SLEEP, RESOURCE_NONE, "", NULL },
};

/* Both ends of a connection over the loopback device. Return: 0 or -1 */
static int connect_tcp(int family, int ret[2])
{
	union {
		struct sockaddr any;
		struct sockaddr_in of_4;
		struct sockaddr_in6 of_6;
	} address = { .any.sa_family = (sa_family_t)family };
	socklen_t n = family == AF_INET ? sizeof(address.of_4) : sizeof(address.of_6);
	int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (family == AF_INET)
		address.of_4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		address.of_6.sin6_addr = in6addr_loopback;
	ret[0] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || ret[0] < 0 || bind(listener, &address.any, n) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, &address.any, &n) < 0 || connect(ret[0], &address.any, n) < 0)
		return -1;
	ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	(void)close(listener);
	return ret[1] < 0 ? -1 : 0;
}

/* Sums over what was kept of one process. */
struct kept {
	uint32_t slot, tid;
	uint64_t count, ns, max_ns;
	uint64_t other_wakers; /* waits for the resource that somebody else is said to have ended */
	uint64_t n_short, n_stops;
	bool are_told; /* name of the resource; user and name of the waker */
};

static bool is_hidden(const struct scenario *s)
{
	return s->waker == HIDDEN_PROCESS || s->waker == HIDDEN_CHILD;
}

/* Linux 6.1 cannot ask a pipe not to wait, and leaves each write through io_uring to a worker. */
static bool pipes_may_refuse(void)
{
	struct iovec byte = { .iov_base = &(char){ 0 }, .iov_len = 1 };
	bool may = false;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == 0) {
		may = preadv2(fds[0], &byte, 1, -1, RWF_NOWAIT) < 0 && errno == EAGAIN;
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
	return may;
}

static bool is_worker(const struct scenario *s)
{
	return s->waker == WORKER || (s->waker == RING && !pipes_may_refuse());
}

static bool is_process(const struct scenario *s)
{
	return is_own_process(s) || s->waker == HIDDEN_CHILD;
}

/* Whether the kernel keeps of a process that exits whether its user might inspect it. Older ones show it to him. */
static bool says_dumpable(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	bool is_there = false;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++)
		is_there |= strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), "user_dumpable") == 0;
	btf__free(btf);
	return is_there;
}

static void kept_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	const struct scenario *s = scenario;
	struct kept *kept = data;
	const char *comm = shared->waker_tgid && !is_child(s) ? "waker" : "";

	if (key->slot != kept->slot || key->is_meanwhile)
		return;
	kept->n_short += value->ns < value->count * WAIT_LEAST_NS || value->max_ns > value->ns;
	kept->n_stops += key->kind == RESOURCE_STOPPED && key->kind != s->kind;
	if (key->kind != s->kind || key->resource != shared->resource || key->device != shared->device ||
	    key->class != s->class || key->op != (s->is_in ? RIG_CALL : 0) || key->tid != kept->tid)
		return;
	if (key->waker_tgid != shared->waker_tgid ||
	    (!is_worker(s) && key->waker_tid != shared->waker_tid)) { /* it has a number of its own */
		fprintf(stderr, "[%s] said to have ended it: process %u, thread %u '%s'\n", s->name, key->waker_tgid,
			key->waker_tid, value->waker_comm);
		kept->other_wakers += value->count;
		return;
	}
	kept->count += value->count;
	kept->ns += value->ns;
	kept->max_ns = MAX(kept->max_ns, value->max_ns);
	kept->are_told = strcmp(value->name, s->resource_name) == 0 &&
			 value->waker_uid == (is_process(s) ? WAKER_UID : 0) &&
			 value->is_waker_guarded == (is_hidden(s) && (s->waker != HIDDEN_CHILD || says_dumpable())) &&
			 (is_child(s) || is_worker(s) || strcmp(value->waker_comm, comm) == 0);
}

/* Says what was kept instead. */
static void kept_print(const struct wait_key *key, const struct wait_value *value, void *data)
{
	const struct kept *kept = data;

	if (key->slot == kept->slot)
		fprintf(stderr,
			"kept: thread %u, op %u, class %u, kind %u, resource %llu, waker %u: %llu waits, %llu ns\n",
			key->tid, key->op, key->class, key->kind, (unsigned long long)key->resource, key->waker_tid,
			(unsigned long long)value->count, (unsigned long long)value->ns);
}

static void resource_expect(const struct scenario *s)
{
	int fd = s->lock		    ? file_locks_fd()
		 : rooms_fd(s->await) >= 0  ? rooms_fd(s->await)
		 : s->await == await_pipe   ? pipe_ends[0]
		 : s->await == await_fifo   ? fifo_fd
		 : s->await == await_socket ? sockets[0]
		 : s->await == await_tcp    ? tcp[0]
		 : s->await == await_tcp_6  ? tcp_6[0]
					    : -1;
	struct stat status;

	if (s->kind == RESOURCE_FUTEX || s->kind == RESOURCE_GIL)
		shared->resource = (uintptr_t)&shared->word;
	if (s->kind == RESOURCE_STOPPED)
		shared->resource = STOP_SIGNAL;
	if (fd < 0)
		return;
	CHECK_INT_EQ(s->name, fstat(fd, &status), 0);
	shared->resource = status.st_ino;
	shared->device = (uint32_t)(major(status.st_dev) << 20 | minor(status.st_dev));
}

static void check_scenario(struct rig *rig, const struct scenario *s)
{
	struct kept kept = {};
	pid_t pid;

	*shared = (struct shared){};
	scenario = s;
	resource_expect(s);
	CHECK_INT_EQ(s->name, rig_child(rig, run, (void *)(uintptr_t)s, &pid), 0);
	kept.slot = rig_slot(rig, pid);
	kept.tid = (uint32_t)pid;
	CHECK("some are there", probe_set_waits(rig->set, kept_add, &kept) >= 0);
	CHECK_INT_EQ(s->name, kept.other_wakers, 0);
	CHECK_INT_EQ("shorter ones", kept.n_short, 0);
	CHECK_INT_EQ("stops", kept.n_stops, 0);
	CHECK_INT_IN(s->name, kept.count, shared->n_sure, shared->n_maybe);
	if (kept.count < shared->n_sure || kept.count > shared->n_maybe)
		(void)probe_set_waits(rig->set, kept_print, &kept);
	if (s->waker == NOBODY)
		return;
	/* Between the clocks of both are a wake-up and a switch. */
	CHECK_INT_IN(s->name, kept.ns, shared->sure_ns * 9 / 10, shared->maybe_ns * 11 / 10);
	CHECK_INT_IN(s->name, kept.max_ns, shared->max_ns * 9 / 10, MIN(kept.ns, shared->max_ns * 11 / 10));
	CHECK("names", kept.are_told);
}

static struct rig *rig_of_test;

/* The first process of a namespace of its own: its child has the number 2 there. */
static int first_run(int gate)
{
	pid_t pid;

	rig_byte_take(gate);
	(void)subject_empty();
	pid = fork();
	if (pid == 0) {
		wait_sleep();
		_exit(0);
	}
	(void)syscall(SYS_wait4, pid, NULL, 0, NULL);
	(void)subject_empty();
	return 0;
}

static int run_first(void *data)
{
	int gate[2];
	pid_t pid;

	(void)data;
	if (unshare(CLONE_NEWPID) < 0 || pipe2(gate, O_CLOEXEC) < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(first_run(gate[0]));
	shared->waker_tgid = (uint32_t)pid;
	rig_target(rig_of_test, pid, RIG_NO_CALL);
	rig_byte_give(gate[1]);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

struct children {
	uint32_t slot, n, n_right;
};

static void child_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	struct children *children = data;

	if (key->slot != children->slot || key->kind != RESOURCE_CHILD || key->is_meanwhile)
		return;
	children->n += (uint32_t)value->count;
	children->n_right += key->resource == key->waker_tgid && key->resource > 2;
}

/* A program names a child by its number in its own namespace, where another process may have it outside. */
static void check_namespace(struct rig *rig)
{
	struct children children = {};

	*shared = (struct shared){};
	rig_of_test = rig;
	CHECK_INT_EQ("namespace", rig_child(rig, run_first, NULL, NULL), 0);
	children.slot = rig_slot(rig, (pid_t)shared->waker_tgid);
	CHECK("namespace", children.slot > 0 && probe_set_waits(rig->set, child_add, &children) >= 0);
	CHECK_INT_EQ("namespace", children.n, 1);
	CHECK_INT_EQ("its number outside", children.n_right, 1);
}

/* A process's waits go with its slot. */
static void check_release(struct rig *rig)
{
	uint32_t slot = 0;

	for (uint32_t i = 1; i < PROCESS_SLOTS; i++)
		if (probe_set_slots(rig->set)[i].state == PROCESS_SLOT_GONE) {
			slot = i;
			CHECK_INT_EQ("released", probe_set_slot_release(rig->set, i), 0);
		}
	CHECK("there were some", slot > 0);
	CHECK_INT_EQ("nothing is left", probe_set_waits(rig->set, kept_add, &(struct kept){}), 0);
}

static void rows_fill(struct rig *rig, uint32_t last_s)
{
	struct wait_value value = { .count = 1, .last_s = last_s };

	for (uint32_t i = 0; i < WAITS_MAX; i++) {
		struct wait_key key = { .slot = OTHERS_SLOT, .resource = i };

		CHECK_INT_EQ("filled", bpf_map_update_elem(bpf_map__fd(rig->set->bpf->maps.waits), &key, &value, 0), 0);
	}
}

struct rows {
	uint32_t n_full, n_ended;
};

static void rows_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	struct rows *rows = data;

	(void)key;
	rows->n_full += value->count != 0;
	rows->n_ended += !value->count && !value->ns;
}

/* Rows that were just added to stay, and what comes besides is counted as lost; quiet ones make room for it. */
static void check_full(struct rig *rig)
{
	const struct scenario *s = &scenarios[0];
	uint64_t lost;
	struct rows rows = {};
	pid_t pid;

	rows_fill(rig, (uint32_t)(rig_now_ns() / NSEC_PER_SEC) + 60);
	CHECK_INT_EQ("full", probe_set_waits(rig->set, rows_add, &rows), WAITS_MAX);
	CHECK_INT_EQ("none is removed", rows.n_ended, 0);
	*shared = (struct shared){};
	scenario = s;
	CHECK_INT_EQ("full", rig_child(rig, run, (void *)(uintptr_t)s, &pid), 0);
	CHECK_INT_EQ("full", probe_set_waits(rig->set, rows_add, &rows), WAITS_MAX);
	lost = rig_loss(rig, LOSS_WAITS);
	CHECK_INT_IN("full", lost, shared->n_sure, 10 * WAITS);

	rows_fill(rig, 0);
	rows = (struct rows){};
	CHECK_INT_EQ("quiet ones are read", probe_set_waits(rig->set, rows_add, &rows), WAITS_MAX);
	CHECK_INT_EQ("and once more at their end", rows.n_full, 2 * WAITS_MAX);
	CHECK_INT_EQ("and begin anew", rows.n_ended, WAITS_MAX);
	check_scenario(rig, s);
	CHECK_INT_EQ("no more is lost", rig_loss(rig, LOSS_WAITS), lost);
}

int main(int argc, char **argv)
{
	struct rig rig;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)unlink(FIFO_NAME);
	if (shared == MAP_FAILED || pipe2(pipe_ends, O_CLOEXEC) < 0 || mkfifo(FIFO_NAME, 0600) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		CHECK_SKIP("no memory or pipes");
	fifo_fd = open(FIFO_NAME, O_RDWR | O_CLOEXEC);
	(void)unlink(FIFO_NAME);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_ends[0], &(struct epoll_event){ .events = EPOLLIN }) < 0)
		CHECK_SKIP("no epoll");
	if (file_locks_open() < 0 || rooms_open() < 0 || ipc_open(pipe_ends[1]) < 0)
		CHECK_SKIP("no files, pipes or queues");
	if (connect_tcp(AF_INET, tcp) < 0)
		CHECK_SKIP("no network");
	if (connect_tcp(AF_INET6, tcp_6) < 0)
		memcpy(tcp_6, tcp, sizeof(tcp)); /* a machine without IPv6 */
	rig_open(&rig, rig_back_end(argc, argv), 0);
	probes = rig.set;
	if (!probe_set_measures(rig.set, BLAME_RUNNABLE))
		CHECK_SKIP("this kernel does not tell of task switches");
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		check_scenario(&rig, &scenarios[i]);
	check_namespace(&rig);
	check_release(&rig);
	CHECK_INT_EQ("room for all", rig_loss(&rig, LOSS_WAITS), 0);
	check_full(&rig);
	rig_close(&rig);
	file_locks_close();
	ipc_close();
	return check_result();
}
