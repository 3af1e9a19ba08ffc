// SPDX-License-Identifier: Apache-2.0
/*
 * Who is the tracer itself: in no figure and named to nobody, whatever it does. The daemon, its children, those who
 * close the probes of traces that have ended, and the clients that are installed beside it, as long as they are
 * connected. Everybody else who connects is a process like any other: a connection hides nobody. Clients are also named
 * when others wait behind them for long: which code a client runs depends on its user.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tracers;

/** struct tracers_sink - receives the changes: the kernel half */
struct tracers_sink {
	int (*add)(uint32_t pid, void *data);
	int (*remove)(uint32_t pid, void *data);
	/* How long others have waited behind it since it was added, nanoseconds; NULL: not known. Return: 0 or -errno
	 */
	int (*hidden)(uint32_t pid, uint64_t *ret_ns, void *data);
	void *data;
};

/**
 * tracers_new() - create an empty list
 * @daemon_path: the daemon's own file. Its client is `ingero-cli` in the same directory, or in bin beside sbin, if root
 *               or the daemon's user owns it and no other user may write it
 * @is_private:  every client is the process that started this daemon
 *
 * Return: 0 or -ENOMEM
 */
int tracers_new(const char *daemon_path, bool is_private, struct tracers **ret_tracers);
void tracers_free(struct tracers *tracers);
/** tracers_begin() - tell the sink from now on, and of all who are there; closers of earlier daemons are looked for */
void tracers_begin(struct tracers *tracers, const struct tracers_sink *sink);
/** tracers_child() - the daemon itself, or a process that it has started, begins or has ended */
void tracers_child(struct tracers *tracers, uint32_t pid, bool is_running);
/** tracers_closer() - a process has started that closes probes of ours; its end is found out (tracers_second()) */
void tracers_closer(struct tracers *tracers, uint32_t pid, uint32_t n_probes);
/** tracers_closing() - probes that are still to be closed, those of earlier daemons among them */
uint32_t tracers_closing(const struct tracers *tracers);
/**
 * tracers_connected() - a connection of this process begins
 * tracers_disconnected() - one of its connections has ended
 * @uid: user of the client: time that others wait behind it is charged to this user
 */
void tracers_connected(struct tracers *tracers, uint32_t pid, uint32_t uid);
void tracers_disconnected(struct tracers *tracers, uint32_t pid);
/**
 * tracers_second() - check again; once a second
 * A process that has changed since it connected is reported as none of ours. A process that has ended stays for a
 * second: a wait behind it may end after it. While others have waited for too long behind the clients of a user, all
 * clients of that user are none of ours, however many come.
 */
void tracers_second(struct tracers *tracers, uint64_t now_ns);
