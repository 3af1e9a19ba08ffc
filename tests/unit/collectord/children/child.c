// SPDX-License-Identifier: Apache-2.0
/*
 * Children that keep to the conversation and children that do not. The roles here do on
 * command what a file might make the real ones do: hang, die, lie, reach out. The process
 * is started from this executable, as the daemon's are from the daemon's.
 */
#include "children/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child_role.h"
#include "children/process.h"
#include "children/spare.h"
#include "tests/support/check.h"

#define FAR_NS (600 * NSEC_PER_SEC) /* a limit that is not meant to be met */

/* --- the child's side --- */

static const char secret[] = "what the file says";

/* Things that a sealed process must not do. Each returns what the call returned. */
static long reach_open(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}
static long reach_stat(void)
{
	char room[512];

	return syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", room, 0);
}
static long reach_socket(void)
{
	return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}
static long reach_unix_socket(void)
{
	return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
}
static long reach_signal(void)
{
	return syscall(SYS_kill, 1, 0);
}
static long reach_trace(void)
{
	return syscall(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0);
}
static long reach_memory(void)
{
	return syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0);
}
static long reach_execute(void)
{
	char *const argv[] = { (char *)"true", NULL };

	return syscall(SYS_execve, "/bin/true", argv, argv + 1);
}
static long reach_clone(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
static long reach_user_namespace(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}
static long reach_clone_by_structure(void)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };

	return syscall(SYS_clone3, &args, sizeof(args));
}
static long reach_unshare(void)
{
	return syscall(SYS_unshare, CLONE_NEWUSER);
}
static long reach_namespace(void)
{
	return syscall(SYS_setns, CHILD_SOCKET_FD, 0);
}
static long reach_ring(void)
{
	struct io_uring_params params = { 0 };

	return syscall(SYS_io_uring_setup, 1, &params);
}
static long reach_limit(void)
{
	return syscall(SYS_prlimit64, 0, 7, NULL, NULL);
}
static long reach_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}
static long reach_control(void)
{
	return syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0, 0, 0);
}
static long reach_device(void)
{
	return syscall(SYS_ioctl, CHILD_SOCKET_FD, 0x541b, NULL);
}
static long reach_executable_memory(void)
{
	long r = syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return r == (long)MAP_FAILED ? -1 : 0;
}
static long reach_mapped_file(void)
{
	long r = syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, CHILD_SOCKET_FD + 1, 0);

	return r == (long)MAP_FAILED ? -1 : 0;
}
static long reach_other_socket(void)
{
	struct msghdr msg = { 0 };

	return syscall(SYS_sendmsg, STDERR_FILENO, &msg, 0);
}

static const struct {
	const char *name;
	long (*reach)(void);
} reaches[] = {
	{ "open a file", reach_open },
	{ "ask about a path", reach_stat },
	{ "make a network socket", reach_socket },
	{ "make a local socket", reach_unix_socket },
	{ "signal", reach_signal },
	{ "trace", reach_trace },
	{ "read another's memory", reach_memory },
	{ "execute", reach_execute },
	{ "start a process", reach_clone },
	{ "start one in a user namespace", reach_user_namespace },
	{ "the same by a structure", reach_clone_by_structure },
	{ "leave for a user namespace", reach_unshare },
	{ "enter a namespace", reach_namespace },
	{ "make an io_uring", reach_ring },
	{ "change limits", reach_limit },
	{ "use bpf", reach_bpf },
	{ "become dumpable", reach_control },
	{ "ioctl", reach_device },
	{ "map executable memory", reach_executable_memory },
	{ "map a file", reach_mapped_file },
	{ "send to another descriptor", reach_other_socket },
};

