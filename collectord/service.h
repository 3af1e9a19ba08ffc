// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon as a service of the machine: ready, alive, idle, reload.
 *
 * Three timers that the daemon itself does not have: the watchdog report, the status line, and the idle time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct service_events {
	bool (*is_idle)(void *data); /* whether nothing requires it to stay */
	void (*admit)(void *data);   /* accept clients that wait at the socket; called once more before the exit */
	void (*leave)(void *data);   /* no client for idle_ns */
	void (*reload)(void *data);  /* read the configuration again */
	/* One line about the current state, for `systemctl status`. */
	void (*describe)(char *text, size_t bytes, void *data);
};

struct service {
	struct service_events events;
	void *data;
	uint64_t idle_ns; /* 0: stays for ever */
	char status[256]; /* last status line */
	bool is_watched;  /* a watchdog expects reports */
	uv_timer_t idle_timer;
	uv_timer_t alive_timer;
	uv_signal_t reload_signal;
};

/** service_start() - start on the loop, which uses it until it has run after service_stop(). Return: 0 or -errno */
int service_start(uv_loop_t *loop, const struct service_events *events, void *data, struct service *service);
/** service_ready() - serving from now on; the idle time starts here */
void service_ready(struct service *service);
/** service_idle_after() - exit after this time without clients; 0: never */
void service_idle_after(struct service *service, uint64_t idle_ns);
/** service_changed() - a client connected or disconnected */
void service_changed(struct service *service);
void service_stop(struct service *service);
