// SPDX-License-Identifier: Apache-2.0
/* Waits for a System V semaphore or message queue, and for a POSIX one; writes to a pipe through io_uring. */
#pragma once

/** ipc_open() - @pipe_fd: of the pipe that the writes are for. Return: 0 or -1 */
int ipc_open(int pipe_fd);
void ipc_close(void);
void await_semaphore(void);
void wake_semaphore(void);
void await_message(void);
void wake_message(void);
void await_posix_message(void);
void wake_posix_message(void);
/** wake_pipe_ring() - writes a byte in io_uring_enter(2) */
void wake_pipe_ring(void);
/** wake_pipe_worker() - likewise, by a thread of the kernel's that works for the process */
void wake_pipe_worker(void);
