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
#include "calls_wide.h"

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
	X(cudaDeviceSynchronize)                                                                                       \
	X(cudaMemcpy)                                                                                                  \
	X(cudaMemcpy_ptds)                                                                                             \
	X(cudaMemset)                                                                                                  \
	X(cudaMemset_ptds)                                                                                             \
	X(cudaMemsetAsync)                                                                                             \
	X(cudaMemsetAsync_ptsz)                                                                                        \
	X(cudaMallocAsync)                                                                                             \
	X(cudaMallocAsync_ptsz)                                                                                        \
	X(cudaFreeAsync)                                                                                               \
	X(cudaFreeAsync_ptsz)                                                                                          \
	X(cudaMallocManaged)                                                                                           \
	X(cudaMallocHost)                                                                                              \
	X(cudaHostAlloc)                                                                                               \
	X(cudaFreeHost)                                                                                                \
	X(cudaLaunchKernelExC)                                                                                         \
	X(cudaLaunchKernelExC_ptsz)                                                                                    \
	X(__cudaLaunchKernel_ptsz)                                                                                     \
	X(cudaEventCreate)                                                                                             \
	X(cudaEventRecord)                                                                                             \
	X(cudaEventSynchronize)

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
	X(cuStreamSynchronize_ptsz)                                                                                    \
	X(cuLaunchKernelEx)                                                                                            \
	X(cuLaunchKernelEx_ptsz)                                                                                       \
	X(cuMemAllocAsync)                                                                                             \
	X(cuMemAllocAsync_ptsz)                                                                                        \
	X(cuMemFreeAsync)                                                                                              \
	X(cuMemFreeAsync_ptsz)                                                                                         \
	X(cuMemAllocManaged)                                                                                           \
	X(cuMemAllocPitch_v2)                                                                                          \
	X(cuMemAllocHost_v2)                                                                                           \
	X(cuMemHostAlloc)                                                                                              \
	X(cuMemFreeHost)                                                                                               \
	X(cuMemcpy)                                                                                                    \
	X(cuMemcpy_ptds)                                                                                               \
	X(cuMemcpyHtoD_v2)                                                                                             \
	X(cuMemcpyHtoD_v2_ptds)                                                                                        \
	X(cuMemcpyDtoH_v2)                                                                                             \
	X(cuMemcpyDtoH_v2_ptds)                                                                                        \
	X(cuMemcpyDtoD_v2)                                                                                             \
	X(cuMemcpyDtoD_v2_ptds)                                                                                        \
	X(cuMemsetD8_v2)                                                                                               \
	X(cuMemsetD8_v2_ptds)                                                                                          \
	X(cuMemsetD8Async)                                                                                             \
	X(cuMemsetD8Async_ptsz)                                                                                        \
	X(cuMemsetD16_v2)                                                                                              \
	X(cuMemsetD16_v2_ptds)                                                                                         \
	X(cuMemsetD16Async)                                                                                            \
	X(cuMemsetD16Async_ptsz)                                                                                       \
	X(cuMemsetD32_v2)                                                                                              \
	X(cuMemsetD32_v2_ptds)                                                                                         \
	X(cuMemsetD32Async)                                                                                            \
	X(cuMemsetD32Async_ptsz)                                                                                       \
	X(cuCtxSynchronize)                                                                                            \
	X(cuEventSynchronize)

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

