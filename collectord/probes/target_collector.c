// SPDX-License-Identifier: Apache-2.0
#include "probes/target_collector.h"

#include <errno.h>

#include "base/cleanup.h"
#include "children/parser.h"
#include "clock.h"
#include "probes/place.h"
#include "probes/target_memory.h"
#include "probes/target_process.h"

#define LOG_TOPIC "targets"
#include "base/log.h"

/* Limits of attached interpreters; guesses: few machines use more than a few interpreters. */
#define COLLECTORS_MAX 256
#define COLLECTORS_OF_USER_MAX 64

/* Perf events have 32 bits for a semaphore. */
static bool sites_are_sound(const struct parser_collector_site *sites, uint32_t n, uint64_t file_bytes)
{
	for (uint32_t i = 0; i < n; i++)
		if (sites[i].offset >= file_bytes || sites[i].semaphore >= file_bytes ||
		    sites[i].semaphore > UINT32_MAX || sites[i].n_head > PARSER_HEAD_BYTES)
			return false;
	return true;
}

bool target_collector_is_sound(const struct parser_collector *c, uint64_t file_bytes)
{
	return c->n_begins <= PARSER_COLLECTOR_SITES && c->n_ends <= PARSER_COLLECTOR_SITES &&
	       (c->n_begins || !c->n_ends) && sites_are_sound(c->begins, c->n_begins, file_bytes) &&
	       sites_are_sound(c->ends, c->n_ends, file_bytes);
}

static size_t collector_place(const struct parser_collector_site *from, size_t n, uint16_t machine, bool is_function,
			      struct probe_site *to)
{
	for (size_t i = 0; i < n; i++) {
		struct place place = { .delta = 0 };

		if (is_function)
			place = place_find(machine, from[i].head, from[i].n_head);
		to[i] = (struct probe_site){ .offset = from[i].offset + place.delta, .semaphore = from[i].semaphore };
	}
	return n;
}

void target_collector_take(struct target_file *file, const struct parser_collector *c, uint16_t machine)
{
	struct target_collector *to = &file->collector;
	bool are_functions = !c->n_ends;

	_Static_assert(ARRAY_SIZE(to->begins) == PARSER_COLLECTOR_SITES, "all of them");
	to->n_begins = collector_place(c->begins, c->n_begins, machine, are_functions, to->begins);
	to->n_ends = collector_place(c->ends, c->n_ends, machine, are_functions, to->ends);
}

void target_collector_detach(struct target_files *files, struct target_file *file)
{
	if (!file->collector.probes)
		return;
	probe_set_detach_library(files->probes, file->collector.probes);
	file->collector.probes = NULL;
	for (size_t i = files->collectors.n; i-- > 0;)
		if (files->collectors.items[i] == file)
			ARRAY_REMOVE_SWAP(&files->collectors, i);
}

/* Detach the probes of an earlier state of the file: probes belong to the inode. */
static void earlier_detach(struct target_files *files, const struct target_file *file)
{
	for (size_t i = files->collectors.n; i-- > 0;) {
		struct target_file *other = files->collectors.items[i];

		if (other->id.device == file->id.device && other->id.inode == file->id.inode)
			target_collector_detach(files, other);
	}
}

static bool collectors_have_room(const struct target_files *files, uint32_t uid)
{
	size_t n_of_user = 0;

	for (size_t i = 0; i < files->collectors.n; i++)
		n_of_user += files->collectors.items[i]->library.owner.uid == uid;
	return files->collectors.n < COLLECTORS_MAX && n_of_user < COLLECTORS_OF_USER_MAX;
}

bool target_collector_attach(struct target_files *files, struct target_file *file, int path_fd,
			     const struct file_identity *id)
{
	struct target_collector *c = &file->collector;
	int r;

	c->used_ns = clock_now_ns();
	if (c->probes)
		return true;
	if (!c->n_begins || c->is_refused || !file_identity_equal(id, &file->id))
		return false;
	earlier_detach(files, file);
	r = collectors_have_room(files, file->library.owner.uid) ? ARRAY_PUSH(&files->collectors, file) : -ENOSPC;
	if (r == 0) {
		r = probe_set_attach_collector(files->probes, path_fd, c->begins, c->n_begins, c->ends, c->n_ends,
					       &c->probes);
		if (r < 0)
			files->collectors.n--;
	}
	if (r < 0) {
		c->is_refused = true;
		(void)log_warning(r, "garbage collections of '%s' are not measured", file->library.path);
	}
	return c->probes != NULL;
}

void target_collectors_let_go(struct target_files *files, uint64_t now_ns, uint64_t unused_limit_ns)
{
	for (size_t i = files->collectors.n; i-- > 0;) {
		struct target_file *file = files->collectors.items[i];

		if (target_processes_interpret(files->processes, &file->id))
			file->collector.used_ns = now_ns;
		else if (now_ns - file->collector.used_ns > unused_limit_ns)
			target_collector_detach(files, file);
	}
}
