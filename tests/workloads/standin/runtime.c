// SPDX-License-Identifier: Apache-2.0
/*
 * libcudart.so.N as a stand-in: the functions that runtime.def names.
 *
 * Every one forwards to the driver, whose functions it finds as the real runtime
 * does: libcuda.so.1 by dlopen, each entry point by cuGetProcAddress_v2, in its
 * _ptsz form for the runtime's own _ptsz functions. Nothing else knows how this
 * file reaches the driver.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime.h"

#ifndef RUNTIME_VERSION
#error "say which version this library reports, as 12090"
#endif

struct runtime_driver driver;

#define ENTRY_ROW(member, type, name) { name, offsetof(__typeof__(driver), member), 0 },
#define PAIR_ROWS(member, type, name)                                                                                  \
	{ name, offsetof(__typeof__(driver), member), 0 },                                                             \
		{ name, offsetof(__typeof__(driver), member##_ptsz), PER_THREAD },

static const struct {
	const char *name;
	size_t offset;
	unsigned int flags;
} entries[] = { DRIVER_ENTRIES(ENTRY_ROW, PAIR_ROWS) };

static struct {
	pthread_once_t once;
	struct context *context;
	int result; /* of finding and starting the driver */
} start = { .once = PTHREAD_ONCE_INIT };

/* What __cudaPushCallConfiguration left for the launch that follows it. */
struct configuration {
	struct dim3 grid, block;
	size_t shared_bytes;
	struct stream *stream;
};

static __thread struct {
	int last_error;
	bool is_started;
	struct configuration configuration;
} thread;

int standin_unlisted(void)
{
	return standin_device.unlisted_code;
}

static void find_driver(void)
{
	proc_address_fn *get_proc_address;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	start.result = INSUFFICIENT_DRIVER;
	if (!library)
		return;
	*(void **)&get_proc_address = dlsym(library, "cuGetProcAddress_v2");
	if (!get_proc_address)
		return;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		void **at = (void **)((char *)&driver + entries[i].offset);
		int status = 0;

		if (get_proc_address(entries[i].name, at, RUNTIME_VERSION, entries[i].flags, &status) != SUCCESS)
			return;
	}
	start.result = driver.init(0);
	if (start.result == SUCCESS)
		start.result = driver.context_retain(&start.context, 0);
}

int keep_error(int r)
{
	if (r != SUCCESS)
		thread.last_error = r;
	return r;
}

int ready(void)
{
	if (__builtin_expect(thread.is_started, true))
		return SUCCESS;
	pthread_once(&start.once, find_driver);
	if (start.result != SUCCESS)
		return keep_error(start.result);
	thread.is_started = true;
	return keep_error(driver.context_set_current(start.context));
}

/* Device, errors */

int runtime_get_device_count(int *ret_n)
{
	FORWARD(device_count(ret_n));
}

int runtime_get_device(int *ret_device)
{
	int r = ready();

	if (r == SUCCESS)
		*ret_device = 0;
	return r;
}

int runtime_set_device(int device)
{
	return device == 0 ? ready() : keep_error(INVALID_DEVICE);
}

int runtime_set_device_flags(unsigned int flags)
{
	FORWARD(context_set_flags(0, flags));
}

int runtime_device_synchronize(void)
{
	FORWARD(context_synchronize());
}

int runtime_get_version(int *ret_version)
{
	*ret_version = RUNTIME_VERSION;
	return SUCCESS;
}

int runtime_get_driver_version(int *ret_version)
{
	FORWARD(get_version(ret_version));
}

int runtime_get_last_error(void)
{
	int r = thread.last_error;

	thread.last_error = SUCCESS;
	return r;
}

int runtime_peek_last_error(void)
{
	return thread.last_error;
}

const char *runtime_get_error_name(int code)
{
	const char *name = NULL;

	if (ready() != SUCCESS || driver.get_error_name(code, &name) != SUCCESS)
		return "unrecognized error code";
	return name;
}

const char *runtime_get_error_string(int code)
{
	const char *text = NULL;

	if (ready() != SUCCESS || driver.get_error_string(code, &text) != SUCCESS)
		return "unrecognized error code";
	return text;
}

/* Memory */

int runtime_malloc(void **ret_ptr, size_t n)
{
	if (ret_ptr && n == 0) {
		*ret_ptr = NULL;
		return ready();
	}
	FORWARD(mem_alloc(ret_ptr, n));
}

int runtime_malloc_managed(void **ret_ptr, size_t n, unsigned int flags)
{
	FORWARD(mem_alloc_managed(ret_ptr, n, flags));
}

int runtime_host_alloc(void **ret_ptr, size_t n, unsigned int flags)
{
	FORWARD(mem_host_alloc(ret_ptr, n, flags));
}

int runtime_malloc_host(void **ret_ptr, size_t n)
{
	FORWARD(mem_alloc_host(ret_ptr, n));
}

int runtime_malloc_async(void **ret_ptr, size_t n, struct stream *stream)
{
	FORWARD(mem_alloc_async(ret_ptr, n, stream));
}

