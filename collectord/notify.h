// SPDX-License-Identifier: Apache-2.0
/*
 * Communication with systemd: passed sockets, readiness, status line, watchdog.
 *
 * Without a supervisor, everything here does nothing and costs nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** notify_socket() - the listening socket passed at the start. Return: descriptor, -ENOENT for none, -errno */
int notify_socket(void);
/** notify_is_supervised() - whether a supervisor waits for reports */
bool notify_is_supervised(void);
/**
 * notify_is_enabled() - whether an administrator has enabled the service at boot, and not only its socket
 * @root_fd: root directory of systemd's directories
 */
bool notify_is_enabled(int root_fd);
/** notify_watchdog_ns() - maximum interval between reports to the watchdog; 0: no watchdog */
uint64_t notify_watchdog_ns(void);

/** notify_ready() - report readiness, with one line for `systemctl status` */
void notify_ready(const char *status);
void notify_status(const char *status);
void notify_alive(void);
/**
 * notify_slow() - make the watchdog wait longer, or as long as before, for the next report
 * @is_slow: whether the loop will stand still for as long as a slow machine needs for that work
 */
void notify_slow(bool is_slow);
/** notify_reloading() - report that the configuration is being read again, until notify_ready() */
void notify_reloading(void);
void notify_stopping(void);

/** notify_start() - first of all: log to the journal with fields, if stderr is the journal */
void notify_start(void);
