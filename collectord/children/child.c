// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's side of a child.
 *
 * A process and the child it serves are two objects: a process that was killed lives
 * on until the kernel says it is gone (its pidfd becomes readable) and is reaped then,
 * while the child already asks the next one. Nothing here waits.
 */
#include "children/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child_role.h"

#define LOG_TOPIC "children"
#include "base/log.h"

struct question {
	struct question *next;
	child_answer_func func;
	void *data;
	uint64_t limit_ns;
	uint32_t owner;
	int fd;	       /* owned; -1: none */
	bool is_again; /* its first process died of what it had done before */
	size_t n;
	uint8_t bytes[];
};

struct process {
	struct child *child; /* NULL once it was told to end */
	uv_poll_t socket_poll;
	uv_poll_t exit_poll;
	int socket_fd;
	int pid_fd;
	pid_t pid;
	uint32_t owner;
	uint32_t n_answered;
	int n_handles; /* open on the loop */
};

struct child {
	uv_loop_t *loop;
	const char *role;
	struct process *process; /* NULL while none runs */
	struct question *first;	 /* being answered when is_asked */
	struct question **last;	 /* where the next one is linked in */
	size_t n_questions;
	bool is_asked;
	bool is_closing;
	uv_timer_t timer;
	_Alignas(max_align_t) uint8_t answer[CHILD_ANSWER_MAX];
};

static void child_pump(struct child *child);

static void question_free(struct question *q)
{
	if (q) {
		closep(&q->fd);
		free(q);
	}
}

static void question_freep(struct question **q)
{
	question_free(*q);
}

static struct question *question_take(struct child *child)
{
	struct question *q = child->first;

	child->first = q->next;
	if (!child->first)
		child->last = &child->first;
	child->n_questions--;
	return q;
}

static void question_answer(struct question *q, int r, const void *answer, size_t n)
{
	q->func(r, answer, n, q->data);
	question_free(q);
}

/* --- processes --- */

static void on_process_handle_close(uv_handle_t *handle)
{
	struct process *p = handle->data;

	if (--p->n_handles)
		return;
	closep(&p->socket_fd);
	closep(&p->pid_fd);
	free(p);
}

