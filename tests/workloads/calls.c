// SPDX-License-Identifier: Apache-2.0
/*
 * See calls.h. Built twice: linked against the libraries by soname, and with
 * CALLS_DLOPEN, which opens them when asked.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "calls.h"

#define RUNTIME_FUNCTIONS(X)                                                                                           \
	X(cudaMalloc)                                                                                                  \
	X(cudaFree)                                                                                                    \
	X(cudaLaunchKernel)                                                                                            \
	X(cudaLaunchKernel_ptsz)                                                                                       \
	X(__cudaLaunchKernel)                                                                                          \
	X(cudaMemcpyAsync)                                                                                             \
	X(cudaMemcpyAsync_ptsz)                                                                                        \
	X(cudaStreamCreate)                                                                                            \
	X(cudaStreamSynchronize)                                                                                       \
	X(cudaStreamSynchronize_ptsz)                                                                                  \
	X(cudaDeviceSynchronize)

#define DRIVER_FUNCTIONS(X)                                                                                            \
	X(cuMemAlloc_v2)                                                                                               \
	X(cuMemFree_v2)                                                                                                \
	X(cuMemcpyAsync)                                                                                               \
	X(cuMemcpyAsync_ptsz)                                                                                          \
	X(cuMemcpyHtoDAsync_v2)                                                                                        \
	X(cuMemcpyHtoDAsync_v2_ptsz)                                                                                   \
	X(cuMemcpyDtoHAsync_v2)                                                                                        \
	X(cuMemcpyDtoHAsync_v2_ptsz)                                                                                   \
	X(cuMemcpyDtoDAsync_v2)                                                                                        \
	X(cuMemcpyDtoDAsync_v2_ptsz)                                                                                   \
	X(cuLaunchKernel)                                                                                              \
	X(cuLaunchKernel_ptsz)                                                                                         \
	X(cuStreamSynchronize)                                                                                         \
	X(cuStreamSynchronize_ptsz)

#define MEMBER(name) __typeof__(name) *name##_;
static struct {
	RUNTIME_FUNCTIONS(MEMBER)
	DRIVER_FUNCTIONS(MEMBER)
} api;

/* Its address names a kernel; nobody runs it. */
static void kernel(void)
{
}

static const dim3 grid = { 7, 5, 3 }, block = { 32, 4, 2 };

/* Runtime */

static int make_malloc(struct caller *caller, struct call_args *args)
{
	void *ptr = NULL;
	int r;

	r = api.cudaMalloc_(&ptr, caller->n_bytes);
	args->bytes = caller->n_bytes;
	args->pointer = (uint64_t)ptr;
	if (r == 0)
		caller->pool[caller->n_pool++] = ptr;
	return r;
}

static int make_free(struct caller *caller, struct call_args *args)
{
	void *ptr = caller->n_pool ? caller->pool[--caller->n_pool] : NULL;

	args->pointer = (uint64_t)ptr;
	return api.cudaFree_(ptr);
}

static int make_launch(struct caller *caller, struct call_args *args)
{
	args->function = (uint64_t)kernel;
	return api.cudaLaunchKernel_((const void *)kernel, grid, block, NULL, 0, caller->stream);
}

static int make_launch_ptsz(struct caller *caller, struct call_args *args)
{
	args->function = (uint64_t)kernel;
	return api.cudaLaunchKernel_ptsz_((const void *)kernel, grid, block, NULL, 0, caller->stream);
}

static int make_launch_alias(struct caller *caller, struct call_args *args)
{
	args->function = (uint64_t)kernel;
	return api.__cudaLaunchKernel_((const void *)kernel, grid, block, NULL, 0, caller->stream);
}

static int make_memcpy(struct caller *caller, struct call_args *args)
{
	args->bytes = caller->n_bytes;
	args->copy_kind = cudaMemcpyHostToDevice;
	return api.cudaMemcpyAsync_(caller->on_device[0], caller->on_host, caller->n_bytes, cudaMemcpyHostToDevice,
				    caller->stream);
}

static int make_memcpy_ptsz(struct caller *caller, struct call_args *args)
{
	args->bytes = caller->n_bytes;
	args->copy_kind = cudaMemcpyDeviceToHost;
	return api.cudaMemcpyAsync_ptsz_(caller->on_host, caller->on_device[0], caller->n_bytes, cudaMemcpyDeviceToHost,
					 caller->stream);
}

static int make_memcpy_on_device(struct caller *caller, struct call_args *args)
{
	args->bytes = caller->n_bytes;
	args->copy_kind = cudaMemcpyDeviceToDevice;
	return api.cudaMemcpyAsync_(caller->on_device[1], caller->on_device[0], caller->n_bytes,
				    cudaMemcpyDeviceToDevice, caller->stream);
}