static int make_launch_alias_ptsz(struct caller *caller, struct call_args *args)
{
	args->function = (uint64_t)kernel;
	return api.__cudaLaunchKernel_ptsz_((const void *)kernel, grid, block, NULL, 0, caller->stream);
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

/* Copies and sets at once: cudaMemcpy of every kind, cudaMemset and its forms */

#define MEMORY_COPY(name, export, to, from, kind)                                                                      \
	static int name(struct caller *caller, struct call_args *args)                                                 \
	{                                                                                                              \
		args->bytes = caller->n_bytes;                                                                         \
		args->copy_kind = kind;                                                                                \
		return api.export##_(caller->to, caller->from, caller->n_bytes, kind);                                 \
	}

MEMORY_COPY(make_copy, cudaMemcpy, on_device[0], on_host, cudaMemcpyHostToDevice)
MEMORY_COPY(make_copy_to_host, cudaMemcpy, on_host, on_device[0], cudaMemcpyDeviceToHost)
MEMORY_COPY(make_copy_on_device, cudaMemcpy, on_device[1], on_device[0], cudaMemcpyDeviceToDevice)
MEMORY_COPY(make_copy_on_host, cudaMemcpy, on_host, on_host, cudaMemcpyHostToHost)
MEMORY_COPY(make_copy_default, cudaMemcpy, on_device[1], on_host, cudaMemcpyDefault)
MEMORY_COPY(make_copy_ptds, cudaMemcpy_ptds, on_host, on_device[0], cudaMemcpyDeviceToHost)

/* Of an enum's register only the lower half is the argument: some compilers leave the rest as it was. */
static int make_copy_unclean(struct caller *caller, struct call_args *args)
{
	int (*unclean)(void *dst, const void *src, size_t count, uint64_t kind);

	memcpy(&unclean, &api.cudaMemcpy_, sizeof(unclean));
	args->bytes = caller->n_bytes;
	args->copy_kind = cudaMemcpyHostToDevice;
	return unclean(caller->on_device[0], caller->on_host, caller->n_bytes, 0x5eed00000000 | cudaMemcpyHostToDevice);
}

#define MEMORY_SET(export)                                                                                             \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		args->bytes = caller->n_bytes;                                                                         \
		args->pointer = (uint64_t)caller->on_device[0];                                                        \
		return api.export##_(caller->on_device[0], 0x5e, caller->n_bytes);                                     \
	}
#define MEMORY_SET_ASYNC(export)                                                                                       \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		args->bytes = caller->n_bytes;                                                                         \
		args->stream = (uint64_t)caller->stream;                                                               \
		return api.export##_(caller->on_device[0], 0x5e, caller->n_bytes, caller->stream);                     \
	}

MEMORY_SET(cudaMemset)
MEMORY_SET(cudaMemset_ptds)
MEMORY_SET_ASYNC(cudaMemsetAsync)
MEMORY_SET_ASYNC(cudaMemsetAsync_ptsz)

/* Allocations of other kinds. What each gives back comes right after it, so the pool holds what it may free. */

static int keep_allocation(struct caller *caller, struct call_args *args, void *ptr, int r)
{
	args->bytes = caller->n_bytes;
	args->pointer = (uint64_t)ptr;
	if (r == 0)
		caller->pool[caller->n_pool++] = ptr;
	return r;
}

static void *give_back(struct caller *caller, struct call_args *args)
{
	void *ptr = caller->n_pool ? caller->pool[--caller->n_pool] : NULL;

	args->pointer = (uint64_t)ptr;
	return ptr;
}

#define ALLOCATE(export, type, ...)                                                                                    \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		type ptr = 0;                                                                                          \
		int r = api.export##_(&ptr, caller->n_bytes __VA_ARGS__);                                              \
                                                                                                                       \
		return keep_allocation(caller, args, (void *)ptr, r);                                                  \
	}
#define GIVE_BACK(export, type)                                                                                        \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		return api.export##_((type)give_back(caller, args));                                                   \
	}
#define GIVE_BACK_ASYNC(export, type)                                                                                  \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		args->stream = (uint64_t)caller->stream;                                                               \
		return api.export##_((type)give_back(caller, args), caller->stream);                                   \
	}

ALLOCATE(cudaMallocAsync, void *, , caller->stream)
ALLOCATE(cudaMallocAsync_ptsz, void *, , caller->stream)
GIVE_BACK_ASYNC(cudaFreeAsync, void *)
GIVE_BACK_ASYNC(cudaFreeAsync_ptsz, void *)
ALLOCATE(cudaMallocManaged, void *, , 1)
ALLOCATE(cudaMallocHost, void *)
ALLOCATE(cudaHostAlloc, void *, , 0)
GIVE_BACK(cudaFreeHost, void *)

