// SPDX-License-Identifier: Apache-2.0
#include "file_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static int taken[2], mine = -1, other = -1; /* open files of who has the lock, and of who waits for it */

static void must(int r)
{
	if (r < 0)
		_exit(2);
}

static int file_open(void)
{
	return open(FILE_LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int record_lock(int fd, int command, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	return fcntl(fd, command, &lock);
}

static void flock_take(void)
{
	must(flock(mine, LOCK_EX));
}

static void flock_give(void)
{
	must(flock(mine, LOCK_UN));
}

static void flock_await(void)
{
	must(flock(other, LOCK_EX));
	must(flock(other, LOCK_UN));
}

/* Of this process alone: the one that forked it has the first one open, too. */
static void fresh_take(void)
{
	int fd = file_open();

	must(fd);
	must(dup3(fd, mine, O_CLOEXEC));
	(void)close(fd);
	must(flock(mine, LOCK_EX));
}

static void fresh_give(void)
{
	must(dup3(taken[0], mine, O_CLOEXEC));
}

static void record_take(void)
{
	must(record_lock(mine, F_SETLKW, F_WRLCK));
}

static void record_give(void)
{
	must(record_lock(mine, F_SETLK, F_UNLCK));
}

static void record_await(void)
{
	must(record_lock(other, F_SETLKW, F_WRLCK));
	must(record_lock(other, F_SETLK, F_UNLCK));
}

static void open_file_take(void)
{
	must(record_lock(mine, F_OFD_SETLKW, F_WRLCK));
}

static void open_file_give(void)
{
	must(record_lock(mine, F_OFD_SETLK, F_UNLCK));
}

static void open_file_await(void)
{
	must(record_lock(other, F_OFD_SETLKW, F_WRLCK));
	must(record_lock(other, F_OFD_SETLK, F_UNLCK));
}

const struct file_lock file_lock_flock = { flock_take, flock_give, flock_await };
const struct file_lock file_lock_closed = { fresh_take, fresh_give, flock_await };
const struct file_lock file_lock_record = { record_take, record_give, record_await };
const struct file_lock file_lock_open_file = { open_file_take, open_file_give, open_file_await };

int file_locks_open(void)
{
	mine = file_open();
	other = file_open();
	return mine < 0 || other < 0 ? -1 : pipe2(taken, O_CLOEXEC);
}

void file_locks_close(void)
{
	(void)close(mine);
	(void)close(other);
	(void)unlink(FILE_LOCK_NAME);
}

int file_locks_fd(void)
{
	return other;
}

void file_lock_take(const struct file_lock *lock)
{
	lock->take();
	must(write(taken[1], "", 1) == 1 ? 0 : -1);
}

void file_lock_await_taken(void)
{
	char byte;

	must(read(taken[0], &byte, 1) == 1 ? 0 : -1);
}