static int make_memcpy_default(struct caller *caller, struct call_args *args)
{
	args->bytes = caller->n_bytes;
	args->copy_kind = cudaMemcpyDefault;
	return api.cudaMemcpyAsync_(caller->on_device[1], caller->on_host, caller->n_bytes, cudaMemcpyDefault,
				    caller->stream);
}

static int make_sync(struct caller *caller, struct call_args *args)
{
	args->stream = (uint64_t)caller->stream;
	return api.cudaStreamSynchronize_(caller->stream);
}

static int make_sync_ptsz(struct caller *caller, struct call_args *args)
{
	args->stream = (uint64_t)caller->stream;
	return api.cudaStreamSynchronize_ptsz_(caller->stream);
}

static int make_device_sync(struct caller *caller, struct call_args *args)
{
	(void)caller, (void)args;
	return api.cudaDeviceSynchronize_();
}

/* Driver, called straight */

static int make_driver_alloc(struct caller *caller, struct call_args *args)
{
	CUdeviceptr ptr = 0;
	int r;

	r = api.cuMemAlloc_v2_(&ptr, caller->n_bytes);
	args->bytes = caller->n_bytes;
	args->pointer = ptr;
	if (r == 0)
		caller->pool[caller->n_pool++] = (void *)ptr;
	return r;
}

static int make_driver_free(struct caller *caller, struct call_args *args)
{
	CUdeviceptr ptr = caller->n_pool ? (CUdeviceptr)caller->pool[--caller->n_pool] : 0;

	args->pointer = ptr;
	return api.cuMemFree_v2_(ptr);
}