/* Launches with a block of settings */

#define LAUNCH_BY_CONFIG(export)                                                                                       \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		const cudaLaunchConfig_t config = { grid, block, 0, caller->stream, NULL, 0 };                         \
                                                                                                                       \
		args->function = (uint64_t)kernel;                                                                     \
		return api.export##_(&config, (const void *)kernel, NULL);                                             \
	}

LAUNCH_BY_CONFIG(cudaLaunchKernelExC)
LAUNCH_BY_CONFIG(cudaLaunchKernelExC_ptsz)

static int event_ready(struct caller *caller, struct call_args *args)
{
	int r = caller->event ? 0 : api.cudaEventCreate_(&caller->event);

	if (r == 0)
		r = api.cudaEventRecord_(caller->event, caller->stream);
	args->event = (uint64_t)caller->event;
	return r;
}

static int make_event_sync(struct caller *caller, struct call_args *args)
{
	int r = event_ready(caller, args);

	return r ? r : api.cudaEventSynchronize_(caller->event);
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

ALLOCATE(cuMemAllocAsync, CUdeviceptr, , caller->stream)
ALLOCATE(cuMemAllocAsync_ptsz, CUdeviceptr, , caller->stream)
GIVE_BACK_ASYNC(cuMemFreeAsync, CUdeviceptr)
GIVE_BACK_ASYNC(cuMemFreeAsync_ptsz, CUdeviceptr)
ALLOCATE(cuMemAllocManaged, CUdeviceptr, , 1)
ALLOCATE(cuMemAllocHost_v2, void *)
ALLOCATE(cuMemHostAlloc, void *, , 0)
GIVE_BACK(cuMemFreeHost, void *)

/* Rows of a length that no pitch has: the bytes are those that were asked for. */
static int make_driver_alloc_pitch(struct caller *caller, struct call_args *args)
{
	size_t pitch = 0, width = 100, height = caller->n_bytes / width + 1;
	CUdeviceptr ptr = 0;
	int r = api.cuMemAllocPitch_v2_(&ptr, &pitch, width, height, 4);

	r = keep_allocation(caller, args, (void *)ptr, r);
	args->bytes = width * height;
	return r;
}

#define DRIVER_LAUNCH_BY_CONFIG(export)                                                                                \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		const CUlaunchConfig config = { grid.x,	 grid.y, grid.z,	 block.x, block.y,                     \
						block.z, 0,	 caller->stream, NULL,	  0 };                         \
                                                                                                                       \
		args->function = (uint64_t)kernel;                                                                     \
		return api.export##_(&config, (CUfunction)kernel, NULL, NULL);                                         \
	}

DRIVER_LAUNCH_BY_CONFIG(cuLaunchKernelEx)
DRIVER_LAUNCH_BY_CONFIG(cuLaunchKernelEx_ptsz)

#define DRIVER_COPY_NOW(export, to_type, to, from_type, from)                                                          \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		args->bytes = caller->n_bytes;                                                                         \
		return api.export##_((to_type)caller->to, (from_type)caller->from, caller->n_bytes);                   \
	}

DRIVER_COPY_NOW(cuMemcpy, CUdeviceptr, on_device[0], CUdeviceptr, on_host)
DRIVER_COPY_NOW(cuMemcpy_ptds, CUdeviceptr, on_device[0], CUdeviceptr, on_host)
DRIVER_COPY_NOW(cuMemcpyHtoD_v2, CUdeviceptr, on_device[0], void *, on_host)
DRIVER_COPY_NOW(cuMemcpyHtoD_v2_ptds, CUdeviceptr, on_device[0], void *, on_host)
DRIVER_COPY_NOW(cuMemcpyDtoH_v2, void *, on_host, CUdeviceptr, on_device[0])
DRIVER_COPY_NOW(cuMemcpyDtoH_v2_ptds, void *, on_host, CUdeviceptr, on_device[0])
DRIVER_COPY_NOW(cuMemcpyDtoD_v2, CUdeviceptr, on_device[1], CUdeviceptr, on_device[0])
DRIVER_COPY_NOW(cuMemcpyDtoD_v2_ptds, CUdeviceptr, on_device[1], CUdeviceptr, on_device[0])

