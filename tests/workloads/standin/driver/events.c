// SPDX-License-Identifier: Apache-2.0
/*
 * Events: the time at which what was given to a stream before them is done.
 */
#include "driver.h"

enum { EVENT_BLOCKING = 1 };

struct event *event_find(struct event *handle)
{
	if (handle < device.events || handle >= device.events + EVENTS_MAX || !handle->is_used)
		return NULL;
	return handle;
}

int driver_event_create(struct event **ret_event, unsigned int flags)
{
	for (size_t i = 0; i < EVENTS_MAX; i++) {
		struct event *event = &device.events[i];

		if (!__atomic_exchange_n(&event->is_used, true, __ATOMIC_ACQUIRE)) {
			event->at_ns = 0;
			event->capture = NULL;
			event->flags = flags;
			*ret_event = event;
			return SUCCESS;
		}
	}
	return OUT_OF_MEMORY;
}

int driver_event_destroy(struct event *handle)
{
	struct event *event = event_find(handle);

	if (!event)
		return INVALID_HANDLE;
	__atomic_store_n(&event->is_used, false, __ATOMIC_RELEASE);
	return SUCCESS;
}

static int event_record(struct event *event, struct stream *stream)
{
	uint64_t finish_ns;

	if (!event || !stream)
		return INVALID_HANDLE;
	event->capture = __atomic_load_n(&stream->capture, __ATOMIC_RELAXED);
	event->captured = stream;
	if (event->capture)
		return SUCCESS;
	finish_ns = __atomic_load_n(&stream->finish_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&event->at_ns, MAX(finish_ns, standin_now_ns()), __ATOMIC_RELAXED);
	return SUCCESS;
}

int driver_event_record(struct event *event, struct stream *handle)
{
	return event_record(event_find(event), stream_find(handle, false));
}

int driver_event_record_ptsz(struct event *event, struct stream *handle)
{
	return event_record(event_find(event), stream_find(handle, true));
}

int driver_event_query(struct event *handle)
{
	struct event *event = event_find(handle);

	if (!event)
		return INVALID_HANDLE;
	if (event->capture)
		return CAPTURED_EVENT;
	return standin_now_ns() < __atomic_load_n(&event->at_ns, __ATOMIC_RELAXED) ? NOT_READY : SUCCESS;
}

int driver_event_synchronize(struct event *handle)
{
	struct event *event = event_find(handle);

	if (!event)
		return INVALID_HANDLE;
	if (event->capture)
		return CAPTURED_EVENT;
	wait_for(&event->at_ns, event->flags & EVENT_BLOCKING);
	return SUCCESS;
}

int driver_event_elapsed(float *ret_ms, struct event *start, struct event *end)
{
	if (!event_find(start) || !event_find(end) || !start->at_ns || !end->at_ns)
		return INVALID_HANDLE;
	if (standin_now_ns() < MAX(start->at_ns, end->at_ns))
		return NOT_READY;
	*ret_ms = (float)((double)(int64_t)(end->at_ns - start->at_ns) / (double)NSEC_PER_MSEC);
	return SUCCESS;
}