int runtime_malloc_async_ptsz(void **ret_ptr, size_t n, struct stream *stream)
{
	FORWARD(mem_alloc_async_ptsz(ret_ptr, n, stream));
}

int runtime_free(void *ptr)
{
	FORWARD(mem_free(ptr));
}

int runtime_free_host(void *ptr)
{
	FORWARD(mem_free_host(ptr));
}

int runtime_free_async(void *ptr, struct stream *stream)
{
	FORWARD(mem_free_async(ptr, stream));
}

int runtime_free_async_ptsz(void *ptr, struct stream *stream)
{
	FORWARD(mem_free_async_ptsz(ptr, stream));
}

int runtime_mem_get_info(size_t *ret_free, size_t *ret_total)
{
	FORWARD(mem_get_info(ret_free, ret_total));
}

/* Copies: the kind chooses the driver's function */

int runtime_copy(void *to, const void *from, size_t n, enum copy_kind kind)
{
	switch (kind) {
	case COPY_HOST_TO_DEVICE:
		FORWARD(copy_to_device(to, from, n));
	case COPY_DEVICE_TO_HOST:
		FORWARD(copy_to_host(to, from, n));
	case COPY_DEVICE_TO_DEVICE:
		FORWARD(copy_on_device(to, from, n));
	case COPY_HOST_TO_HOST:
	case COPY_DEFAULT:
		FORWARD(copy(to, from, n));
	}
	return keep_error(INVALID_VALUE);
}

int runtime_copy_ptds(void *to, const void *from, size_t n, enum copy_kind kind)
{
	switch (kind) {
	case COPY_HOST_TO_DEVICE:
		FORWARD(copy_to_device_ptsz(to, from, n));
	case COPY_DEVICE_TO_HOST:
		FORWARD(copy_to_host_ptsz(to, from, n));
	case COPY_DEVICE_TO_DEVICE:
		FORWARD(copy_on_device_ptsz(to, from, n));
	case COPY_HOST_TO_HOST:
	case COPY_DEFAULT:
		FORWARD(copy_ptsz(to, from, n));
	}
	return keep_error(INVALID_VALUE);
}

int runtime_copy_async(void *to, const void *from, size_t n, enum copy_kind kind, struct stream *stream)
{
	switch (kind) {
	case COPY_HOST_TO_DEVICE:
		FORWARD(copy_to_device_async(to, from, n, stream));
	case COPY_DEVICE_TO_HOST:
		FORWARD(copy_to_host_async(to, from, n, stream));
	case COPY_DEVICE_TO_DEVICE:
		FORWARD(copy_on_device_async(to, from, n, stream));
	case COPY_HOST_TO_HOST:
	case COPY_DEFAULT:
		FORWARD(copy_async(to, from, n, stream));
	}
	return keep_error(INVALID_VALUE);
}

int runtime_copy_async_ptsz(void *to, const void *from, size_t n, enum copy_kind kind, struct stream *stream)
{
	switch (kind) {
	case COPY_HOST_TO_DEVICE:
		FORWARD(copy_to_device_async_ptsz(to, from, n, stream));
	case COPY_DEVICE_TO_HOST:
		FORWARD(copy_to_host_async_ptsz(to, from, n, stream));
	case COPY_DEVICE_TO_DEVICE:
		FORWARD(copy_on_device_async_ptsz(to, from, n, stream));
	case COPY_HOST_TO_HOST:
	case COPY_DEFAULT:
		FORWARD(copy_async_ptsz(to, from, n, stream));
	}
	return keep_error(INVALID_VALUE);
}

int runtime_set(void *to, int value, size_t n)
{
	FORWARD(set(to, (unsigned char)value, n));
}

int runtime_set_ptds(void *to, int value, size_t n)
{
	FORWARD(set_ptsz(to, (unsigned char)value, n));
}

int runtime_set_async(void *to, int value, size_t n, struct stream *stream)
{
	FORWARD(set_async(to, (unsigned char)value, n, stream));
}

int runtime_set_async_ptsz(void *to, int value, size_t n, struct stream *stream)
{
	FORWARD(set_async_ptsz(to, (unsigned char)value, n, stream));
}

/* Launches. The host function's address is the driver's handle too: no code is loaded anywhere. */

int runtime_launch(const void *function, struct dim3 grid, struct dim3 block, void **args, size_t shared_bytes,
		   struct stream *stream)
{
	if (!function)
		return keep_error(INVALID_DEVICE_FUNCTION);
	FORWARD(launch(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned int)shared_bytes, stream,
		       args, NULL));
}

int runtime_launch_ptsz(const void *function, struct dim3 grid, struct dim3 block, void **args, size_t shared_bytes,
			struct stream *stream)
{
	if (!function)
		return keep_error(INVALID_DEVICE_FUNCTION);
	FORWARD(launch_ptsz(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned int)shared_bytes,
			    stream, args, NULL));
}

struct launch_config {
	struct dim3 grid, block;
	size_t shared_bytes;
	struct stream *stream;
	void *attributes;
	unsigned int n_attributes;
};

