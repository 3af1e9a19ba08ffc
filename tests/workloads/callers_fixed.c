// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is linked at a fixed address: makes a call and becomes the other of two programs, which has other
 * functions at the same addresses.
 *
 *   callers-fixed-one|-two REPORT N    N: programs that are to follow
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "callers.h"

#define PATH_BYTES 512
#define REST_NS 30000000 /* in which a tracer may learn of mappings */
#define NUMBERS 100000u	 /* of calls of one image; the parent process has the first ones */

#ifdef CALLERS_TWO
#define OTHER "one"
static CALLERS_NOINLINE int two_inner(int a)
{
	char room[700];

	memset(room, a, sizeof(room));
	CALLERS_CALL();
	__asm__ volatile("" ::"r"(room) : "memory");
	return a;
}

static CALLERS_NOINLINE void make(void)
{
	(void)two_inner(1);
	CALLERS_STAYS();
}
#else
#define OTHER "two"
static CALLERS_NOINLINE void one_inner(void)
{
	CALLERS_CALL();
	CALLERS_STAYS();
}

static CALLERS_NOINLINE void one_middle(int *number)
{
	one_inner();
	*number = 2;
	CALLERS_STAYS();
}

static CALLERS_NOINLINE void make(void)
{
	int number = 1;

	one_middle(&number);
	CALLERS_STAYS();
}
#endif

int main(int argc, char **argv)
{
	static const struct timespec rest = { 0, REST_NS };
	char path[PATH_BYTES], left[16];
	int n;

	if (argc != 3) {
		fprintf(stderr, "usage: callers-fixed-one REPORT N\n");
		return 2;
	}
	callers_open(argv[1], false);
	callers_shape("exec", CALLERS_EITHER, 0);
	n = atoi(argv[2]);
	callers_number(NUMBERS * (unsigned int)(n + 1));
	make();
	(void)nanosleep(&rest, NULL);
	make();
	if (n > 0) {
		(void)snprintf(path, sizeof(path), "%s/callers-fixed-" OTHER, callers_place());
		(void)snprintf(left, sizeof(left), "%d", n - 1);
		(void)execl(path, path, argv[1], left, NULL);
		perror(path);
		return 1;
	}
	return callers_end();
}
