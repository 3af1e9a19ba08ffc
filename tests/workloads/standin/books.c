// SPDX-License-Identifier: Apache-2.0
/*
 * See books.h. Everything here runs at the first call of a thread or not at all;
 * the counting itself is two instructions in heads.h and two lines in hooks.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "books.h"
#include "standin.h"
#include "standin_names.h"

#define PAGE 4096u
#define ROUND_UP(n) (((n) + PAGE - 1) / PAGE * PAGE)
#define GENERATIONS_MAX 100000u

static const struct {
	const char *library;
	const char *name;
} functions[] = {
#define NAME(library_, name_) { library_, name_ },
	STANDIN_NAMES(NAME)
#undef NAME
};
_Static_assert(sizeof(functions) / sizeof(functions[0]) == STANDIN_N_FUNCTIONS, "every function has a number");

#define BLOCK_BYTES ROUND_UP(sizeof(struct books_block) + STANDIN_N_FUNCTIONS * sizeof(struct books_cell))

enum { BOOKS_CLOSED, BOOKS_OPENING, BOOKS_OPEN };

static struct {
	int state; /* above; atomic */
	int fd;	   /* -1: in memory only */
	int pid;
	struct books_header *header; /* mapped; NULL in memory only */
	struct books_block *first;   /* atomic */
} books = { .fd = -1 };

__thread struct books_cell *standin_cells;

/* A stand-in that cannot keep its books is of no use as truth. */
static void give_up(const char *what, const char *path)
{
	fprintf(stderr, "ingero stand-in: cannot %s '%s': %s; the books would not be exact, so the program ends\n",
		what, path, strerror(errno));
	abort();
}

static size_t names_bytes(void)
{
	size_t n = 0;

	for (unsigned int i = 0; i < STANDIN_N_FUNCTIONS; i++)
		n += strlen(functions[i].library) + 1 + strlen(functions[i].name) + 1;
	return n;
}

/*
 * A new file under the first free generation. The exclusive create is what makes
 * an exec start another book and a reused process id not spoil an old one.
 */
static int open_file(const char *prefix, int pid, uint32_t *ret_generation, char *path, size_t room)
{
	for (uint32_t generation = 0; generation < GENERATIONS_MAX; generation++) {
		int fd;

		snprintf(path, room, "%s.%d.%u", prefix, pid, generation);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0) {
			*ret_generation = generation;
			return fd;
		}
		if (errno != EEXIST)
			break;
	}
	give_up("make", path);
	return -1;
}

static int make_file(const char *prefix, int pid, struct books_header **ret_header)
{
	size_t n_names = names_bytes(), first_block = ROUND_UP(sizeof(struct books_header) + n_names);
	struct books_header *header;
	uint32_t generation = 0;
	char path[PATH_MAX];
	char *names;
	int fd;

	fd = open_file(prefix, pid, &generation, path, sizeof(path));
	if (ftruncate(fd, (off_t)first_block) < 0)
		give_up("size", path);

	header = mmap(NULL, first_block, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		give_up("map", path);

	names = (char *)(header + 1);
	for (unsigned int i = 0; i < STANDIN_N_FUNCTIONS; i++) {
		names = stpcpy(names, functions[i].library) + 1;
		names = stpcpy(names, functions[i].name) + 1;
	}
	header->n_functions = STANDIN_N_FUNCTIONS;
	header->stride = BLOCK_BYTES;
	header->names_offset = sizeof(*header);
	header->names_bytes = (uint32_t)n_names;
	header->first_block = (uint32_t)first_block;
	header->pid = pid;
	header->generation = generation;
	header->start_ns = standin_now_ns();
	(void)prctl(PR_GET_NAME, header->comm);
	/* last: a reader that sees the magic sees the rest */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(header->magic, BOOKS_MAGIC, sizeof(header->magic));
	*ret_header = header;
	return fd;
}

static struct books_block *make_block(int fd, struct books_header *header)
{
	struct books_block *block;
	off_t at = 0;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (fd >= 0) {
		uint32_t i = __atomic_fetch_add(&header->n_blocks, 1, __ATOMIC_RELAXED);

		flags = MAP_SHARED;
		at = (off_t)header->first_block + (off_t)i * BLOCK_BYTES;
		/* a write of the last byte grows the file and, unlike ftruncate, never shrinks it under another thread
		 */
		if (pwrite(fd, "", 1, at + BLOCK_BYTES - 1) != 1)
			give_up("grow", "the books");
	}
	block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, flags, fd, at);
	if (block == MAP_FAILED)
		give_up("map", "the books");
	block->start_ns = standin_now_ns();
	block->tid = (uint32_t)gettid();
	return block;
}

static void open_once(void)
{
	const char *prefix = getenv("INGERO_STANDIN_BOOKS");

	while (__atomic_load_n(&books.state, __ATOMIC_ACQUIRE) != BOOKS_OPEN) {
		int expected = BOOKS_CLOSED;

		if (!__atomic_compare_exchange_n(&books.state, &expected, BOOKS_OPENING, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED)) {
			sched_yield(); /* another thread is at it, with signals blocked */
			continue;
		}
		books.pid = getpid();
		books.fd = prefix && *prefix ? make_file(prefix, books.pid, &books.header) : -1;
		__atomic_store_n(&books.state, BOOKS_OPEN, __ATOMIC_RELEASE);
	}
}

struct books_block *books_thread(void)
{
	struct books_block *block;
	sigset_t all, before;
	int saved_errno = errno, cancel;

	/* neither a handler that calls us again nor a cancel at open(2) may come between */
	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_sigmask(SIG_SETMASK, &all, &before);

	if (standin_cells) {
		block = (struct books_block *)((char *)standin_cells - offsetof(struct books_block, cells));
	} else {
		open_once();
		block = make_block(books.fd, books.header);
		block->next = __atomic_load_n(&books.first, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&books.first, &block->next, block, 0, __ATOMIC_RELEASE,
						    __ATOMIC_RELAXED))
			;
		standin_cells = block->cells;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancel, NULL);
	errno = saved_errno;
	return block;
}

struct books_block *books_first(void)
{
	return __atomic_load_n(&books.first, __ATOMIC_ACQUIRE);
}

int books_of_child(unsigned int number, int is_return)
{
	const char *prefix = getenv("INGERO_STANDIN_BOOKS");
	struct books_header *header;
	struct books_block *block;
	int fd, pid = getpid();

	if (books.state != BOOKS_OPEN || pid == books.pid)
		return 0;
	if (!prefix || !*prefix)
		return 1; /* in memory only, and that memory is the parent's */

	/* one file for each event: slow, but it leaves nothing in the memory that the parent goes on with */
	fd = make_file(prefix, pid, &header);
	block = make_block(fd, header);
	if (is_return)
		block->cells[number].returns++;
	else
		block->cells[number].entries++;
	(void)munmap(block, BLOCK_BYTES);
	(void)munmap(header, header->first_block);
	(void)close(fd);
	return 1;
}

const char *books_name(unsigned int number)
{
	return number < STANDIN_N_FUNCTIONS ? functions[number].name : NULL;
}

const char *books_library(unsigned int number)
{
	return number < STANDIN_N_FUNCTIONS ? functions[number].library : NULL;
}

/* A forked child keeps books of its own; the parent's mappings stay, unused. */
static void in_child(void)
{
	if (books.fd >= 0)
		(void)close(books.fd);
	books.fd = -1;
	books.header = NULL;
	books.first = NULL;
	books.state = BOOKS_CLOSED;
	standin_cells = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, in_child);
}
