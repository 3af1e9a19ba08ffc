// SPDX-License-Identifier: Apache-2.0
/*
 * Who is the tracer itself: in no figure and named to nobody, whatever it does. The daemon, its children, and the
 * clients that are installed beside it, as long as they are connected. Everybody else who connects is a process like
 * any other: a connection hides nobody.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tracers;

/** struct tracers_sink - who acts on it: the kernel half */
struct tracers_sink {
	int (*add)(uint32_t pid, void *data);
	int (*remove)(uint32_t pid, void *data);
	void *data;
};

/**
 * tracers_new() - nobody yet
 * @daemon_path: the daemon's own file: its client is `ingero-cli` in the same directory, or in bin beside sbin, if its
 *               owner is root or the daemon's and no more may write it
 * @is_private:  whoever connects is who started this daemon
 *
 * Return: 0 or -ENOMEM
 */
int tracers_new(const char *daemon_path, bool is_private, struct tracers **ret_tracers);
void tracers_free(struct tracers *tracers);
/** tracers_begin() - tell the sink from now on, and of all who are there */
void tracers_begin(struct tracers *tracers, const struct tracers_sink *sink);
/** tracers_child() - the daemon itself, or a process that it has started, begins or has ended */
void tracers_child(struct tracers *tracers, uint32_t pid, bool is_running);
/** tracers_peer() - a connection of this process begins or has ended; each is counted */
void tracers_peer(struct tracers *tracers, uint32_t pid, bool is_connected);
/**
 * tracers_second() - look again; once a second
 * Who is no more what he was when he connected is told to be none. Who has gone stays for a second: a wait that he was
 * the reason of may end after him.
 */
void tracers_second(struct tracers *tracers, uint64_t now_ns);
