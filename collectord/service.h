// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon as a service of the machine: ready, alive, idle, told to read its configuration again.
 *
 * Three clocks that the daemon itself does not know of: the sign of life that a supervisor
 * wants, the status line, and how long nobody has asked for anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct service_events {
	bool (*is_idle)(void *data); /* whether there is nothing to stay for */
	void (*admit)(void *data);   /* let in who waits at the socket; asked once more before leaving */
	void (*leave)(void *data);   /* nobody came for idle_ns */
	void (*reload)(void *data);  /* read the configuration again */
	/* One line about what is going on, for `systemctl status`. */
	void (*describe)(char *text, size_t bytes, void *data);
};

struct service {
	struct service_events events;
	void *data;
	uint64_t idle_ns; /* 0: stays for ever */
	char status[256]; /* as last told */
	bool is_watched;  /* a watchdog wants signs of life */
	uv_timer_t idle_timer;
	uv_timer_t alive_timer;
	uv_signal_t reload_signal;
};

/** service_start() - on the loop, which holds parts of it until it has run after service_stop(). Return: 0 or -errno */
int service_start(uv_loop_t *loop, const struct service_events *events, void *data, struct service *service);
/** service_ready() - serving from now on; the time to leave counts from here */
void service_ready(struct service *service);
/** service_idle_after() - leave when nobody came for so long; 0: never */
void service_idle_after(struct service *service, uint64_t idle_ns);
/** service_changed() - somebody came or went */
void service_changed(struct service *service);
void service_stop(struct service *service);