static ssize_t tester_answer(const void *question, size_t n, int fd, void *answer, size_t room)
{
	static uint8_t large[CHILD_ANSWER_MAX + 1];
	static const int zero;
	const uint8_t *q = question;
	int null_fd = STDIN_FILENO;

	switch (q[0]) {
	case 'e': /* echo */
		memcpy(answer, question, n);
		return (ssize_t)n;
	case 'r': /* read what the descriptor leads to */
		return pread(fd, answer, room, 0);
	case 'm': /* use memory as malloc gives and takes it */
		for (size_t size = 1; size < 8 << 20; size *= 3) {
			char *p = malloc(size);

			if (!p || !(p = realloc(p, size * 2)))
				return -1;
			p[size] = 1;
			free(p);
		}
		return 1;
	case 'f': /* forbidden thing number q[1] */
		errno = 0;
		*(long *)answer = reaches[q[1]].reach() == -1 ? errno : 0;
		return sizeof(long);
	case 'h': /* hang */
		for (;;)
			(void)syscall(SYS_futex, &zero, FUTEX_WAIT, 0, NULL, NULL, 0);
	case 'd': /* die */
		_exit(3);
	case 'w': /* leave the conversation */
		(void)close(CHILD_SOCKET_FD);
		for (;;)
			(void)syscall(SYS_futex, &zero, FUTEX_WAIT, 0, NULL, NULL, 0);
	case '2': /* say more than was asked */
		(void)fd_send(CHILD_SOCKET_FD, "early", 5, NULL, 0);
		return 1;
	case 'b': /* say more than fits */
		(void)fd_send(CHILD_SOCKET_FD, large, sizeof(large), NULL, 0);
		return 1;
	case 'p': /* pass a descriptor back */
		(void)fd_send(CHILD_SOCKET_FD, "x", 1, &null_fd, 1);
		return 1;
	default: /* a question that makes no sense */
		return -1;
	}
}

static const struct child_role tester_role = { .name = "tester", .answer = tester_answer };
const struct child_role *const child_roles[] = { &tester_role, NULL };

/* --- the daemon's side --- */

struct told {
	unsigned int n; /* times the callback came */
	int r;
	size_t n_answer;
	char answer[64];
};

static void on_answer(int r, const void *answer, size_t n, void *data)
{
	struct told *told = data;

	told->n++;
	told->r = r;
	told->n_answer = n;
	if (r == 0)
		memcpy(told->answer, answer, MIN(n, sizeof(told->answer)));
}

/* Asks and lets the loop run until there is an answer. */
static struct told ask(uv_loop_t *loop, struct child *child, const void *question, size_t n, int fd, uint32_t owner,
		       uint64_t limit_ns)
{
	struct told told = { 0 };
	int r = child_ask(child, question, n, fd, owner, limit_ns, on_answer, &told);

	if (r < 0)
		return (struct told){ .n = 1, .r = r };
	while (told.n == 0)
		(void)uv_run(loop, UV_RUN_ONCE);
	return told;
}

