// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of the calls that boundary.c counts, as the unwinder of GCC tells them, noted before the function is entered.
 *
 *   INGERO_BOUNDARY_STACKS=FILE
 *
 * The file is of 64-bit words (stacks_of.py reads it). Word 0: number of words in use. Then rows, of processes and
 * threads in the order in which they came:
 *
 *   tid | cell << 32          a call; its second word is the hash of its stack
 *   1 << 63 | number of frames    a stack: its hash, and return addresses, innermost first
 */
#include "boundary.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#define FILE_WORDS (1ul << 27) /* a sparse gigabyte */
#define FRAMES_MAX 256u
#define OWN_FRAMES 2u /* the witness, boundary_enter */
#define SEEN 65536u
#define PROBES 8u
#define STACK_ROW (1ul << 63)

static uint64_t *words; /* NULL: not wanted */
static uint64_t seen[SEEN];

struct noted {
	uint64_t frames[FRAMES_MAX + OWN_FRAMES];
	size_t n;
};

bool boundary_stacks_open(void)
{
	const char *path = getenv("INGERO_BOUNDARY_STACKS");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (fd < 0)
		return false;
	if (ftruncate(fd, FILE_WORDS * sizeof(*words)) == 0)
		words = mmap(NULL, FILE_WORDS * sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (!words || words == MAP_FAILED) {
		perror("ingero boundary: no room for stacks");
		_exit(2);
	}
	words[0] = 1;
	return true;
}

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *data)
{
	struct noted *noted = data;
	uint64_t ip = _Unwind_GetIP(context);

	if (ip == 0 || noted->n == FRAMES_MAX + OWN_FRAMES)
		return _URC_END_OF_STACK;
	noted->frames[noted->n++] = ip;
	return _URC_NO_REASON;
}

static uint64_t *row(size_t n)
{
	uint64_t at = __atomic_fetch_add(&words[0], n, __ATOMIC_RELAXED);

	if (at + n > FILE_WORDS) {
		(void)!write(STDERR_FILENO, "ingero boundary: too many stacks\n", 33);
		_exit(2);
	}
	return words + at;
}

/* Of two threads that see it first both may say so. */
static bool is_new(uint64_t hash)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		uint64_t *place = &seen[(hash + i) % SEEN];

		if (*place == hash)
			return false;
		if (*place == 0) {
			*place = hash;
			return true;
		}
	}
	return true;
}

void boundary_witness(uint32_t cell)
{
	struct noted noted = { .n = 0 };
	uint64_t hash = 14695981039346656037ul, *at;

	(void)_Unwind_Backtrace(note, &noted);
	for (size_t i = OWN_FRAMES; i < noted.n; i++)
		hash = (hash ^ noted.frames[i]) * 1099511628211ul;
	if (is_new(hash)) {
		size_t n = noted.n > OWN_FRAMES ? noted.n - OWN_FRAMES : 0;

		at = row(2 + n);
		at[0] = STACK_ROW | n;
		at[1] = hash;
		for (size_t i = 0; i < n; i++)
			at[2 + i] = noted.frames[OWN_FRAMES + i];
	}
	at = row(2);
	at[0] = (uint64_t)syscall(SYS_gettid) | (uint64_t)cell << 32;
	at[1] = hash;
}
