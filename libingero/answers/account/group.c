// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/account/group.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process_name.h"
#include "base/wait_words.h"
#include "libingero/render/blame.h"

#define MOSTLY_RATIO 0.95 /* share of the time of a class below which its cause is not all of it */

static const struct account_group_words group_words[] = {
	[GROUP_READY] = { "ready, no CPU", "ready", "behind " },
	[GROUP_QUOTA] = { "out of CPU quota", NULL, "" },
	[GROUP_CALL] = { "other calls", NULL, "" },
	[GROUP_CPU] = { "on the CPU between calls", "on the CPU", "" },
	[GROUP_PYTHON] = { "Python on the CPU", "Python", "" },
	[GROUP_GC] = { "garbage collection", NULL, "" },
	[GROUP_PIPE] = { "waits for a pipe", NULL, "from " },
	[GROUP_SOCKET] = { "waits for " WAIT_WORDS_SOCKET, NULL, WAIT_WORDS_SOCKET_BY " " },
	[GROUP_FULL_PIPE] = { "waits for " WAIT_WORDS_FULL_PIPE, NULL, "" },
	[GROUP_FULL_SOCKET] = { "waits for " WAIT_WORDS_FULL_SOCKET, NULL, "" },
	[GROUP_GIL] = { "waits for " WAIT_WORDS_GIL, NULL, WAIT_WORDS_GIL_BY " " },
	[GROUP_LOCK] = { "waits for " WAIT_WORDS_LOCK, NULL, WAIT_WORDS_LOCK_BY " " },
	[GROUP_FILE_LOCK] = { "waits for a file lock", NULL, "" },
	[GROUP_DISK] = { "waits for " WAIT_WORDS_DISK, NULL, "" },
	[GROUP_FILE] = { "waits for a file", NULL, "" },
	[GROUP_WRITTEN] = { "waits for " WAIT_WORDS_WRITTEN, NULL, "" },
	[GROUP_MEMORY] = { "waits for " WAIT_WORDS_MEMORY, NULL, "" },
	[GROUP_CHILD] = { "waits for " WAIT_WORDS_CHILD, NULL, "" },
	[GROUP_DRIVER] = { "waits in the GPU driver", NULL, "" },
	[GROUP_SLEEP] = { "sleeping", NULL, "" },
	[GROUP_STOPPED] = { "stopped", NULL, WAIT_WORDS_STOPPED_BY " " },
	[GROUP_SIGNALLED] = { "stopped by a signal", NULL, WAIT_WORDS_STOPPED_BY " " },
	[GROUP_TRACED] = { "stopped by a debugger", NULL, WAIT_WORDS_STOPPED_BY " " },
	[GROUP_FROZEN] = { "frozen by its cgroup", NULL, WAIT_WORDS_STOPPED_BY " " },
	[GROUP_HELD] = { "stopped by Ingero", NULL, "" },
	[GROUP_WOKEN] = { "waits to be woken", NULL, "by " },
	[GROUP_BLOCKED] = { "blocked, reason unknown", "blocked", "" },
	[GROUP_NOT_KNOWN] = { "not known", NULL, "" },
	[GROUP_REST] = { "other", NULL, "" },
};

const struct account_group_words *account_group_words(enum cause_group kind)
{
	return &group_words[kind];
}

static bool is_python_account(const Ingero__V1__Account *account)
{
	const char *script = account->program ? account->program->script : NULL;

	return process_name_is_python(account->process_name ? account->process_name : "", script ? script : "");
}

static enum cause_group group_of_class(enum blame_view_class class)
{
	switch (class) {
	case BLAME_VIEW_LOCK:
		return GROUP_LOCK;
	case BLAME_VIEW_BLOCK_IO:
		return GROUP_DISK;
	case BLAME_VIEW_MEMORY:
		return GROUP_MEMORY;
	case BLAME_VIEW_NETWORK:
		return GROUP_SOCKET;
	case BLAME_VIEW_SLEEP:
		return GROUP_SLEEP;
	case BLAME_VIEW_DEVICE:
		return GROUP_DRIVER;
	default:
		return GROUP_BLOCKED;
	}
}

bool account_is_collection(const Ingero__V1__AccountPart *part)
{
	return part->resource && strcmp(part->resource->kind, "gc") == 0;
}

enum cause_group account_stop_group(const Ingero__V1__AccountPart *part)
{
	static const struct {
		const char *name;
		enum cause_group group;
	} by_name[] = { { "signal", GROUP_SIGNALLED },
			{ "debugger", GROUP_TRACED },
			{ "freezer", GROUP_FROZEN },
			{ "ingero", GROUP_HELD } };

	if (!part->resource || strcmp(part->resource->kind, "stopped") != 0)
		return GROUP_BLOCKED;
	for (size_t i = 0; i < ARRAY_SIZE(by_name); i++)
		if (strcmp(part->resource->name, by_name[i].name) == 0)
			return by_name[i].group;
	return GROUP_STOPPED;
}