/* A count of elements, not of bytes */
#define DRIVER_SET(export, type)                                                                                       \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		size_t n = caller->n_bytes / sizeof(type);                                                             \
                                                                                                                       \
		args->bytes = n * sizeof(type);                                                                        \
		args->pointer = (uint64_t)caller->on_device[0];                                                        \
		return api.export##_((CUdeviceptr)caller->on_device[0], (type)0x5e, n);                                \
	}
#define DRIVER_SET_ASYNC(export, type)                                                                                 \
	static int make_##export(struct caller * caller, struct call_args * args)                                      \
	{                                                                                                              \
		size_t n = caller->n_bytes / sizeof(type);                                                             \
                                                                                                                       \
		args->bytes = n * sizeof(type);                                                                        \
		args->stream = (uint64_t)caller->stream;                                                               \
		return api.export##_((CUdeviceptr)caller->on_device[0], (type)0x5e, n, caller->stream);                \
	}

DRIVER_SET(cuMemsetD8_v2, unsigned char)
DRIVER_SET(cuMemsetD8_v2_ptds, unsigned char)
DRIVER_SET_ASYNC(cuMemsetD8Async, unsigned char)
DRIVER_SET_ASYNC(cuMemsetD8Async_ptsz, unsigned char)
DRIVER_SET(cuMemsetD16_v2, unsigned short)
DRIVER_SET(cuMemsetD16_v2_ptds, unsigned short)
DRIVER_SET_ASYNC(cuMemsetD16Async, unsigned short)
DRIVER_SET_ASYNC(cuMemsetD16Async_ptsz, unsigned short)
DRIVER_SET(cuMemsetD32_v2, unsigned int)
DRIVER_SET(cuMemsetD32_v2_ptds, unsigned int)
DRIVER_SET_ASYNC(cuMemsetD32Async, unsigned int)
DRIVER_SET_ASYNC(cuMemsetD32Async_ptsz, unsigned int)

static int make_driver_context_sync(struct caller *caller, struct call_args *args)
{
	(void)caller, (void)args;
	return api.cuCtxSynchronize_();
}

