// SPDX-License-Identifier: Apache-2.0
/*
 * Locks of a file that one thread has and another one waits for, of each kind. The two know of each other by a pipe.
 */
#pragma once

#define FILE_LOCK_NAME "wakers.lock"

struct file_lock {
	void (*take)(void);
	void (*give)(void);
	void (*await)(void); /* the other one: takes it and gives it back */
};

extern const struct file_lock file_lock_flock;
extern const struct file_lock file_lock_closed; /* likewise, but given back with the open file */
extern const struct file_lock file_lock_record; /* of fcntl(2): one process does not wait for itself */
extern const struct file_lock file_lock_open_file;

/** file_locks_open() - the file, in the working directory. Return: 0 or -1 */
int file_locks_open(void);
void file_locks_close(void);
/** file_locks_fd() - descriptor that `await` waits with */
int file_locks_fd(void);
/** file_lock_take() - and tell who waits in file_lock_await_taken() */
void file_lock_take(const struct file_lock *lock);
void file_lock_await_taken(void);
