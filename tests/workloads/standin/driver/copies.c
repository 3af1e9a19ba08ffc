// SPDX-License-Identifier: Apache-2.0
/*
 * Copies and fills. A device pointer is an address, so one function serves all directions.
 */
#include <string.h>

#include "driver.h"

/* What is waited for cannot be captured. */
static int work(struct stream *stream, const struct graph_work *what, bool is_async)
{
	int r = is_async ? SUCCESS : stream_refuse_capture(stream);

	if (r == SUCCESS)
		r = stream_work(stream, what);
	if (r == SUCCESS && !is_async)
		wait_for(&stream->finish_ns, false);
	return r;
}

static int copy(void *to, const void *from, size_t n, struct stream *handle, bool is_per_thread, bool is_async)
{
	struct stream *stream = stream_find(handle, is_per_thread);

	if (!stream)
		return INVALID_HANDLE;
	if (n && (!to || !from))
		return INVALID_VALUE;
	return work(stream,
		    &(struct graph_work){ .time_ns = copy_ns(n), .to = to, .from = from, .n = n, .element_bytes = 1 },
		    is_async);
}

int driver_copy(void *to, const void *from, size_t n)
{
	return copy(to, from, n, NULL, false, false);
}

int driver_copy_ptsz(void *to, const void *from, size_t n)
{
	return copy(to, from, n, NULL, true, false);
}

int driver_copy_async(void *to, const void *from, size_t n, struct stream *handle)
{
	return copy(to, from, n, handle, false, true);
}

int driver_copy_async_ptsz(void *to, const void *from, size_t n, struct stream *handle)
{
	return copy(to, from, n, handle, true, true);
}

/* n elements, each of so many bytes of the value; the lowest first, as everywhere here */
static int set(void *to, const void *value, size_t element_bytes, size_t n, struct stream *handle, bool is_per_thread,
	       bool is_async)
{
	struct graph_work what = {
		.time_ns = copy_ns(n * element_bytes), .to = to, .n = n, .element_bytes = element_bytes
	};
	struct stream *stream = stream_find(handle, is_per_thread);

	if (!stream)
		return INVALID_HANDLE;
	if ((n && !to) || (uintptr_t)to % element_bytes)
		return INVALID_VALUE;
	memcpy(what.value, value, element_bytes);
	return work(stream, &what, is_async);
}

/* The four forms of each: in the legacy stream and the thread's own, at once and in a stream. */
#define SET(name, type)                                                                                                \
	int name(void *to, type value, size_t n)                                                                       \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, NULL, false, false);                                          \
	}                                                                                                              \
	int name##_ptsz(void *to, type value, size_t n)                                                                \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, NULL, true, false);                                           \
	}                                                                                                              \
	int name##_async(void *to, type value, size_t n, struct stream *handle)                                        \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, handle, false, true);                                         \
	}                                                                                                              \
	int name##_async_ptsz(void *to, type value, size_t n, struct stream *handle)                                   \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, handle, true, true);                                          \
	}

SET(driver_set, unsigned char)
SET(driver_set_16, unsigned short)
SET(driver_set_32, unsigned int)

/* A rectangle on each side; of arrays, which are no addresses, there are none here. */
struct rectangles {
	size_t from_x, from_y;
	unsigned int from_type;
	const void *from_host;
	device_ptr from_device;
	void *from_array;
	size_t from_pitch;
	size_t to_x, to_y;
	unsigned int to_type;
	void *to_host;
	device_ptr to_device;
	void *to_array;
	size_t to_pitch;
	size_t width, height;
};

enum { MEMORY_HOST = 1, MEMORY_ARRAY = 3 };

static int copy_2d(const struct rectangles *r, struct stream *handle, bool is_per_thread, bool is_async)
{
	struct stream *stream = stream_find(handle, is_per_thread);
	const char *from;
	char *to;

	if (!stream)
		return INVALID_HANDLE;
	if (!r || r->from_type == MEMORY_ARRAY || r->to_type == MEMORY_ARRAY)
		return INVALID_VALUE;
	from = r->from_type == MEMORY_HOST ? r->from_host : (const void *)r->from_device;
	to = r->to_type == MEMORY_HOST ? r->to_host : (void *)r->to_device;
	if (!from || !to || (r->height > 1 && (r->from_pitch < r->width || r->to_pitch < r->width)))
		return INVALID_VALUE;
	if (stream_refuse_capture(stream) != SUCCESS) /* not modelled */
		return CAPTURE_UNSUPPORTED;
	for (size_t y = 0; y < r->height; y++)
		memmove(to + (r->to_y + y) * r->to_pitch + r->to_x, from + (r->from_y + y) * r->from_pitch + r->from_x,
			r->width);
	give_work(stream, copy_ns(r->width * r->height));
	if (!is_async)
		wait_for(&stream->finish_ns, false);
	return SUCCESS;
}

int driver_copy_2d(const struct rectangles *rectangles)
{
	return copy_2d(rectangles, NULL, false, false);
}

int driver_copy_2d_ptsz(const struct rectangles *rectangles)
{
	return copy_2d(rectangles, NULL, true, false);
}

int driver_copy_2d_async(const struct rectangles *rectangles, struct stream *handle)
{
	return copy_2d(rectangles, handle, false, true);
}

int driver_copy_2d_async_ptsz(const struct rectangles *rectangles, struct stream *handle)
{
	return copy_2d(rectangles, handle, true, true);
}