static int make_driver_event_sync(struct caller *caller, struct call_args *args)
{
	int r = event_ready(caller, args);

	return r ? r : api.cuEventSynchronize_((CUevent)caller->event);
}

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
	CALL(__cudaLaunchKernel_ptsz, make_launch_alias_ptsz),
	CALL(cudaLaunchKernelExC, make_cudaLaunchKernelExC),
	CALL(cudaLaunchKernelExC_ptsz, make_cudaLaunchKernelExC_ptsz),
	CALL(cudaMemcpy, make_copy, .word = "copy"),
	CALL(cudaMemcpy, make_copy_to_host),
	CALL(cudaMemcpy, make_copy_on_device),
	CALL(cudaMemcpy, make_copy_on_host),
	CALL(cudaMemcpy, make_copy_default),
	CALL(cudaMemcpy, make_copy_unclean),
	CALL(cudaMemcpy_ptds, make_copy_ptds),
	CALL(cudaMemset, make_cudaMemset, .word = "memset"),
	CALL(cudaMemset_ptds, make_cudaMemset_ptds),
	CALL(cudaMemsetAsync, make_cudaMemsetAsync),
	CALL(cudaMemsetAsync_ptsz, make_cudaMemsetAsync_ptsz),
	CALL(cudaMallocAsync, make_cudaMallocAsync, .undo = "cudaFreeAsync"),
	CALL(cudaFreeAsync, make_cudaFreeAsync),
	CALL(cudaMallocAsync_ptsz, make_cudaMallocAsync_ptsz, .undo = "cudaFreeAsync_ptsz"),
	CALL(cudaFreeAsync_ptsz, make_cudaFreeAsync_ptsz),
	CALL(cudaMallocManaged, make_cudaMallocManaged, .undo = "cudaFree"),
	CALL(cudaFree, make_free),
	CALL(cudaMallocHost, make_cudaMallocHost, .undo = "cudaFreeHost"),
	CALL(cudaFreeHost, make_cudaFreeHost),
	CALL(cudaHostAlloc, make_cudaHostAlloc, .undo = "cudaFreeHost"),
	CALL(cudaFreeHost, make_cudaFreeHost),
	CALL(cudaEventSynchronize, make_event_sync),
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
	CALL(cuLaunchKernelEx, make_cuLaunchKernelEx),
	CALL(cuLaunchKernelEx_ptsz, make_cuLaunchKernelEx_ptsz),
	CALL(cuMemAllocAsync, make_cuMemAllocAsync, .undo = "cuMemFreeAsync"),
	CALL(cuMemFreeAsync, make_cuMemFreeAsync),
	CALL(cuMemAllocAsync_ptsz, make_cuMemAllocAsync_ptsz, .undo = "cuMemFreeAsync_ptsz"),
	CALL(cuMemFreeAsync_ptsz, make_cuMemFreeAsync_ptsz),
	CALL(cuMemAllocManaged, make_cuMemAllocManaged, .undo = "cuMemFree_v2"),
	CALL(cuMemFree_v2, make_driver_free),
	CALL(cuMemAllocPitch_v2, make_driver_alloc_pitch, .undo = "cuMemFree_v2"),
	CALL(cuMemFree_v2, make_driver_free),
	CALL(cuMemAllocHost_v2, make_cuMemAllocHost_v2, .undo = "cuMemFreeHost"),
	CALL(cuMemFreeHost, make_cuMemFreeHost),
	CALL(cuMemHostAlloc, make_cuMemHostAlloc, .undo = "cuMemFreeHost"),
	CALL(cuMemFreeHost, make_cuMemFreeHost),
	CALL(cuMemcpy, make_cuMemcpy),
	CALL(cuMemcpy_ptds, make_cuMemcpy_ptds),
	CALL(cuMemcpyHtoD_v2, make_cuMemcpyHtoD_v2),
	CALL(cuMemcpyHtoD_v2_ptds, make_cuMemcpyHtoD_v2_ptds),
	CALL(cuMemcpyDtoH_v2, make_cuMemcpyDtoH_v2),
	CALL(cuMemcpyDtoH_v2_ptds, make_cuMemcpyDtoH_v2_ptds),
	CALL(cuMemcpyDtoD_v2, make_cuMemcpyDtoD_v2),
	CALL(cuMemcpyDtoD_v2_ptds, make_cuMemcpyDtoD_v2_ptds),
	CALL(cuMemsetD8_v2, make_cuMemsetD8_v2),
	CALL(cuMemsetD8_v2_ptds, make_cuMemsetD8_v2_ptds),
	CALL(cuMemsetD8Async, make_cuMemsetD8Async),
	CALL(cuMemsetD8Async_ptsz, make_cuMemsetD8Async_ptsz),
	CALL(cuMemsetD16_v2, make_cuMemsetD16_v2),
	CALL(cuMemsetD16_v2_ptds, make_cuMemsetD16_v2_ptds),
	CALL(cuMemsetD16Async, make_cuMemsetD16Async),
	CALL(cuMemsetD16Async_ptsz, make_cuMemsetD16Async_ptsz),
	CALL(cuMemsetD32_v2, make_cuMemsetD32_v2),
	CALL(cuMemsetD32_v2_ptds, make_cuMemsetD32_v2_ptds),
	CALL(cuMemsetD32Async, make_cuMemsetD32Async),
	CALL(cuMemsetD32Async_ptsz, make_cuMemsetD32Async_ptsz),
	CALL(cuCtxSynchronize, make_driver_context_sync),
	CALL(cuEventSynchronize, make_driver_event_sync),
#define WIDE(export, said, ...) CALL(export, calls_wide_##export),
#include "calls_wide.def"
#undef WIDE
};
const size_t n_calls = ARRAY_SIZE(calls);
