// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/blame.h"

#include <assert.h>

#include "base/cleanup.h"

static const struct {
	const char *label;
	const char *phrase;
} words[] = {
	[BLAME_VIEW_ON_CPU] = { "cpu", "running on the CPU" },
	[BLAME_VIEW_RUNNABLE] = { "runnable", "ready to run while another task had the CPU" },
	[BLAME_VIEW_QUOTA] = { "quota", "ready to run but out of its cgroup's CPU quota" },
	[BLAME_VIEW_DEVICE] = { "device", "waiting in the GPU driver" },
	[BLAME_VIEW_LOCK] = { "lock", "waiting for another thread (futex)" },
	[BLAME_VIEW_BLOCK_IO] = { "disk", "waiting for a disk" },
	[BLAME_VIEW_MEMORY] = { "memory", "waiting for memory (page faults, reclaim)" },
	[BLAME_VIEW_NETWORK] = { "network", "waiting for a socket" },
	[BLAME_VIEW_SLEEP] = { "sleep", "asleep by its own wish" },
	[BLAME_VIEW_OTHER] = { "other", "blocked for a reason that is not told apart" },
};
static_assert(ARRAY_SIZE(words) == BLAME_VIEW_COUNT, "every class has its words");

struct blame_view blame_view_of(const Ingero__V1__Blame *blame)
{
	struct blame_view view = { .sum_ns = 0 };

	if (!blame)
		return view;

#define CLASS(id, field)                                                                                               \
	view.is_measured[id] = blame->has_##field;                                                                     \
	view.ns[id] = blame->has_##field ? blame->field : 0
	CLASS(BLAME_VIEW_ON_CPU, on_cpu);
	CLASS(BLAME_VIEW_RUNNABLE, runnable);
	CLASS(BLAME_VIEW_QUOTA, quota);
	CLASS(BLAME_VIEW_DEVICE, device);
	CLASS(BLAME_VIEW_LOCK, lock);
	CLASS(BLAME_VIEW_BLOCK_IO, block_io);
	CLASS(BLAME_VIEW_MEMORY, memory);
	CLASS(BLAME_VIEW_NETWORK, network);
	CLASS(BLAME_VIEW_SLEEP, sleep);
	CLASS(BLAME_VIEW_OTHER, other);
#undef CLASS
	for (size_t i = 0; i < BLAME_VIEW_COUNT; i++)
		view.sum_ns += view.ns[i];
	return view;
}

enum blame_view_class blame_view_largest(const struct blame_view *view, unsigned int except)
{
	enum blame_view_class found = BLAME_VIEW_COUNT;

	for (enum blame_view_class i = 0; i < BLAME_VIEW_COUNT; i++)
		if (!(except & 1u << i) && view->ns[i] > (found == BLAME_VIEW_COUNT ? 0 : view->ns[found]))
			found = i;
	return found;
}

uint64_t blame_view_waits_for_cpu_ns(const struct blame_view *view)
{
	return view->ns[BLAME_VIEW_RUNNABLE] + view->ns[BLAME_VIEW_QUOTA];
}

const char *blame_view_label(enum blame_view_class class)
{
	return words[class].label;
}

const char *blame_view_phrase(enum blame_view_class class)
{
	return words[class].phrase;
}
