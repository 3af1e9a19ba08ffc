// SPDX-License-Identifier: Apache-2.0
#include "ipc.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <stdint.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUE_NAME "/ingero-ipc"

struct message {
	long type;
	char text[1];
};

static int semaphore = -1, queue = -1, write_fd = -1;
static mqd_t posix_queue = -1;

int ipc_open(int pipe_fd)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 1 };

	write_fd = pipe_fd;
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	posix_queue = mq_open(QUEUE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attr);
	(void)mq_unlink(QUEUE_NAME);
	/* Another user wakes. */
	return semaphore < 0 || queue < 0 || posix_queue < 0 ||
			       semctl(semaphore, 0, IPC_SET, &(struct semid_ds){ .sem_perm.mode = 0666 }) < 0 ||
			       msgctl(queue, IPC_SET, &(struct msqid_ds){ .msg_perm.mode = 0666, .msg_qbytes = 1024 }) <
				       0
		       ? -1
		       : 0;
}

void ipc_close(void)
{
	(void)semctl(semaphore, 0, IPC_RMID);
	(void)msgctl(queue, IPC_RMID, NULL);
	(void)mq_close(posix_queue);
}

static void semaphore_add(short value)
{
	struct sembuf operation = { .sem_op = value };

	if (semop(semaphore, &operation, 1) < 0)
		_exit(2);
}

void await_semaphore(void)
{
	semaphore_add(-1);
}

void wake_semaphore(void)
{
	semaphore_add(1);
}

void await_message(void)
{
	struct message message;

	if (msgrcv(queue, &message, sizeof(message.text), 0, 0) < 0)
		_exit(2);
}

void wake_message(void)
{
	const struct message message = { .type = 1 };

	if (msgsnd(queue, &message, sizeof(message.text), 0) < 0)
		_exit(2);
}

void await_posix_message(void)
{
	char text[1];

	if (mq_receive(posix_queue, text, sizeof(text), NULL) < 0)
		_exit(2);
}

void wake_posix_message(void)
{
	if (mq_send(posix_queue, "", 1, 0) < 0)
		_exit(2);
}

static void ring_write(uint8_t flags)
{
	struct io_uring_params params = {};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	struct io_uring_sqe *entry;
	uint32_t *tail;
	char *ring;

	if (fd < 0)
		_exit(2);
	ring = mmap(NULL, params.sq_off.array + sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    IORING_OFF_SQ_RING);
	entry = mmap(NULL, sizeof(*entry), PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)IORING_OFF_SQES);
	if (ring == MAP_FAILED || entry == MAP_FAILED)
		_exit(2);
	*entry = (struct io_uring_sqe){
		.opcode = IORING_OP_WRITE, .flags = flags, .fd = write_fd, .addr = (uintptr_t) "", .len = 1
	};
	tail = (uint32_t *)(void *)(ring + params.sq_off.tail);
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		_exit(2);
	(void)munmap(ring, params.sq_off.array + sizeof(uint32_t));
	(void)munmap(entry, sizeof(*entry));
	(void)close(fd);
}

void wake_pipe_ring(void)
{
	ring_write(0);
}

void wake_pipe_worker(void)
{
	ring_write(IOSQE_ASYNC);
}
