// SPDX-License-Identifier: Apache-2.0
/* See calls_wide.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "calls_wide.h"

#define WIDE_MAX 9 /* arguments: the most that any of them has */

/* Values that no two arguments share by chance. */
#define LEFT_THERE 0x5eed00a110cull
#define HANDLE 0x5eed0baddull
#define GRID 0x300000005ull
#define BLOCK 2
#define WIDTH 97ull
#define HEIGHT 13ull
#define AREA (WIDTH * HEIGHT)
#define PITCH 128ull
/* of an enum's word only the lower half is the argument */
#define UNCLEAN 0x5eed00000000ull
#define SIZE caller->n_bytes
#define STREAM (uint64_t) caller->stream
#define DEVICE (uint64_t) caller->on_device[0]
#define HOST (uint64_t) caller->on_host
#define KERNEL (uint64_t) calls_wide_find
#define NAME (uint64_t) "cuInit"
/* Of the driver's private tables one that every one of its versions has. */
#define TABLE (uint64_t) "\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc"
#define EXEC_POINTER (uint64_t) & exec
#define EXEC exec
#define GRAPH graph()
#define SIZES sizes()
#define NO_FLAGS                                                                                                       \
	(uint64_t)(uint64_t[4])                                                                                        \
	{                                                                                                              \
		0                                                                                                      \
	}
#define OUT_POINTER                                                                                                    \
	(uint64_t)(uint64_t[4])                                                                                        \
	{                                                                                                              \
		LEFT_THERE                                                                                             \
	}
/*
 * CUDA_MEMCPY2D, 16 words: the type, host address, device address and pitch of the source from its third word on,
 * those of the other end seven words later, then the area. CUDA_MEMCPY3D and its form for peers end with their size.
 */
#define PLAIN(width, height)                                                                                           \
	(uint64_t)(uint64_t[16])                                                                                       \
	{                                                                                                              \
		[2] = 1, [3] = HOST, [6] = (width), [9] = 2, [11] = DEVICE, [13] = (width), [14] = (width), (height)   \
	}
#define VOLUME(width, height, depth)                                                                                   \
	(uint64_t)(uint64_t[25])                                                                                       \
	{                                                                                                              \
		[22] = (width), (height), (depth)                                                                      \
	}
/* cudaMemcpy3DParms: the kind is the last of 20 words */
#define RUNTIME_VOLUME(kind)                                                                                           \
	(uint64_t)(uint64_t[20])                                                                                       \
	{                                                                                                              \
		[16] = WIDTH, HEIGHT, 3, UNCLEAN | (kind)                                                              \
	}
/* cudaMemcpy3DBatchOp: two operands of five words, the extent, two enums in one word */
#define RUNTIME_BATCH                                                                                                  \
	(uint64_t)(uint64_t[14])                                                                                       \
	{                                                                                                              \
		1, HOST, [5] = 1, DEVICE, [10] = WIDTH, HEIGHT, 3, 1                                                   \
	}

typedef int wide_func(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h,
		      uint64_t i);

static uint64_t exec; /* the graph that was made ready last */

void *calls_wide_find(const char *name)
{
	/* what the runtime of this program is too old for, and what programs of one process do without */
	static const char *const more[] = { "libcudart.so.13", "libnccl.so.2" };
	void *function = dlsym(RTLD_DEFAULT, name), *library;

	for (size_t i = 0; !function && i < ARRAY_SIZE(more); i++)
		if ((library = dlopen(more[i], RTLD_NOW)))
			function = dlsym(library, name);
	if (!function) {
		fprintf(stderr, "no library here has '%s'\n", name);
		exit(2);
	}
	return function;
}

static int wide_call(const char *name, const uint64_t a[WIDE_MAX])
{
	wide_func *function = (wide_func *)(uintptr_t)calls_wide_find(name);

	return function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
}

/* An empty one, in the handles of both layers; made by a call that is no operation. */
static uint64_t graph(void)
{
	static uint64_t handle;

	if (!handle)
		(void)wide_call("cuGraphCreate", (const uint64_t[WIDE_MAX]){ (uint64_t)&handle });
	return handle;
}

/* Of the copies of a batch: each another one. */
static uint64_t size_of(uint64_t number)
{
	return number * number + 3;
}

static uint64_t sum_of(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += size_of(i);
	return sum;
}

/* The first of them are summed; one that is read in spite of that shows in the sum. */
static uint64_t sizes(void)
{
	static uint64_t all[4096];

	for (uint64_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = size_of(i);
	return (uint64_t)all;
}

#define WIDE(export, said, ...)                                                                                        \
	int calls_wide_##export(struct caller * caller, struct call_args * args)                                       \
	{                                                                                                              \
		int r = wide_call(#export, (const uint64_t[WIDE_MAX]){ __VA_ARGS__ });                                 \
                                                                                                                       \
		(void)caller;                                                                                          \
		args->said;                                                                                            \
		return r;                                                                                              \
	}
#include "calls_wide.def"
