// SPDX-License-Identifier: Apache-2.0
/* Waits for room in a full pipe or socket, and stops by a signal; and what ends each of them. */
#pragma once

/** rooms_open() - a full pipe, a socket, and memory that a child shares. Return: 0 or -1 */
int rooms_open(void);
/** rooms_fd() - descriptor that a function waits for; -1: none of these */
int rooms_fd(void (*await)(void));
void await_full_pipe(void);
void wake_full_pipe(void);
void await_full_socket(void);
void wake_full_socket(void);
/** await_stop() - stops the process until wake_stop() */
void await_stop(void);
void wake_stop(void);
