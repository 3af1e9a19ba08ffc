// SPDX-License-Identifier: Apache-2.0
/*
 * The conversation with systemd: sockets it passes, readiness, status line, watchdog.
 *
 * Where nobody supervises, everything here does nothing and costs nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** notify_socket() - the listening socket that came with the start. Return: descriptor, -ENOENT for none, -errno */
int notify_socket(void);
/** notify_is_supervised() - whether somebody wants to hear how we are */
bool notify_is_supervised(void);
/**
 * notify_is_enabled() - whether an administrator has the service started at each boot, and not only by its socket
 * @root_fd: directory below which systemd's are looked for
 */
bool notify_is_enabled(int root_fd);
/** notify_watchdog_ns() - how often a sign of life is wanted at the least; 0: never */
uint64_t notify_watchdog_ns(void);

/** notify_ready() - serving, and with what: one line for `systemctl status` */
void notify_ready(const char *status);
void notify_status(const char *status);
void notify_alive(void);
/** notify_reloading() - the configuration is being read again, until notify_ready() */
void notify_reloading(void);
void notify_stopping(void);

/** notify_start() - before all else: log to the journal with fields, where stderr is the journal's anyway */
void notify_start(void);