static void on_exit_readable(uv_poll_t *handle, int status, int events)
{
	struct process *p = handle->data;
	siginfo_t info = { 0 };

	(void)status;
	(void)events;
	if (waitid(P_PIDFD, (id_t)p->pid_fd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
		return; /* not yet: asked again while readable */
	/* What it said last may still lie in the socket, whose end comes behind it: nothing more to do here. */
	uv_close((uv_handle_t *)&p->exit_poll, on_process_handle_close);
}

/* Tells a process to end. Its memory goes when both its socket and its death were dealt with. */
static void process_end(struct process *p)
{
	if (p->child)
		p->child->process = NULL;
	p->child = NULL;
	(void)syscall(SYS_pidfd_send_signal, p->pid_fd, SIGKILL, NULL, 0); /* fails only when it is gone already */
	uv_close((uv_handle_t *)&p->socket_poll, on_process_handle_close);
}

/* Puts a started process on the loop. On failure it is killed and reaped here: it has done nothing yet. */
static int process_watch(struct process *p, uv_loop_t *loop, uv_poll_cb on_readable)
{
	int r;

	r = uv_poll_init(loop, &p->socket_poll, p->socket_fd);
	if (r < 0)
		return r;
	p->socket_poll.data = p;
	p->n_handles = 1;
	r = uv_poll_init(loop, &p->exit_poll, p->pid_fd);
	if (r < 0)
		return r;
	p->exit_poll.data = p;
	p->n_handles = 2;
	r = uv_poll_start(&p->socket_poll, UV_READABLE, on_readable);
	if (r < 0)
		return r;
	return uv_poll_start(&p->exit_poll, UV_READABLE, on_exit_readable);
}

static int process_spawn(const char *role, int socket_fd, pid_t *ret_pid)
{
	char *const argv[] = { (char *)"ingero-collectord", (char *)"--child", (char *)role, NULL };
#ifdef INGERO_SANITIZED
	char **env = environ; /* how to report */
#else
	char *const env[] = { NULL }; /* it may hold secrets */
#endif
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &all);
	/* Its own session: the interrupt key of our terminal is not meant for it. */
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	r = posix_spawn_file_actions_adddup2(&actions, socket_fd, CHILD_SOCKET_FD);
	if (r == 0)
		r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attr, argv, env);

	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static void process_kill_and_wait(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void on_socket_readable(uv_poll_t *handle, int status, int events);

static int process_start(struct child *child, uint32_t owner)
{
	CLEANUP(freep) struct process *p = calloc(1, sizeof(*p));
	CLEANUP(closep) int ours = -1, theirs = -1, pid_fd = -1;
	int pair[2], r;
	pid_t pid;

	if (!p)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return -errno;

	r = process_spawn(child->role, theirs, &pid);
	if (r < 0)
		return r;
	pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid_fd < 0) {
		r = -errno;
		process_kill_and_wait(pid);
		return r;
	}

	*p = (struct process){ .socket_fd = ours, .pid_fd = pid_fd, .pid = pid, .owner = owner };
	r = process_watch(p, child->loop, on_socket_readable);
	if (r < 0 && p->n_handles == 0) {
		process_kill_and_wait(pid);
		return r;
	}
	ours = pid_fd = -1; /* the handles' now */
	if (r < 0) {	    /* the loop holds part of it: only its close callbacks may free */
		process_kill_and_wait(pid);
		if (p->n_handles == 2)
			uv_close((uv_handle_t *)&p->exit_poll, on_process_handle_close);
		uv_close((uv_handle_t *)&p->socket_poll, on_process_handle_close);
		p = NULL;
		return r;
	}
	p->child = child;
	child->process = TAKE_PTR(p);
	return 0;
}

/* --- asking --- */

/* The deadline of the question being answered; or, when there is none, a turn of the loop to ask in. */
static void on_timer(uv_timer_t *timer)
{
	struct child *child = timer->data;

	if (child->is_asked) {
		child->is_asked = false;
		process_end(child->process);
		question_answer(question_take(child), -ETIMEDOUT, NULL, 0);
	}
	child_pump(child);
}

/*
 * The process is of no more use. A question that it was answering is put to a fresh
 * one if this one had answered others: what it died of may be theirs (it ends by
 * itself when it has used much time).
 */
static void child_lose_process(struct child *child)
{
	bool is_used = child->process->n_answered > 0;

	process_end(child->process);
	if (!child->is_asked)
		return;

	child->is_asked = false;
	(void)uv_timer_stop(&child->timer);
	if (is_used && !child->first->is_again) {
		child->first->is_again = true;
	} else {
		question_answer(question_take(child), -EPIPE, NULL, 0);
	}
	child_pump(child);
}

static void on_socket_readable(uv_poll_t *handle, int status, int events)
{
	struct process *p = handle->data;
	struct child *child = p->child;
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;
	ssize_t n;

	(void)events;
	n = status < 0 ? status : fd_receive(p->socket_fd, child->answer, sizeof(child->answer), fds, &n_fds);
	if (n == -EAGAIN)
		return;
	for (size_t i = 0; n >= 0 && i < n_fds; i++)
		(void)close(fds[i]);		   /* nobody asked for one */
	if (n <= 0 || n_fds || !child->is_asked) { /* gone, or not keeping to the conversation */
		child_lose_process(child);
		return;
	}

	child->is_asked = false;
	p->n_answered++;
	(void)uv_timer_stop(&child->timer);
	question_answer(question_take(child), 0, child->answer, (size_t)n);
	child_pump(child);
}

/* Sends the first question, to a fresh process if there is none or it served another owner. */
static int question_send(struct child *child, struct question *q)
{
	int r;

	if (child->process && child->process->n_answered && child->process->owner != q->owner)
		process_end(child->process);
	for (int tries = 0; tries < 2; tries++) { /* one that just ended by itself may not be noticed yet */
		if (!child->process) {
			r = process_start(child, q->owner);
			if (r < 0)
				return log_err(r, "cannot start the %s process", child->role);
		}
		r = fd_send(child->process->socket_fd, q->bytes, q->n, &q->fd, q->fd >= 0);
		if (r == 0)
			return 0;
		process_end(child->process);
	}
	return r;
}

static void child_pump(struct child *child)
{
	while (child->first && !child->is_asked && !child->is_closing) {
		struct question *q = child->first;
		uint64_t limit_ms = (q->limit_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;

		if (question_send(child, q) == 0) {
			child->is_asked = true;
			child->process->owner = q->owner;
			uv_update_time(child->loop); /* starting a process took time that is not the child's */
			(void)uv_timer_start(&child->timer, on_timer, limit_ms, 0); /* fails only on a closing timer */
			return;
		}
		question_answer(question_take(child), -EPIPE, NULL, 0);
	}
}

int child_ask(struct child *child, const void *question, size_t n, int fd, uint32_t owner, uint64_t limit_ns,
	      child_answer_func func, void *data)
{
	CLEANUP(question_freep) struct question *q = NULL;

	if (child->is_closing)
		return -ECANCELED;
	if (n == 0 || n > CHILD_QUESTION_MAX)
		return -EMSGSIZE;
	if (child->n_questions >= CHILD_QUEUE_MAX)
		return -ENOBUFS;

	q = calloc(1, sizeof(*q) + n);
	if (!q)
		return -ENOMEM;
	q->fd = -1;
	q->func = func;
	q->data = data;
	q->owner = owner;
	q->limit_ns = limit_ns;
	q->n = n;
	memcpy(q->bytes, question, n);
	if (fd >= 0) {
		q->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (q->fd < 0)
			return -errno;
	}

	*child->last = q;
	child->last = &q->next;
	child->n_questions++;
	q = NULL; /* the queue's */
	if (child->n_questions == 1)
		(void)uv_timer_start(&child->timer, on_timer, 0, 0);
	return 0;
}

int child_open(uv_loop_t *loop, const char *role, struct child **ret_child)
{
	CLEANUP(freep) struct child *child = calloc(1, sizeof(*child));
	int r;

	if (!child)
		return -ENOMEM;
	r = uv_timer_init(loop, &child->timer);
	if (r < 0)
		return r;

	child->timer.data = child;
	child->loop = loop;
	child->role = role;
	child->last = &child->first;
	*ret_child = TAKE_PTR(child);
	return 0;
}

static void on_child_handle_close(uv_handle_t *handle)
{
	free(handle->data);
}

void child_close(struct child *child)
{
	if (!child || child->is_closing)
		return;
	child->is_closing = true;
	child->is_asked = false;
	if (child->process)
		process_end(child->process);
	while (child->first)
		question_answer(question_take(child), -ECANCELED, NULL, 0);
	uv_close((uv_handle_t *)&child->timer, on_child_handle_close);
}

uint32_t child_pid(const struct child *child)
{
	return child->process ? (uint32_t)child->process->pid : 0;
}