static int make_driver_launch(struct caller *caller, struct call_args *args)
{
	args->function = (uint64_t)kernel;
	return api.cuLaunchKernel_((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0,
				   caller->stream, NULL, NULL);
}

static int make_driver_launch_ptsz(struct caller *caller, struct call_args *args)
{
	args->function = (uint64_t)kernel;
	return api.cuLaunchKernel_ptsz_((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0,
					caller->stream, NULL, NULL);
}

/* Driver copies differ in name and in the types of both ends alone. */
#define DRIVER_COPY(suffix, to_type, to, from_type, from)                                                              \
	static int make_##suffix(struct caller *caller, struct call_args *args)                                        \
	{                                                                                                              \
		args->bytes = caller->n_bytes;                                                                         \
		args->stream = (uint64_t)caller->stream;                                                               \
		return api.suffix##_((to_type)caller->to, (from_type)caller->from, caller->n_bytes, caller->stream);   \
	}

DRIVER_COPY(cuMemcpyAsync, CUdeviceptr, on_device[0], CUdeviceptr, on_host)
DRIVER_COPY(cuMemcpyAsync_ptsz, CUdeviceptr, on_device[0], CUdeviceptr, on_host)
DRIVER_COPY(cuMemcpyHtoDAsync_v2, CUdeviceptr, on_device[0], void *, on_host)
DRIVER_COPY(cuMemcpyHtoDAsync_v2_ptsz, CUdeviceptr, on_device[0], void *, on_host)
DRIVER_COPY(cuMemcpyDtoHAsync_v2, void *, on_host, CUdeviceptr, on_device[0])
DRIVER_COPY(cuMemcpyDtoHAsync_v2_ptsz, void *, on_host, CUdeviceptr, on_device[0])
DRIVER_COPY(cuMemcpyDtoDAsync_v2, CUdeviceptr, on_device[1], CUdeviceptr, on_device[0])
DRIVER_COPY(cuMemcpyDtoDAsync_v2_ptsz, CUdeviceptr, on_device[1], CUdeviceptr, on_device[0])

static int make_driver_sync(struct caller *caller, struct call_args *args)
{
	args->stream = (uint64_t)caller->stream;
	return api.cuStreamSynchronize_(caller->stream);
}

static int make_driver_sync_ptsz(struct caller *caller, struct call_args *args)
{
	args->stream = (uint64_t)caller->stream;
	return api.cuStreamSynchronize_ptsz_(caller->stream);
}

const struct call *calls_next(const struct call *wanted, const struct caller *caller)
{
	return wanted->undo && caller->n_pool == CALLS_POOL ? calls_find(wanted->undo) : wanted;
}

const struct call *calls_find(const char *name)
{
	for (size_t i = 0; i < n_calls; i++) {
		if (strcmp(calls[i].name, name) == 0 || (calls[i].word && strcmp(calls[i].word, name) == 0))
			return &calls[i];
	}
	return NULL;
}

#ifdef CALLS_DLOPEN
static const char *load(const char *file, const char *const names[], void **const at[], size_t n)
{
	static char message[256];
	/* global, so that a stand-in's controls can be looked up like any symbol */
	void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);

	if (!library)
		return dlerror();
	for (size_t i = 0; i < n; i++) {
		*at[i] = dlsym(library, names[i]);
		if (!*at[i]) {
			snprintf(message, sizeof(message), "'%s' has no '%s'", file, names[i]);
			return message;
		}
	}
	return NULL;
}

const char *calls_load(const char *runtime, const char *driver)
{
#define NAME(name) #name,
#define AT(name) (void **)&api.name##_,
	static const char *const runtime_names[] = { RUNTIME_FUNCTIONS(NAME) };
	static const char *const driver_names[] = { DRIVER_FUNCTIONS(NAME) };
	static void **const runtime_at[] = { RUNTIME_FUNCTIONS(AT) };
	static void **const driver_at[] = { DRIVER_FUNCTIONS(AT) };
	const char *failed;

	failed = load(driver ? driver : "libcuda.so.1", driver_names, driver_at, ARRAY_SIZE(driver_names));
	if (failed)
		return failed;
	return load(runtime ? runtime : "libcudart.so.12", runtime_names, runtime_at, ARRAY_SIZE(runtime_names));
}
#else
const char *calls_load(const char *runtime, const char *driver)
{
#define LINKED(name) api.name##_ = name;
	RUNTIME_FUNCTIONS(LINKED)
	DRIVER_FUNCTIONS(LINKED)
	return runtime || driver ? "other libraries: only the build that opens them by name can" : NULL;
}
#endif

int caller_init(struct caller *caller, size_t n_bytes, bool has_stream)
{
	int r;

	*caller = (struct caller){ .n_bytes = n_bytes };
	caller->on_host = calloc(1, n_bytes);
	if (!caller->on_host)
		return 2;
	for (unsigned int i = 0; i < 2; i++) {
		r = api.cudaMalloc_(&caller->on_device[i], n_bytes);
		if (r != 0)
			return r;
	}
	return has_stream ? api.cudaStreamCreate_(&caller->stream) : 0;
}

#define CALL(name_, make_, ...)                                                                                        \
	{                                                                                                              \
		.name = #name_, .make = make_, __VA_ARGS__                                                             \
	}

const struct call calls[] = {
	CALL(cudaMalloc, make_malloc, .word = "malloc", .undo = "cudaFree"),
	CALL(cudaFree, make_free, .word = "free"),
	CALL(cudaLaunchKernel, make_launch, .word = "launch"),
	CALL(cudaLaunchKernel_ptsz, make_launch_ptsz),
	CALL(__cudaLaunchKernel, make_launch_alias),
	CALL(cudaMemcpyAsync, make_memcpy, .word = "memcpy"),
	CALL(cudaMemcpyAsync, make_memcpy_on_device, .word = "memcpy-on-device"),
	CALL(cudaMemcpyAsync, make_memcpy_default, .word = "memcpy-default"),
	CALL(cudaMemcpyAsync_ptsz, make_memcpy_ptsz),
	CALL(cudaStreamSynchronize, make_sync, .word = "sync"),
	CALL(cudaStreamSynchronize_ptsz, make_sync_ptsz),
	CALL(cudaDeviceSynchronize, make_device_sync),
	CALL(cuMemAlloc_v2, make_driver_alloc, .undo = "cuMemFree_v2"),
	CALL(cuMemFree_v2, make_driver_free),
	CALL(cuLaunchKernel, make_driver_launch),
	CALL(cuLaunchKernel_ptsz, make_driver_launch_ptsz),
	CALL(cuMemcpyAsync, make_cuMemcpyAsync),
	CALL(cuMemcpyAsync_ptsz, make_cuMemcpyAsync_ptsz),
	CALL(cuMemcpyHtoDAsync_v2, make_cuMemcpyHtoDAsync_v2),
	CALL(cuMemcpyHtoDAsync_v2_ptsz, make_cuMemcpyHtoDAsync_v2_ptsz),
	CALL(cuMemcpyDtoHAsync_v2, make_cuMemcpyDtoHAsync_v2),
	CALL(cuMemcpyDtoHAsync_v2_ptsz, make_cuMemcpyDtoHAsync_v2_ptsz),
	CALL(cuMemcpyDtoDAsync_v2, make_cuMemcpyDtoDAsync_v2),
	CALL(cuMemcpyDtoDAsync_v2_ptsz, make_cuMemcpyDtoDAsync_v2_ptsz),
	CALL(cuStreamSynchronize, make_driver_sync),
	CALL(cuStreamSynchronize_ptsz, make_driver_sync_ptsz),
};
const size_t n_calls = ARRAY_SIZE(calls);
