// SPDX-License-Identifier: Apache-2.0
/*
 * libcudart.so.N as a stand-in: what its parts share. runtime.def says which exported
 * name is which function; every one forwards to the driver, by the entry points here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "standin.h"

/* Called from generated assembly alone, by the names in runtime.def. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	INSUFFICIENT_DRIVER = 35,
	INVALID_DEVICE_FUNCTION = 98,
	INVALID_DEVICE = 101,
};

enum copy_kind { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE, COPY_DEFAULT };

struct dim3 {
	unsigned int x, y, z;
};

struct stream;
struct event;
struct graph;
struct context;

typedef int copy_fn(void *to, const void *from, size_t n);
typedef int copy_async_fn(void *to, const void *from, size_t n, struct stream *stream);
typedef int set_fn(void *to, unsigned char value, size_t n);
typedef int set_async_fn(void *to, unsigned char value, size_t n, struct stream *stream);
typedef int alloc_async_fn(void **ret_ptr, size_t n, struct stream *stream);
typedef int free_async_fn(void *ptr, struct stream *stream);
typedef int launch_fn(const void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		      unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		      struct stream *stream, void **params, void **extra);
/* The driver's form of a launch's settings; the runtime's own is struct launch_config. */
struct driver_launch_config {
	unsigned int grid_x, grid_y, grid_z;
	unsigned int block_x, block_y, block_z;
	unsigned int shared_bytes;
	struct stream *stream;
	void *attributes;
	unsigned int n_attributes;
};

typedef int launch_ex_fn(const struct driver_launch_config *config, const void *function, void **params, void **extra);
typedef int proc_address_fn(const char *name, void **ret_address, int version, uint64_t flags, int *ret_status);
typedef int stream_fn(struct stream *stream);
typedef int stream_event_fn(struct stream *stream, struct event *event, unsigned int flags);
typedef int graph_stream_fn(struct graph *exec, struct stream *stream);
/* The form that knows of edges: what cuGetProcAddress means for both versions of the runtime. */
typedef int capture_info_fn(struct stream *stream, int *ret_status, uint64_t *ret_id, struct graph **ret_graph,
			    const void **ret_dependencies, const void **ret_edges, size_t *ret_n);
typedef int event_stream_fn(struct event *event, struct stream *stream);

#define PER_THREAD 2u /* flag of cuGetProcAddress */

