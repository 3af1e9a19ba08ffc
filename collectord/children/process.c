// SPDX-License-Identifier: Apache-2.0
#include "children/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child_role.h"

#ifdef INGERO_SANITIZED
#define STANDARD_LAST_FD STDOUT_FILENO
#else
#define STANDARD_LAST_FD STDERR_FILENO
#endif

#define ENVIRONMENT_MAX 4

struct child_process {
	process_readable_func func; /* NULL once its end was requested */
	void *data;
	uv_poll_t socket_poll;
	uv_poll_t exit_poll;
	int socket_fd;
	int pid_fd;
	pid_t pid;
	const char *role;
	bool is_reaped; /* reaped: its pid may be reused */
	int n_handles;	/* open loop handles */
};

static struct {
	process_observe_func func;
	void *data;
} observer;

void process_observe(process_observe_func func, void *data)
{
	observer.func = func;
	observer.data = data;
}

static void observe(const struct child_process *p, bool is_running, uint64_t cpu_ns)
{
	const struct process_news news = {
		.pid = (uint32_t)p->pid, .role = p->role, .is_running = is_running, .cpu_ns = cpu_ns
	};

	if (observer.func)
		observer.func(&news, observer.data);
}

static void on_handle_close(uv_handle_t *handle)
{
	struct child_process *p = handle->data;

	assert(p->n_handles);
	if (--p->n_handles)
		return;
	closep(&p->socket_fd);
	closep(&p->pid_fd);
	free(p);
}

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * NSEC_PER_SEC + (uint64_t)t->tv_usec * 1000;
}

static void on_exit_readable(uv_poll_t *handle, int status, int events)
{
	struct child_process *p = handle->data;
	siginfo_t info = { 0 };
	struct rusage used = { 0 };

	(void)status;
	(void)events;
	if (syscall(SYS_waitid, P_PIDFD, p->pid_fd, &info, WEXITED | WNOHANG, &used) == 0 && info.si_pid == 0)
		return; /* not yet: tried again while readable */
	p->is_reaped = true;
	observe(p, false, time_ns(&used.ru_utime) + time_ns(&used.ru_stime));
	/* Its last message may still be in the socket, before the end of file: nothing else to do here. */
	uv_close((uv_handle_t *)&p->exit_poll, on_handle_close);
}

static void on_socket_readable(uv_poll_t *handle, int status, int events)
{
	struct child_process *p = handle->data;

	(void)events;
	p->func(status, p->data);
}

void process_end(struct child_process *p)
{
	p->func = NULL;
	(void)syscall(SYS_pidfd_send_signal, p->pid_fd, SIGKILL, NULL, 0); /* fails only when it has ended already */
	uv_close((uv_handle_t *)&p->socket_poll, on_handle_close);
}

void process_pause(struct child_process *p)
{
	(void)uv_poll_stop(&p->socket_poll); /* cannot fail */
}

int process_resume(struct child_process *p)
{
	return uv_poll_start(&p->socket_poll, UV_READABLE, on_socket_readable);
}

int process_socket(const struct child_process *p)
{
	return p->socket_fd;
}

uint32_t process_pid(const struct child_process *p)
{
	return (uint32_t)p->pid;
}

uint64_t process_cpu_ns(const struct child_process *p)
{
	struct timespec used;
	clockid_t clock;

	if (p->is_reaped || clock_getcpuclockid(p->pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec;
}

void process_be_nice(const struct child_process *p, int nice_value)
{
	if (!p->is_reaped)
		(void)setpriority(PRIO_PROCESS, (id_t)p->pid, nice_value); /* it may have ended meanwhile */
}

/* Adds a started process to the loop. On failure the caller kills and reaps it: it has not done anything yet. */
static int process_watch(struct child_process *p, uv_loop_t *loop)
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
	r = process_resume(p);
	if (r < 0)
		return r;
	return uv_poll_start(&p->exit_poll, UV_READABLE, on_exit_readable);
}

/* Nothing of the environment, which may hold secrets, but how a sanitizer reports. */
static void environment_take(char *env[ENVIRONMENT_MAX + 1])
{
	size_t n = 0;

#ifdef INGERO_SANITIZED
	for (char **variable = environ; *variable && n < ENVIRONMENT_MAX; variable++)
		if (strstr(*variable, "SAN_OPTIONS="))
			env[n++] = *variable;
#endif
	env[n] = NULL;
}

static int process_spawn(const char *role, int socket_fd, pid_t *ret_pid)
{
	char *const argv[] = { (char *)"ingero-collectord", (char *)"--child", (char *)role, NULL };
	char *env[ENVIRONMENT_MAX + 1];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	environment_take(env);
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
	/* A session of its own: the terminal's interrupt key must not reach it. */
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	/*
	 * Until it has made itself untraceable, a process of this user may take its descriptors: they are of whoever
	 * started the daemon. (A sanitizer reports to the last one.)
	 */
	for (int fd = 0; fd <= STANDARD_LAST_FD && r == 0; fd++)
		r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (r == 0)
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

static int messages_send(int socket_fd, const struct process_message *messages, size_t n_messages)
{
	int r = 0;

	for (size_t i = 0; i < n_messages && r == 0; i++)
		r = fd_send(socket_fd, messages[i].bytes, messages[i].n, NULL, 0);
	return r;
}

int process_ask(struct child_process *p, const struct process_message *messages, size_t n_messages,
		process_readable_func func, void *data)
{
	int r = messages_send(p->socket_fd, messages, n_messages);

	if (r < 0)
		return r;
	p->func = func;
	p->data = data;
	return 0;
}

int process_start(uv_loop_t *loop, const char *role, const struct process_message *messages, size_t n_messages,
		  process_readable_func func, void *data, struct child_process **ret_process)
{
	CLEANUP(freep) struct child_process *p = calloc(1, sizeof(*p));
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

	r = messages_send(ours, messages, n_messages);
	if (r < 0)
		return r;
	r = process_spawn(role, theirs, &pid);
	if (r < 0)
		return r;
	pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid_fd < 0) {
		r = -errno;
		process_kill_and_wait(pid);
		return r;
	}

	*p = (struct child_process){
		.socket_fd = ours, .pid_fd = pid_fd, .pid = pid, .role = role, .func = func, .data = data
	};
	r = process_watch(p, loop);
	if (r < 0 && p->n_handles == 0) {
		process_kill_and_wait(pid);
		return r;
	}
	ours = pid_fd = -1; /* owned by the handles now */
	if (r < 0) {	    /* the loop holds part of it: only its close callbacks may free it */
		process_kill_and_wait(pid);
		if (p->n_handles == 2)
			uv_close((uv_handle_t *)&p->exit_poll, on_handle_close);
		uv_close((uv_handle_t *)&p->socket_poll, on_handle_close);
		p = NULL;
		return r;
	}
	observe(p, true, 0);
	*ret_process = TAKE_PTR(p);
	return 0;
}
