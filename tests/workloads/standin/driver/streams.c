// SPDX-License-Identifier: Apache-2.0
/*
 * Streams: each a time at which its work will be done.
 */
#include "driver.h"

#define PER_THREAD_STREAM 2u /* handle that names the calling thread's own default stream */
#define PRIORITY_GREATEST (-5)

static __thread struct stream own_stream; /* the per-thread default stream */

struct stream *stream_find(struct stream *handle, bool is_per_thread)
{
	if (!handle)
		return is_per_thread ? &own_stream : &device.legacy;
	if ((uintptr_t)handle <= PER_THREAD_STREAM)
		return (uintptr_t)handle == PER_THREAD_STREAM ? &own_stream : &device.legacy;
	if (handle < device.streams || handle >= device.streams + STREAMS_MAX || !handle->is_used)
		return NULL;
	return handle;
}

int driver_stream_create_with_priority(struct stream **ret_stream, unsigned int flags, int priority)
{
	if (!ret_stream)
		return INVALID_VALUE;
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = &device.streams[i];

		if (!__atomic_exchange_n(&stream->is_used, true, __ATOMIC_ACQUIRE)) {
			stream->finish_ns = 0;
			stream->flags = flags;
			stream->priority = MAX(MIN(priority, 0), PRIORITY_GREATEST);
			*ret_stream = stream;
			return SUCCESS;
		}
	}
	return OUT_OF_MEMORY;
}

int driver_stream_create(struct stream **ret_stream, unsigned int flags)
{
	return driver_stream_create_with_priority(ret_stream, flags, 0);
}

/* Greater priorities are smaller numbers. */
int driver_stream_priority_range(int *ret_least, int *ret_greatest)
{
	if (ret_least)
		*ret_least = 0;
	if (ret_greatest)
		*ret_greatest = PRIORITY_GREATEST;
	return SUCCESS;
}

int driver_stream_destroy(struct stream *handle)
{
	struct stream *stream = stream_find(handle, false);

	if (!handle || !stream || stream != handle)
		return INVALID_HANDLE;
	if (stream_refuse_capture(stream) != SUCCESS)
		return CAPTURE_UNSUPPORTED;
	__atomic_store_n(&stream->is_used, false, __ATOMIC_RELEASE);
	return SUCCESS;
}

static int stream_query(struct stream *stream)
{
	int r;

	if (!stream)
		return INVALID_HANDLE;
	r = stream_refuse_capture(stream);
	if (r != SUCCESS)
		return r;
	return standin_now_ns() < __atomic_load_n(&stream->finish_ns, __ATOMIC_RELAXED) ? NOT_READY : SUCCESS;
}

int driver_stream_query(struct stream *handle)
{
	return stream_query(stream_find(handle, false));
}

int driver_stream_query_ptsz(struct stream *handle)
{
	return stream_query(stream_find(handle, true));
}

static int stream_synchronize(struct stream *stream)
{
	int r;

	if (!stream)
		return INVALID_HANDLE;
	r = stream_refuse_capture(stream);
	if (r != SUCCESS)
		return r;
	wait_for(&stream->finish_ns, false);
	return SUCCESS;
}

int driver_stream_synchronize(struct stream *handle)
{
	return stream_synchronize(stream_find(handle, false));
}

int driver_stream_synchronize_ptsz(struct stream *handle)
{
	return stream_synchronize(stream_find(handle, true));
}

static int stream_wait_event(struct stream *stream, struct event *event)
{
	if (!stream || !event)
		return INVALID_HANDLE;
	if (event->capture || __atomic_load_n(&stream->capture, __ATOMIC_RELAXED))
		return stream_join_capture(stream, event);
	raise_to(&stream->finish_ns, __atomic_load_n(&event->at_ns, __ATOMIC_RELAXED));
	return SUCCESS;
}

int driver_stream_wait_event(struct stream *handle, struct event *event, unsigned int flags)
{
	(void)flags;
	return stream_wait_event(stream_find(handle, false), event_find(event));
}

int driver_stream_wait_event_ptsz(struct stream *handle, struct event *event, unsigned int flags)
{
	(void)flags;
	return stream_wait_event(stream_find(handle, true), event_find(event));
}

static int stream_get_priority(struct stream *stream, int *ret_priority)
{
	if (!stream)
		return INVALID_HANDLE;
	*ret_priority = stream->priority;
	return SUCCESS;
}

int driver_stream_get_priority(struct stream *handle, int *ret_priority)
{
	return stream_get_priority(stream_find(handle, false), ret_priority);
}

int driver_stream_get_priority_ptsz(struct stream *handle, int *ret_priority)
{
	return stream_get_priority(stream_find(handle, true), ret_priority);
}

static int stream_get_flags(struct stream *stream, unsigned int *ret_flags)
{
	if (!stream)
		return INVALID_HANDLE;
	*ret_flags = stream->flags;
	return SUCCESS;
}

int driver_stream_get_flags(struct stream *handle, unsigned int *ret_flags)
{
	return stream_get_flags(stream_find(handle, false), ret_flags);
}

int driver_stream_get_flags_ptsz(struct stream *handle, unsigned int *ret_flags)
{
	return stream_get_flags(stream_find(handle, true), ret_flags);
}

int driver_stream_get_context(struct stream *handle, struct context **ret_context)
{
	if (!stream_find(handle, false))
		return INVALID_HANDLE;
	*ret_context = current ? current : &device.primary;
	return SUCCESS;
}
