// SPDX-License-Identifier: Apache-2.0
/*
 * Calls a CUDA runtime a known number of times: program [FILE], where FILE is opened at
 * run time instead of what was linked; with FOREIGN_WAIT set it prints "ready" and waits
 * for a line before the first call.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct dim3 {
	unsigned x, y, z;
};

static int (*memory_alloc)(void **, unsigned long);
static int (*memory_free)(void *);
static int (*launch)(const void *, struct dim3, struct dim3, void **, unsigned long, void *);
static int (*copy)(void *, const void *, unsigned long, int, void *);
static int (*synchronize)(void *);

static void *need(void *library, const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return p;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : RTLD_DEFAULT;
	struct dim3 one = { 1, 1, 1 };
	void *address;

	if (argc > 1 && !library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&memory_alloc = need(library, "cudaMalloc");
	*(void **)&memory_free = need(library, "cudaFree");
	*(void **)&launch = need(library, "cudaLaunchKernel");
	*(void **)&copy = need(library, "cudaMemcpyAsync");
	*(void **)&synchronize = need(library, "cudaStreamSynchronize");
	if (getenv("FOREIGN_WAIT")) {
		puts("ready");
		fflush(stdout);
		(void)getchar();
	}
	for (unsigned long i = 0; i < 101; i++) {
		(void)memory_alloc(&address, i);
		for (int k = 0; k < 11; k++)
			(void)launch((void *)main, one, one, 0, 0, 0);
		(void)copy(address, address, 7, 1, 0);
		(void)synchronize(0);
		(void)memory_free(address);
	}
	return 3;
}