enum cause_group account_group_of(const Ingero__V1__Account *account, const Ingero__V1__AccountPart *part)
{
	static const struct {
		const char *kind;
		enum cause_group group;
	} by_resource[] = {
		{ "gil", GROUP_GIL },
		{ "futex", GROUP_LOCK },
		{ "pipe", GROUP_PIPE },
		{ "peer", GROUP_SOCKET },
		{ "file_lock", GROUP_FILE_LOCK },
		{ "child", GROUP_CHILD },
		{ "full_pipe", GROUP_FULL_PIPE },
		{ "full_peer", GROUP_FULL_SOCKET },
	};
	enum blame_view_class class = blame_view_parse(part->class_);

	if (strcmp(part->where, "not_known") == 0)
		return GROUP_NOT_KNOWN;
	if (class == BLAME_VIEW_RUNNABLE)
		return GROUP_READY;
	if (class == BLAME_VIEW_QUOTA)
		return GROUP_QUOTA;
	if (strcmp(part->where, "in") == 0)
		return GROUP_CALL;
	if (class == BLAME_VIEW_ON_CPU && account_is_collection(part))
		return GROUP_GC;
	if (class == BLAME_VIEW_ON_CPU)
		return is_python_account(account) ? GROUP_PYTHON : GROUP_CPU;
	for (size_t i = 0; part->resource && i < ARRAY_SIZE(by_resource); i++)
		if (strcmp(part->resource->kind, by_resource[i].kind) == 0)
			return by_resource[i].group;
	if (account_stop_group(part) != GROUP_BLOCKED)
		return account_stop_group(part);
	if (part->resource && strcmp(part->resource->kind, "device") == 0 && class != BLAME_VIEW_MEMORY &&
	    class != BLAME_VIEW_DEVICE)
		return GROUP_DISK;
	if (part->resource && strcmp(part->resource->kind, "written") == 0 && class != BLAME_VIEW_MEMORY)
		return GROUP_WRITTEN;
	if (part->resource && group_of_class(class) == GROUP_BLOCKED && strcmp(part->resource->kind, "inode") == 0)
		return GROUP_FILE;
	return part->by && group_of_class(class) == GROUP_BLOCKED ? GROUP_WOKEN : group_of_class(class);
}

bool account_group_is_wait(enum cause_group kind)
{
	switch (kind) {
	case GROUP_PIPE:
	case GROUP_SOCKET:
	case GROUP_FULL_PIPE:
	case GROUP_FULL_SOCKET:
	case GROUP_STOPPED:
	case GROUP_SIGNALLED:
	case GROUP_TRACED:
	case GROUP_FROZEN:
	case GROUP_HELD:
	case GROUP_GIL:
	case GROUP_LOCK:
	case GROUP_FILE_LOCK:
	case GROUP_DISK:
	case GROUP_FILE:
	case GROUP_WRITTEN:
	case GROUP_MEMORY:
	case GROUP_CHILD:
	case GROUP_WOKEN:
	case GROUP_BLOCKED:
		return true;
	case GROUP_READY:
	case GROUP_QUOTA:
	case GROUP_CALL:
	case GROUP_CPU:
	case GROUP_PYTHON:
	case GROUP_GC:
	case GROUP_DRIVER:
	case GROUP_SLEEP:
	case GROUP_NOT_KNOWN:
	case GROUP_REST:
		break;
	}
	return false;
}

/* The cause of time blocked, in a call, too; GROUP_BLOCKED: unknown. */
static enum cause_group blocked_group(const Ingero__V1__Account *account, const Ingero__V1__AccountPart *part)
{
	return strcmp(part->where, "between") == 0 ? account_group_of(account, part) : account_stop_group(part);
}

struct account_class_words account_class_words(const Ingero__V1__Account *account, const char *class, bool in_calls)
{
	static const char waits[] = "waits ";
	enum blame_view_class view_class = blame_view_parse(class);
	uint64_t sum_ns = 0, ns[GROUP_REST + 1] = { 0 };
	enum cause_group most = GROUP_BLOCKED;
	struct account_class_words words;
	const char *label, *mostly;

	for (size_t i = 0; account && view_class == BLAME_VIEW_OTHER && i < account->n_parts; i++) {
		const Ingero__V1__AccountPart *part = account->parts[i];

		if (strcmp(part->class_, class) != 0 || (in_calls && strcmp(part->where, "in") != 0))
			continue;
		sum_ns += part->ns;
		ns[blocked_group(account, part)] += part->ns;
	}
	for (enum cause_group kind = 0; kind <= GROUP_REST; kind++)
		if (account_group_is_wait(kind) && ns[kind] > sum_ns / 2)
			most = kind;
	mostly = (double)ns[most] < MOSTLY_RATIO * (double)sum_ns ? "mostly " : "";
	label = group_words[most].label;
	if (most == GROUP_BLOCKED)
		(void)snprintf(words.text, sizeof(words.text), "%s",
			       view_class == BLAME_VIEW_COUNT ? class : blame_view_phrase(view_class));
	else if (strncmp(label, waits, strlen(waits)) == 0)
		(void)snprintf(words.text, sizeof(words.text), "%swaiting %s", mostly, label + strlen(waits));
	else
		(void)snprintf(words.text, sizeof(words.text), "%s%s", mostly, label);
	return words;
}