/* ENTRY(member, type, name in the driver); PAIR adds member_ptsz for the per-thread form. */
#define DRIVER_ENTRIES(ENTRY, PAIR)                                                                                    \
	ENTRY(init, int (*)(unsigned int flags), "cuInit")                                                             \
	ENTRY(get_version, int (*)(int *ret_version), "cuDriverGetVersion")                                            \
	ENTRY(get_error_name, int (*)(int code, const char **ret_name), "cuGetErrorName")                              \
	ENTRY(get_error_string, int (*)(int code, const char **ret_text), "cuGetErrorString")                          \
	ENTRY(device_count, int (*)(int *ret_n), "cuDeviceGetCount")                                                   \
	ENTRY(device_get_attribute, int (*)(int *ret_value, int attribute, int device), "cuDeviceGetAttribute")        \
	ENTRY(device_get_name, int (*)(char *text, int room, int device), "cuDeviceGetName")                           \
	ENTRY(device_get_uuid, int (*)(unsigned char *ret_uuid, int device), "cuDeviceGetUuid")                        \
	ENTRY(device_get_bus_id, int (*)(char *text, int room, int device), "cuDeviceGetPCIBusId")                     \
	ENTRY(device_total_mem, int (*)(size_t * ret_bytes, int device), "cuDeviceTotalMem")                           \
	ENTRY(context_retain, int (*)(struct context * *ret_context, int device), "cuDevicePrimaryCtxRetain")          \
	ENTRY(context_set_flags, int (*)(int device, unsigned int flags), "cuDevicePrimaryCtxSetFlags")                \
	ENTRY(context_set_current, int (*)(struct context * context), "cuCtxSetCurrent")                               \
	ENTRY(context_synchronize, int (*)(void), "cuCtxSynchronize")                                                  \
	ENTRY(mem_alloc, int (*)(void **ret_ptr, size_t n), "cuMemAlloc")                                              \
	ENTRY(mem_alloc_managed, int (*)(void **ret_ptr, size_t n, unsigned int flags), "cuMemAllocManaged")           \
	ENTRY(mem_alloc_host, int (*)(void **ret_ptr, size_t n), "cuMemAllocHost")                                     \
	ENTRY(mem_host_alloc, int (*)(void **ret_ptr, size_t n, unsigned int flags), "cuMemHostAlloc")                 \
	ENTRY(mem_free, int (*)(void *ptr), "cuMemFree")                                                               \
	ENTRY(mem_free_host, int (*)(void *ptr), "cuMemFreeHost")                                                      \
	ENTRY(mem_get_info, int (*)(size_t * ret_free, size_t * ret_total), "cuMemGetInfo")                            \
	ENTRY(pointer_get_attribute, int (*)(void *data, int attribute, const void *at), "cuPointerGetAttribute")      \
	ENTRY(function_get_attribute, int (*)(int *ret_value, int attribute, const void *function),                    \
	      "cuFuncGetAttribute")                                                                                    \
	ENTRY(occupancy, int (*)(int *ret_n, const void *function, int threads, size_t shared_bytes),                  \
	      "cuOccupancyMaxActiveBlocksPerMultiprocessor")                                                           \
	ENTRY(stream_priority_range, int (*)(int *ret_least, int *ret_greatest), "cuCtxGetStreamPriorityRange")        \
	ENTRY(stream_create_with_priority, int (*)(struct stream * *ret_stream, unsigned int flags, int priority),     \
	      "cuStreamCreateWithPriority")                                                                            \
	ENTRY(stream_get_priority, int (*)(struct stream * stream, int *ret_priority), "cuStreamGetPriority")          \
	ENTRY(proc_address, proc_address_fn *, "cuGetProcAddress")                                                     \
	ENTRY(stream_create, int (*)(struct stream * *ret_stream, unsigned int flags), "cuStreamCreate")               \
	ENTRY(stream_destroy, stream_fn *, "cuStreamDestroy")                                                          \
	ENTRY(event_create, int (*)(struct event * *ret_event, unsigned int flags), "cuEventCreate")                   \
	ENTRY(event_destroy, int (*)(struct event * event), "cuEventDestroy")                                          \
	ENTRY(event_query, int (*)(struct event * event), "cuEventQuery")                                              \
	ENTRY(event_synchronize, int (*)(struct event * event), "cuEventSynchronize")                                  \
	ENTRY(exchange_capture_mode, int (*)(int *mode), "cuThreadExchangeStreamCaptureMode")                          \
	ENTRY(graph_create, int (*)(struct graph * *ret_graph, unsigned int flags), "cuGraphCreate")                   \
	ENTRY(graph_destroy, int (*)(struct graph * graph), "cuGraphDestroy")                                          \
	ENTRY(graph_get_nodes, int (*)(struct graph * graph, void **nodes, size_t *n), "cuGraphGetNodes")              \
	ENTRY(graph_instantiate, int (*)(struct graph * *ret_exec, struct graph * graph, uint64_t flags),              \
	      "cuGraphInstantiate")                                                                                    \
	ENTRY(graph_instantiate_with_params, int (*)(struct graph * *ret_exec, struct graph * graph, void *params),    \
	      "cuGraphInstantiateWithParams")                                                                          \
	ENTRY(graph_exec_destroy, int (*)(struct graph * exec), "cuGraphExecDestroy")                                  \
	ENTRY(event_elapsed, int (*)(float *ret_ms, struct event *start, struct event *end), "cuEventElapsedTime")     \
	PAIR(mem_alloc_async, alloc_async_fn *, "cuMemAllocAsync")                                                     \
	PAIR(mem_free_async, free_async_fn *, "cuMemFreeAsync")                                                        \
	PAIR(copy, copy_fn *, "cuMemcpy")                                                                              \
	PAIR(copy_to_device, copy_fn *, "cuMemcpyHtoD")                                                                \
	PAIR(copy_to_host, copy_fn *, "cuMemcpyDtoH")                                                                  \
	PAIR(copy_on_device, copy_fn *, "cuMemcpyDtoD")                                                                \
	PAIR(copy_async, copy_async_fn *, "cuMemcpyAsync")                                                             \
	PAIR(copy_to_device_async, copy_async_fn *, "cuMemcpyHtoDAsync")                                               \
	PAIR(copy_to_host_async, copy_async_fn *, "cuMemcpyDtoHAsync")                                                 \
	PAIR(copy_on_device_async, copy_async_fn *, "cuMemcpyDtoDAsync")                                               \
	PAIR(set, set_fn *, "cuMemsetD8")                                                                              \
	PAIR(set_async, set_async_fn *, "cuMemsetD8Async")                                                             \
	PAIR(launch, launch_fn *, "cuLaunchKernel")                                                                    \
	PAIR(launch_ex, launch_ex_fn *, "cuLaunchKernelEx")                                                            \
	PAIR(stream_query, stream_fn *, "cuStreamQuery")                                                               \
	PAIR(stream_synchronize, stream_fn *, "cuStreamSynchronize")                                                   \
	PAIR(stream_wait_event, stream_event_fn *, "cuStreamWaitEvent")                                                \
	PAIR(capture_begin, int (*)(struct stream * stream, int mode), "cuStreamBeginCapture")                         \
	PAIR(capture_end, int (*)(struct stream * stream, struct graph * *ret_graph), "cuStreamEndCapture")            \
	PAIR(is_capturing, int (*)(struct stream * stream, int *ret_status), "cuStreamIsCapturing")                    \
	PAIR(capture_info, capture_info_fn *, "cuStreamGetCaptureInfo")                                                \
	PAIR(graph_launch, graph_stream_fn *, "cuGraphLaunch")                                                         \
	PAIR(graph_upload, graph_stream_fn *, "cuGraphUpload")                                                         \
	PAIR(event_record, event_stream_fn *, "cuEventRecord")

#define MEMBER(member, type, name) __typeof__(type) member;
#define MEMBERS(member, type, name)                                                                                    \
	__typeof__(type) member;                                                                                       \
	__typeof__(type) member##_ptsz;

struct runtime_driver {
	DRIVER_ENTRIES(MEMBER, MEMBERS)
};
extern struct runtime_driver driver;

/** keep_error() - what cudaGetLastError() says next, if it is an error; gives it back */
int keep_error(int r);
/** ready() - first in every function: the driver is there, and this thread has its context */
int ready(void);

/* The whole body of a function that only forwards. */
#define FORWARD(call)                                                                                                  \
	do {                                                                                                           \
		int ready_ = ready();                                                                                  \
		return ready_ != SUCCESS ? ready_ : keep_error(driver.call);                                           \
	} while (0)