/* The loop runs dry only when every process was reaped. */
static void loop_finish(const char *name, uv_loop_t *loop)
{
	(void)uv_run(loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ(name, uv_loop_close(loop), 0);
	CHECK_INT_EQ(name, waitpid(-1, NULL, WNOHANG), -1);
	CHECK_INT_EQ(name, errno, ECHILD);
}

enum process_kind { PROCESS_SAME, PROCESS_FRESH };

/* One conversation; each row builds on those above it. */
static const struct {
	const char *name;
	const char *question;
	uint32_t owner;
	uint64_t limit_ns;
	int r;
	const char *answer;	   /* when r is 0 */
	enum process_kind process; /* the one that is there after the answer, against that before the question */
} talk[] = {
	{ "first question", "echo", 1, FAR_NS, 0, "echo", PROCESS_FRESH },
	{ "second question, same process", "e2", 1, FAR_NS, 0, "e2", PROCESS_SAME },
	{ "memory can be had", "m", 1, FAR_NS, 0, NULL, PROCESS_SAME },
	{ "another owner, another process", "e3", 2, FAR_NS, 0, "e3", PROCESS_FRESH },
	{ "hangs: killed at its limit", "h", 2, 50 * NSEC_PER_MSEC, -ETIMEDOUT, NULL, PROCESS_FRESH },
	{ "after the hang", "e4", 2, FAR_NS, 0, "e4", PROCESS_FRESH },
	{ "dies, once more in a fresh process", "d", 2, FAR_NS, -EPIPE, NULL, PROCESS_FRESH },
	{ "dies at once", "d", 2, FAR_NS, -EPIPE, NULL, PROCESS_SAME },
	{ "after deaths", "e5", 2, FAR_NS, 0, "e5", PROCESS_FRESH },
	{ "leaves without dying", "w", 2, FAR_NS, -EPIPE, NULL, PROCESS_FRESH },
	{ "after it left", "e6", 2, FAR_NS, 0, "e6", PROCESS_FRESH },
	{ "an answer too long", "b", 2, FAR_NS, -EPIPE, NULL, PROCESS_FRESH },
	{ "an answer with a descriptor", "p", 2, FAR_NS, -EPIPE, NULL, PROCESS_SAME },
	{ "a question without sense", "?", 2, FAR_NS, -EPIPE, NULL, PROCESS_SAME },
	{ "an empty question", "", 2, FAR_NS, -EMSGSIZE, NULL, PROCESS_SAME },
	{ "and on", "e8", 2, FAR_NS, 0, "e8", PROCESS_FRESH },
};

static void talk_check(void)
{
	struct child *child;
	uint32_t before = 0;
	uv_loop_t loop;

	CHECK_INT_EQ("talk", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("talk", child_open(&loop, "tester", &child), 0);
	CHECK_INT_EQ("no process before the first question", child_pid(child), 0);
	for (size_t i = 0; i < ARRAY_SIZE(talk); i++) {
		struct told told = ask(&loop, child, talk[i].question, strlen(talk[i].question), -1, talk[i].owner,
				       talk[i].limit_ns);

		CHECK_INT_EQ(talk[i].name, told.r, talk[i].r);
		CHECK_INT_EQ(talk[i].name, told.n, 1);
		if (talk[i].answer)
			CHECK_STR_EQ(talk[i].name, told.answer, talk[i].answer);
		CHECK_INT_EQ(talk[i].name, child_pid(child) == before, talk[i].process == PROCESS_SAME);
		before = child_pid(child);
	}
	child_close(child);
	loop_finish("talk", &loop);
}

/* A process that has answered gives way to a fresh one when it was idle for long enough; no other one does. */
static void renew_check(void)
{
	static const struct {
		const char *name;
		uint64_t idle_ns;
		bool is_answered, is_asked;
		enum process_kind process;
	} rows[] = {
		{ "renewed", 0, true, false, PROCESS_FRESH },
		{ "not idle for long enough", FAR_NS, true, false, PROCESS_SAME },
		{ "nothing was answered", 0, false, false, PROCESS_SAME },
		{ "a question waits", 0, true, true, PROCESS_SAME },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct told told = { 0 }, next;
		struct child *child;
		uv_loop_t loop;
		uint32_t before;

		CHECK_INT_EQ(rows[i].name, uv_loop_init(&loop), 0);
		CHECK_INT_EQ(rows[i].name, child_open(&loop, "tester", &child), 0);
		child_renew(child, 0);
		CHECK_INT_EQ(rows[i].name, child_pid(child), 0);
		child_begin(child);
		if (rows[i].is_answered)
			(void)ask(&loop, child, "e1", 2, -1, 1, FAR_NS);
		before = child_pid(child);
		if (rows[i].is_asked)
			CHECK_INT_EQ(rows[i].name, child_ask(child, "e2", 2, -1, 1, FAR_NS, on_answer, &told), 0);
		child_renew(child, rows[i].idle_ns);
		CHECK(rows[i].name, child_pid(child));
		CHECK_INT_EQ(rows[i].name, child_pid(child) == before, rows[i].process == PROCESS_SAME);
		next = ask(&loop, child, "e3", 2, -1, 1, FAR_NS);
		CHECK_INT_EQ(rows[i].name, next.r, 0);
		CHECK_STR_EQ(rows[i].name, next.answer, "e3");
		CHECK_INT_EQ(rows[i].name, told.n, rows[i].is_asked);
		child_close(child);
		loop_finish(rows[i].name, &loop);
	}
}

static void descriptor_check(void)
{
	CLEANUP(closep) int fd = memfd_create("question", MFD_CLOEXEC);
	struct child *child;
	struct told told;
	uv_loop_t loop;

	if (fd < 0 || fd_write_full(fd, secret, sizeof(secret)) < 0)
		abort();
	CHECK_INT_EQ("descriptor", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("descriptor", child_open(&loop, "tester", &child), 0);
	for (int i = 0; i < 20; i++) { /* more than the child may hold at once: each is closed behind its question */
		told = ask(&loop, child, "r", 1, fd, 1, FAR_NS);
		CHECK_INT_EQ("descriptor", told.r, 0);
		CHECK_INT_EQ("descriptor", told.n_answer, sizeof(secret));
		CHECK_STR_EQ("descriptor", told.answer, secret);
	}
	child_close(child);
	loop_finish("descriptor", &loop);
}

/* Who watches over all processes hears of each: when it starts, before it answers, and when it is gone. */
static struct {
	uint32_t pid; /* of the one that runs */
	int n_started;
	int n_ended;
	uint64_t ended_ns; /* CPU time of those that have ended */
} observed;

static void on_process(const struct process_news *news, void *data)
{
	(void)data;
	CHECK_STR_EQ("observed: what it is", news->role, "tester");
	if (news->is_running) {
		observed.pid = news->pid;
		observed.n_started++;
	} else {
		observed.n_ended++;
		observed.ended_ns += news->cpu_ns;
		CHECK("observed: what it has used", news->cpu_ns > 0);
	}
}

static void observe_check(void)
{
	struct child *child;
	struct told told;
	uv_loop_t loop;

	process_observe(on_process, NULL);
	CHECK_INT_EQ("observed", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("observed", child_open(&loop, "tester", &child), 0);
	CHECK_INT_EQ("observed: none yet", observed.n_started, 0);
	told = ask(&loop, child, "e1", 2, -1, 1, FAR_NS);
	CHECK_INT_EQ("observed", told.r, 0);
	CHECK_INT_EQ("observed: started", observed.n_started, 1);
	CHECK_INT_EQ("observed: its number", observed.pid, child_pid(child));
	told = ask(&loop, child, "e2", 2, -1, 2, FAR_NS);
	CHECK_INT_EQ("observed", told.r, 0);
	CHECK_INT_EQ("observed: a second", observed.n_started, 2);
	CHECK_INT_EQ("observed: its number", observed.pid, child_pid(child));
	child_close(child);
	loop_finish("observed", &loop);
	CHECK_INT_EQ("observed: both ended", observed.n_ended, 2);
	process_observe(NULL, NULL);
}

struct spare_told {
	struct child_process *process;
	char answer[8];
	bool is_told;
};

static void on_spare_answer(int status, void *data)
{
	struct spare_told *told = data;
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;
	ssize_t n = status < 0 ? status
			       : fd_receive(process_socket(told->process), told->answer, sizeof(told->answer) - 1, fds,
					    &n_fds);

	CHECK("spare: an answer", n > 0);
	told->is_told = true;
}

static void spare_start(const char *name, uv_loop_t *loop, struct spare *spare)
{
	int n = observed.n_started;

	CHECK(name, !spare_take(spare));
	CHECK(name, !spare_take(spare)); /* at once: they come often */
	spare_wish(spare);
	while (observed.n_started == n)
		(void)uv_run(loop, UV_RUN_NOWAIT);
}

/* Questions that come often find a process that waits; it ends when they do not come, and may end before. */
static void spare_check(void)
{
	static const struct {
		const char *name;
		uint64_t idle_ms;
		bool is_killed, is_asked;
	} cases[] = {
		{ "spare: asked", 600000, .is_asked = true },
		{ "spare: nobody asks", 1, .is_asked = false },
		{ "spare: killed", 600000, .is_killed = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct process_message question = { "e1", 2 };
		struct spare_told told = { .process = NULL };
		struct spare *spare;
		uv_loop_t loop;

		process_observe(on_process, NULL);
		observed.n_started = observed.n_ended = 0;
		CHECK_INT_EQ(cases[i].name, uv_loop_init(&loop), 0);
		CHECK_INT_EQ(cases[i].name, spare_new(&loop, "tester", cases[i].idle_ms, &spare), 0);
		spare_wish(spare);
		(void)uv_run(&loop, UV_RUN_NOWAIT);
		CHECK_INT_EQ("spare: none before the first questions", observed.n_started, 0);
		spare_start(cases[i].name, &loop, spare);
		if (cases[i].is_killed)
			CHECK_INT_EQ(cases[i].name, kill((pid_t)observed.pid, SIGKILL), 0);
		while (!cases[i].is_asked && !observed.n_ended)
			(void)uv_run(&loop, UV_RUN_ONCE);
		told.process = spare_take(spare);
		CHECK_INT_EQ(cases[i].name, told.process != NULL, cases[i].is_asked);
		if (told.process) {
			CHECK_INT_EQ(cases[i].name, process_ask(told.process, &question, 1, on_spare_answer, &told), 0);
			while (!told.is_told)
				(void)uv_run(&loop, UV_RUN_ONCE);
			CHECK_STR_EQ(cases[i].name, told.answer, "e1");
			process_end(told.process);
		}
		spare_close(spare);
		loop_finish(cases[i].name, &loop);
		CHECK_INT_EQ(cases[i].name, observed.n_ended, 1);
		process_observe(NULL, NULL);
	}
}

/* A process that ends between two questions is not noticed by who asks the second. */
static void idle_death_check(void)
{
	struct child *child;
	struct told told;
	uint32_t pid;
	uv_loop_t loop;

	CHECK_INT_EQ("idle death", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("idle death", child_open(&loop, "tester", &child), 0);
	told = ask(&loop, child, "e1", 2, -1, 1, FAR_NS);
	CHECK_INT_EQ("idle death", told.r, 0);
	pid = child_pid(child);
	CHECK_INT_EQ("idle death", kill((pid_t)pid, SIGKILL), 0);
	told = ask(&loop, child, "e2", 2, -1, 1, FAR_NS);
	CHECK_INT_EQ("idle death", told.r, 0);
	CHECK_STR_EQ("idle death", told.answer, "e2");
	CHECK("idle death", child_pid(child) != pid);
	child_close(child);
	loop_finish("idle death", &loop);
}

/* One that says more than it was asked is done away with, whenever that comes to light. */
static void unasked_check(void)
{
	struct child *child;
	struct told told;
	uv_loop_t loop;

	CHECK_INT_EQ("unasked", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("unasked", child_open(&loop, "tester", &child), 0);
	told = ask(&loop, child, "2", 1, -1, 1, FAR_NS);
	CHECK_INT_EQ("unasked", told.r, 0);
	CHECK_STR_EQ("unasked", told.answer, "early");
	while (child_pid(child))
		(void)uv_run(&loop, UV_RUN_ONCE);
	told = ask(&loop, child, "e7", 2, -1, 1, FAR_NS);
	CHECK_INT_EQ("after it", told.r, 0);
	CHECK_STR_EQ("after it", told.answer, "e7");
	child_close(child);
	loop_finish("unasked", &loop);
}

/* Questions behind one that hangs are answered; those that wait when the child is closed are called off. */
static void queue_check(void)
{
	static struct told told[CHILD_QUEUE_MAX];
	struct child *child;
	uv_loop_t loop;

	CHECK_INT_EQ("queue", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("queue", child_open(&loop, "tester", &child), 0);
	CHECK_INT_EQ("queue", child_ask(child, "h", 1, -1, 1, 20 * NSEC_PER_MSEC, on_answer, &told[0]), 0);
	for (size_t i = 1; i < CHILD_QUEUE_MAX; i++) {
		if (i == CHILD_QUEUE_OWNER_MAX)
			CHECK_INT_EQ("one too many of an owner",
				     child_ask(child, "e", 1, -1, 1, FAR_NS, on_answer, &told[0]), -ENOBUFS);
		CHECK_INT_EQ("queue",
			     child_ask(child, i == 100 ? "h" : "e", 1, -1, i < CHILD_QUEUE_OWNER_MAX ? 1 : 2, FAR_NS,
				       on_answer, &told[i]),
			     0);
	}
	CHECK_INT_EQ("one too many", child_ask(child, "e", 1, -1, 3, FAR_NS, on_answer, &told[0]), -ENOBUFS);

	while (told[99].n == 0)
		(void)uv_run(&loop, UV_RUN_ONCE);
	CHECK_INT_EQ("queue", told[0].r, -ETIMEDOUT);
	for (size_t i = 1; i < 100; i++)
		CHECK_INT_EQ("queue", told[i].r, 0);
	child_close(child);
	for (size_t i = 0; i < CHILD_QUEUE_MAX; i++) {
		CHECK_INT_EQ("called once", told[i].n, 1);
		if (i >= 100 && i < CHILD_QUEUE_OWNER_MAX)
			CHECK_INT_EQ("called off", told[i].r, -ECANCELED);
	}
	loop_finish("queue", &loop);
}

static unsigned int n_hung;

/* Always has another question in the queue, which hangs, too. */
static void on_hung(int r, const void *answer, size_t n, void *data)
{
	(void)answer;
	(void)n;
	CHECK_INT_IN("hangs", r, -ECANCELED, -ETIMEDOUT);
	if (r != -ECANCELED && ++n_hung < 50)
		CHECK_INT_EQ("hangs", child_ask(data, "h", 1, -1, 1, NSEC_PER_MSEC, on_hung, data), 0);
}

/* Whoever makes the process hang again and again leaves a turn to others. */
static void turns_check(void)
{
	struct told told = { 0 };
	struct child *child;
	uv_loop_t loop;

	CHECK_INT_EQ("turns", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("turns", child_open(&loop, "tester", &child), 0);
	for (size_t i = 0; i < 3; i++)
		CHECK_INT_EQ("turns", child_ask(child, "h", 1, -1, 1, NSEC_PER_MSEC, on_hung, child), 0);
	CHECK_INT_EQ("turns", child_ask(child, "e", 1, -1, 2, FAR_NS, on_answer, &told), 0);
	while (!told.n)
		(void)uv_run(&loop, UV_RUN_ONCE);
	CHECK_INT_EQ("another owner's", told.r, 0);
	CHECK_INT_EQ("behind one question", n_hung, 1);
	child_close(child);
	loop_finish("turns", &loop);
}

struct nested {
	struct child *child;
	struct told told;
	bool is_closed;
};

static void on_answer_ask_again(int r, const void *answer, size_t n, void *data)
{
	struct nested *nested = data;

	CHECK_INT_EQ("from a callback", r, 0);
	if (n == 2) {
		CHECK_INT_EQ("ask from a callback",
			     child_ask(nested->child, "e", 1, -1, 1, FAR_NS, on_answer_ask_again, nested), 0);
		return;
	}
	on_answer(r, answer, n, &nested->told);
	child_close(nested->child);
	CHECK_INT_EQ("ask when closed", child_ask(nested->child, "e", 1, -1, 1, FAR_NS, on_answer_ask_again, nested),
		     -ECANCELED);
}

static void nested_check(void)
{
	struct nested nested = { 0 };
	uv_loop_t loop;

	CHECK_INT_EQ("nested", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("nested", child_open(&loop, "tester", &nested.child), 0);
	CHECK_INT_EQ("nested", child_ask(nested.child, "e2", 2, -1, 1, FAR_NS, on_answer_ask_again, &nested), 0);
	loop_finish("nested", &loop);
	CHECK_INT_EQ("nested", nested.told.n, 1);
}

/* A role that does not exist: the process ends at once, and the question does not wait. */
static void stranger_check(void)
{
	struct child *child;
	struct told told;
	uv_loop_t loop;

	CHECK_INT_EQ("no such role", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("no such role", child_open(&loop, "stranger", &child), 0);
	told = ask(&loop, child, "e", 1, -1, 1, FAR_NS);
	CHECK_INT_EQ("no such role", told.r, -EPIPE);
	child_close(child);
	loop_finish("no such role", &loop);
}

/* Whoever reaches out dies of it; under sanitizers, whose reports need calls of their own, it is refused. */
static void seal_check(void)
{
	CLEANUP(closep) int fd = memfd_create("question", MFD_CLOEXEC);
	struct child *child;
	uv_loop_t loop;

	CHECK_INT_EQ("seal", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("seal", child_open(&loop, "tester", &child), 0);
	for (size_t i = 0; i < ARRAY_SIZE(reaches); i++) {
		const uint8_t question[] = { 'f', (uint8_t)i };
		struct told told = ask(&loop, child, question, sizeof(question), fd, 1, FAR_NS);
#ifdef INGERO_SANITIZED
		long error = 0;

		CHECK_INT_EQ(reaches[i].name, told.r, 0);
		memcpy(&error, told.answer, sizeof(error));
		CHECK_INT_EQ(reaches[i].name, error, EPERM);
#else
		CHECK_INT_EQ(reaches[i].name, told.r, -EPIPE);
#endif
	}
	child_close(child);
	loop_finish("seal", &loop);
}

static void status_line_check(uint32_t pid, const char *want)
{
	char path[64], text[8192];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		text[0] = 0;
	CHECK(want, strstr(text, want));
}

/* What the kernel says of a sealed process, while a descriptor that it must not inherit is open here. */
static void status_check(void)
{
	static const char *const lines[] = {
		"CapInh:\t0000000000000000",
		"CapPrm:\t0000000000000000",
		"CapEff:\t0000000000000000",
		"CapAmb:\t0000000000000000",
		"NoNewPrivs:\t1",
		"Seccomp:\t2",
	};
	int inherited = open("/etc/passwd", O_RDONLY); /* deliberately not close-on-exec */
	struct child *child;
	struct told told;
	char path[64];
	uv_loop_t loop;
	DIR *dir;

	CHECK_INT_EQ("status", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("status", child_open(&loop, "tester", &child), 0);
	told = ask(&loop, child, "e", 1, -1, 1, FAR_NS);
	CHECK_INT_EQ("status", told.r, 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		status_line_check(child_pid(child), lines[i]);

	(void)snprintf(path, sizeof(path), "/proc/%u/fd", child_pid(child));
	dir = opendir(path);
	if (geteuid() == 0) {
		status_line_check(child_pid(child), "CapBnd:\t0000000000000000");
		CHECK("descriptors", dir);
		for (struct dirent *entry; dir && (entry = readdir(dir));)
			CHECK_INT_IN(entry->d_name, atoi(entry->d_name), 0, CHILD_SOCKET_FD);
	} else {
		CHECK("not dumpable: its own user cannot look into it", !dir);
	}
	if (dir)
		(void)closedir(dir);
	(void)close(inherited);
	child_close(child);
	loop_finish("status", &loop);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child_main(argv[2]);
	talk_check();
	renew_check();
	observe_check();
	descriptor_check();
	spare_check();
	idle_death_check();
	unasked_check();
	queue_check();
	turns_check();
	nested_check();
	stranger_check();
	seal_check();
	status_check();
	return check_result();
}