static struct driver_launch_config for_driver(const struct launch_config *c)
{
	return (struct driver_launch_config){
		.grid_x = c->grid.x,
		.grid_y = c->grid.y,
		.grid_z = c->grid.z,
		.block_x = c->block.x,
		.block_y = c->block.y,
		.block_z = c->block.z,
		.shared_bytes = (unsigned int)c->shared_bytes,
		.stream = c->stream,
		.attributes = c->attributes,
		.n_attributes = c->n_attributes,
	};
}

int runtime_launch_ex(const struct launch_config *config, const void *function, void **args)
{
	struct driver_launch_config c;

	if (!config)
		return keep_error(INVALID_VALUE);
	if (!function)
		return keep_error(INVALID_DEVICE_FUNCTION);
	c = for_driver(config);
	FORWARD(launch_ex(&c, function, args, NULL));
}

int runtime_launch_ex_ptsz(const struct launch_config *config, const void *function, void **args)
{
	struct driver_launch_config c;

	if (!config)
		return keep_error(INVALID_VALUE);
	if (!function)
		return keep_error(INVALID_DEVICE_FUNCTION);
	c = for_driver(config);
	FORWARD(launch_ex_ptsz(&c, function, args, NULL));
}

int runtime_get_kernel(const void **ret_kernel, const void *function)
{
	*ret_kernel = function;
	return SUCCESS;
}

int runtime_push_configuration(struct dim3 grid, struct dim3 block, size_t shared_bytes, struct stream *stream)
{
	thread.configuration = (struct configuration){ grid, block, shared_bytes, stream };
	return SUCCESS;
}

int runtime_pop_configuration(struct dim3 *ret_grid, struct dim3 *ret_block, size_t *ret_shared_bytes,
			      struct stream **ret_stream)
{
	*ret_grid = thread.configuration.grid;
	*ret_block = thread.configuration.block;
	*ret_shared_bytes = thread.configuration.shared_bytes;
	*ret_stream = thread.configuration.stream;
	return SUCCESS;
}

/* Anything but NULL: callers keep it and hand it back. */
void **runtime_register_fat_binary(void *binary)
{
	return &((void **)binary)[0];
}

/* Streams and events: the driver's own handles */

int runtime_stream_create(struct stream **ret_stream)
{
	FORWARD(stream_create(ret_stream, 0));
}

int runtime_stream_create_with_flags(struct stream **ret_stream, unsigned int flags)
{
	FORWARD(stream_create(ret_stream, flags));
}

int runtime_stream_create_with_priority(struct stream **ret_stream, unsigned int flags, int priority)
{
	FORWARD(stream_create_with_priority(ret_stream, flags, priority));
}

int runtime_stream_get_priority(struct stream *stream, int *ret_priority)
{
	FORWARD(stream_get_priority(stream, ret_priority));
}

int runtime_stream_priority_range(int *ret_least, int *ret_greatest)
{
	FORWARD(stream_priority_range(ret_least, ret_greatest));
}

int runtime_stream_destroy(struct stream *stream)
{
	FORWARD(stream_destroy(stream));
}

int runtime_stream_query(struct stream *stream)
{
	FORWARD(stream_query(stream));
}

int runtime_stream_query_ptsz(struct stream *stream)
{
	FORWARD(stream_query_ptsz(stream));
}

int runtime_stream_synchronize(struct stream *stream)
{
	FORWARD(stream_synchronize(stream));
}

int runtime_stream_synchronize_ptsz(struct stream *stream)
{
	FORWARD(stream_synchronize_ptsz(stream));
}

int runtime_stream_wait_event(struct stream *stream, struct event *event, unsigned int flags)
{
	FORWARD(stream_wait_event(stream, event, flags));
}

int runtime_stream_wait_event_ptsz(struct stream *stream, struct event *event, unsigned int flags)
{
	FORWARD(stream_wait_event_ptsz(stream, event, flags));
}

int runtime_event_create(struct event **ret_event)
{
	FORWARD(event_create(ret_event, 0));
}

int runtime_event_create_with_flags(struct event **ret_event, unsigned int flags)
{
	FORWARD(event_create(ret_event, flags));
}

int runtime_event_destroy(struct event *event)
{
	FORWARD(event_destroy(event));
}

int runtime_event_record(struct event *event, struct stream *stream)
{
	FORWARD(event_record(event, stream));
}

int runtime_event_record_ptsz(struct event *event, struct stream *stream)
{
	FORWARD(event_record_ptsz(event, stream));
}

int runtime_event_record_with_flags(struct event *event, struct stream *stream, unsigned int flags)
{
	(void)flags;
	FORWARD(event_record(event, stream));
}

int runtime_event_query(struct event *event)
{
	FORWARD(event_query(event));
}

int runtime_event_synchronize(struct event *event)
{
	FORWARD(event_synchronize(event));
}

int runtime_event_elapsed(float *ret_ms, struct event *start_event, struct event *end_event)
{
	FORWARD(event_elapsed(ret_ms, start_event, end_event));
}
