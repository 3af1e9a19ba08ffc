// SPDX-License-Identifier: Apache-2.0
#include "callers_loop.h"

#include <execinfo.h>
#include <stdlib.h>
#include <time.h>

#include "cuda_calls.h"
#include "tests/support/whole.h"

#define EXPORTED __attribute__((visibility("default")))
#define NOINLINE WHOLE
#define STAYS() __asm__ volatile("" ::: "memory")
#define FRAMES_MAX 1024
#define CHUNKS_MAX 1024u

static unsigned int descend(unsigned int depth, unsigned int path);

/* Two functions that differ in their addresses alone: each bit of a path says which of them is next. */
static NOINLINE unsigned int left(unsigned int depth, unsigned int path)
{
	unsigned int r = descend(depth, path);

	STAYS();
	return r + 1;
}

static NOINLINE unsigned int right(unsigned int depth, unsigned int path)
{
	unsigned int r = descend(depth, path);

	STAYS();
	return r + 2;
}

static inline __attribute__((always_inline)) unsigned int descend(unsigned int depth, unsigned int path)
{
	if (depth == 0)
		return (unsigned int)cuCtxSynchronize();
	return path & 1 ? right(depth - 1, path >> 1) : left(depth - 1, path >> 1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

EXPORTED double callers_loop(unsigned int depth, unsigned int paths, unsigned int calls, unsigned int chunks)
{
	double ns[CHUNKS_MAX];
	/* for whoever reads what is recorded */
	static const struct timespec rest = { 0, 10000000 };
	unsigned int path = 0, n = chunks < CHUNKS_MAX ? chunks : CHUNKS_MAX;

	/* the libraries are ready, and every stack was seen */
	(void)cudaFree(NULL);
	for (unsigned int i = 0; i < 2 * paths; i++) {
		(void)left(depth ? depth - 1 : 0, i % paths);
		if (i % 512 == 511)
			(void)nanosleep(&rest, NULL);
	}
	for (unsigned int i = 0; i < n; i++) {
		double begin = now_ns();

		for (unsigned int k = 0; k < calls; k++) {
			(void)left(depth ? depth - 1 : 0, path);
			path = path + 1 < paths ? path + 1 : 0;
		}
		ns[i] = (now_ns() - begin) / calls;
		(void)nanosleep(&rest, NULL);
	}
	qsort(ns, n, sizeof(ns[0]), compare);
	return n ? ns[n / 2] : 0;
}

EXPORTED int callers_loop_frames(void)
{
	void *frames[FRAMES_MAX];

	return backtrace(frames, FRAMES_MAX);
}
