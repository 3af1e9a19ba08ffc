// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/account/chain.h"

#include <stdio.h>
#include <string.h>

#include "libingero/render/blame.h"
#include "libingero/render/units.h"
#include "libingero/render/user.h"

#define CHAIN_LEAST_RATIO 0.1  /* less is not what the wait was for */
#define CHAIN_NAME_BYTES 47    /* of a path */
#define CHAIN_ALONE_RATIO 0.95 /* from here on there is no percentage */

/* Return: hops of which it is known what they did */
static size_t known_hops(Ingero__V1__Hop *const *hops, size_t n)
{
	size_t known = 0;

	while (known < n && *hops[known]->class_)
		known++;
	return known;
}

/* Of a long path the end. */
static void name_append(const char *name, struct buf *text)
{
	size_t n = strlen(name);

	if (n <= CHAIN_NAME_BYTES)
		(void)buf_append_text(text, name);
	else
		(void)buf_printf(text, "...%s", name + n - (CHAIN_NAME_BYTES - 3));
}

static void did_append(const Ingero__V1__Hop *hop, struct buf *text)
{
	static const struct {
		const char *kind, *named, *unnamed; /* of a resource */
	} by_resource[] = {
		{ "inode", "reads %s", "reads files" },
		{ "written", "writes %s", "writes files" },
		{ "device", "waits for the disk %s", "waits for a disk" },
		{ "pipe", "waits for the pipe %s", "waits for a pipe" },
		{ "full_pipe", "waits for room in the pipe %s", "waits for room in a pipe" },
		{ "peer", NULL, "waits for a socket" },
		{ "full_peer", NULL, "waits for room in a socket" },
		{ "stopped", NULL, "stopped" },
		{ "gil", NULL, "waits for the GIL" },
		{ "futex", NULL, "waits for a lock" },
		{ "file_lock", "waits for the lock of %s", "waits for the lock of a file" },
		{ "child", NULL, "waits for a child process" },
		{ "cgroup", NULL, "out of CPU quota" },
	};
	static const char *const by_class[BLAME_VIEW_COUNT] = {
		[BLAME_VIEW_ON_CPU] = "computes",
		[BLAME_VIEW_RUNNABLE] = "ready, no CPU",
		[BLAME_VIEW_QUOTA] = "out of CPU quota",
		[BLAME_VIEW_DEVICE] = "waits in the GPU driver", /* whatever the device */
		[BLAME_VIEW_LOCK] = "waits for a lock",
		[BLAME_VIEW_BLOCK_IO] = "waits for a disk",
		[BLAME_VIEW_MEMORY] = "waits for memory",
		[BLAME_VIEW_NETWORK] = "waits for a socket",
		[BLAME_VIEW_SLEEP] = "sleeps",
	};
	const Ingero__V1__Resource *resource = hop->resource;
	enum blame_view_class class = blame_view_parse(hop->class_);

	for (size_t i = 0; resource && class != BLAME_VIEW_DEVICE && i < ARRAY_SIZE(by_resource); i++) {
		if (strcmp(resource->kind, by_resource[i].kind) != 0)
			continue;
		if (by_resource[i].named && resource->name[0]) {
			(void)buf_append(text, by_resource[i].named, strcspn(by_resource[i].named, "%"));
			name_append(resource->name, text);
		} else {
			(void)buf_append_text(text, by_resource[i].unnamed);
		}
		return;
	}
	(void)buf_append_text(text, class < BLAME_VIEW_COUNT && by_class[class] ? by_class[class] : "waits");
}

static void waker_append(const Ingero__V1__Waker *by, uint32_t pid, struct buf *text)
{
	if (by->pid == pid)
		(void)buf_printf(text, "thread %u", by->tid);
	else if (by->pid)
		(void)buf_printf(text, "%.16s (%u)", by->comm, by->pid);
	else
		(void)buf_append_text(text, user_hidden_process(by->uid));
}

struct chain_text chain_text(Ingero__V1__Hop *const *hops, size_t n, uint32_t pid)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	size_t known = known_hops(hops, n);
	struct chain_text out;

	for (size_t i = 1; i < n && i <= known; i++) {
		if (hops[i]->by->pid && hops[i]->by->pid == hops[i - 1]->by->pid && hops[i]->by->pid != pid)
			continue;
		(void)buf_append_text(&text, text.n ? " ← " : "");
		waker_append(hops[i]->by, pid, &text);
	}
	if (known && known == n) {
		(void)buf_append_text(&text, text.n ? " ← " : "");
		did_append(hops[known - 1], &text);
	}
	(void)snprintf(out.text, sizeof(out.text), "%s", buf_text(&text));
	return out;
}

uint64_t chain_ns(Ingero__V1__Hop *const *hops, size_t n)
{
	size_t known = known_hops(hops, n);

	return known ? hops[known - 1]->ns : 0;
}

void chain_append(const struct chain_text *chain, double ratio, const char *link, struct buf *text)
{
	if (!chain->text[0] || ratio < CHAIN_LEAST_RATIO)
		return;
	(void)buf_printf(text, "%s%s", link, chain->text);
	if (ratio < CHAIN_ALONE_RATIO)
		(void)buf_printf(text, " %s", units_ratio(ratio, UNITS_TIGHT).text);
}
