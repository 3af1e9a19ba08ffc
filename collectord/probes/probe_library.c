// SPDX-License-Identifier: Apache-2.0
/*
 * Attached libraries: call probes by library file, loaders, and the hooks that are attached with the first library and
 * detached with the last.
 */
#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probes/probe_parts.h"
#include "probes/probe_set_state.h"

struct probe_library {
	struct attach *attach;	   /* NULL: it has call probes */
	struct probe_parts *calls; /* NULL: it has probes of another kind */
	struct attach *ends;	   /* ends of garbage collections, if these have sites of their own; else NULL */
	unsigned int number;	   /* number of the attach, in its cookies */
	uint32_t watch;		   /* number among those where code objects are freed; 0: it is none of these */
	size_t *n_family;	   /* counter of the set that includes this library */
};

static struct attach_programs call_programs(const struct probe_set *set)
{
	bool is_session = set->back_end == PROBE_BACK_END_SESSION;
	const struct attach_programs programs = {
		.session_fd = is_session ? bpf_program__fd(set->bpf->progs.call_session) : -1,
		.entry_fd = is_session ? -1 : bpf_program__fd(set->bpf->progs.call_entry),
		.return_fd = is_session ? -1 : bpf_program__fd(set->bpf->progs.call_return),
	};

	return programs;
}

static uint64_t boot_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* A return without a seen entry is a loss only in threads that are older than the attach. */
int probe_set_call_attach(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
			  struct attach **ret_attach)
{
	const struct attach_programs programs = call_programs(set);
	int r;

	__atomic_store_n(&set->bpf->data->attached_boot_ns, UINT64_MAX, __ATOMIC_SEQ_CST);
	r = attach_open(set->back_end, &programs, path_fd, sites, n_sites, ret_attach);
	__atomic_store_n(&set->bpf->data->attached_boot_ns, boot_now_ns(), __ATOMIC_SEQ_CST);
	return r;
}

static int library_new(struct attach **attach, size_t *n_family, unsigned int number,
		       struct probe_library **ret_library)
{
	struct probe_library *library = calloc(1, sizeof(*library));

	if (!library)
		return -ENOMEM;
	library->attach = TAKE_PTR(*attach);
	library->n_family = n_family;
	library->number = number;
	*ret_library = library;
	return 0;
}

unsigned int probe_set_number_take(struct probe_set *set)
{
	unsigned int number = attach_number_take(&set->numbers);

	set->bpf->bss->attach_off[number] = ATTACH_ON;
	return number;
}

/* Copy the sites and add the number to their cookies. Return: NULL without memory */
static struct probe_site *sites_number(const struct probe_site *sites, size_t n_sites, unsigned int number)
{
	struct probe_site *numbered = calloc(n_sites + 1, sizeof(*numbered));

	for (size_t i = 0; numbered && i < n_sites; i++) {
		numbered[i] = sites[i];
		numbered[i].cookie |= COOKIE_ATTACH(number);
	}
	return numbered;
}

int probe_set_attach_library(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
			     struct probe_library **ret_library)
{
	struct probe_parts *parts = NULL;
	struct attach *none = NULL;
	int r;

	/* Hooks first, so that no wait inside a call is missed. */
	set->n_libraries++;
	r = hooks_update(set);
	if (r == 0)
		r = probe_parts_open(set, path_fd, sites, n_sites, set->is_thinned, &parts);
	if (r == 0)
		r = library_new(&none, &set->n_libraries, 0, ret_library);
	if (r == 0) {
		(*ret_library)->calls = parts;
		return 0;
	}
	probe_parts_close(set, parts);
	set->n_libraries--;
	(void)hooks_update(set);
	return r;
}

int probe_set_library_thin(struct probe_set *set, struct probe_library *library, uint32_t groups)
{
	return probe_parts_set(set, library->calls, groups);
}

uint32_t probe_set_library_groups(const struct probe_library *library)
{
	return probe_parts_attached(library->calls);
}

/*
 * The returns of open calls of a detached library are not seen: reading the calls in progress counts these calls as
 * never returned. Perf events continue to run their programs, which drop such calls as soon as they see that they are
 * switched off. This waits for programs that have not seen it yet.
 */
static void calls_give_up(struct probe_set *set)
{
	if (set->back_end == PROBE_BACK_END_PERF)
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	(void)probe_set_in_flight(set, NULL, 0);
}

void probe_set_detach_library(struct probe_set *set, struct probe_library *library)
{
	if (!library)
		return;
	/* Before the probe is gone: without it every code object is compared. */
	if (library->watch)
		__atomic_store_n(&set->bpf->bss->code_watches[library->watch % CODE_WATCHES], 0, __ATOMIC_SEQ_CST);
	else if (library->n_family == &set->n_collectors)
		__atomic_store_n(&set->bpf->bss->attach_off[library->number], 1, __ATOMIC_SEQ_CST);
	attach_close(library->attach);
	attach_close(library->ends);
	probe_parts_close(set, library->calls);
	attach_number_give(&set->numbers, library->number);
	if (library->n_family == &set->n_libraries)
		calls_give_up(set);
	if (library->n_family == &set->n_collectors)
		set->bpf->bss->collectors++;
	assert(*library->n_family);
	--*library->n_family;
	(void)hooks_update(set); /* this only detaches hooks, which cannot fail */
	free(library);
}

int probe_set_attach_loader(struct probe_set *set, int path_fd, uint64_t debug_state_offset, int64_t r_debug_delta,
			    struct probe_library **ret_library)
{
	const struct probe_site site = { .offset = debug_state_offset, .cookie = (uint64_t)r_debug_delta };
	const struct attach_programs programs = {
		.session_fd = -1,
		.entry_fd = bpf_program__fd(set->bpf->progs.loader_changed),
		.return_fd = -1,
	};
	CLEANUP(attach_closep) struct attach *attach = NULL;
	int r;

	r = hooks_update(set);
	if (r == 0)
		r = attach_open(set->back_end, &programs, path_fd, &site, 1, &attach);
	if (r == 0)
		r = library_new(&attach, &set->n_loaders, 0, ret_library);
	if (r == 0)
		set->n_loaders++;
	return r;
}

/* Ends first: a collection of which only the end is seen is not counted. */
int probe_set_attach_collector(struct probe_set *set, int path_fd, const struct probe_site *begins, size_t n_begins,
			       const struct probe_site *ends, size_t n_ends, struct probe_library **ret_library)
{
	int begin_fd = bpf_program__fd(set->bpf->progs.collection_begin),
	    end_fd = bpf_program__fd(set->bpf->progs.collection_end);
	const struct attach_programs end = { .session_fd = -1, .entry_fd = end_fd, .return_fd = -1 };
	const struct attach_programs begin = { .session_fd = -1,
					       .entry_fd = begin_fd,
					       .return_fd = n_ends ? -1 : end_fd };
	unsigned int number = probe_set_number_take(set);
	CLEANUP(freep) struct probe_site *numbered = sites_number(begins, n_begins, number);
	CLEANUP(freep) struct probe_site *numbered_ends = sites_number(ends, n_ends, number);
	CLEANUP(attach_closep) struct attach *attach = NULL, *attach_ends = NULL;
	int r = 0;

	if (!numbered || !numbered_ends)
		r = -ENOMEM;
	if (r == 0 && n_ends)
		r = attach_open(set->back_end, &end, path_fd, numbered_ends, n_ends, &attach_ends);
	if (r == 0)
		r = attach_open(set->back_end, &begin, path_fd, numbered, n_begins, &attach);
	if (r == 0)
		r = library_new(&attach, &set->n_collectors, number, ret_library);
	if (r < 0) {
		attach_number_give(&set->numbers, number);
		return r;
	}
	(*ret_library)->ends = TAKE_PTR(attach_ends);
	set->n_collectors++;
	set->bpf->bss->collectors++;
	return 0;
}

/* Return: a number whose place is free; 0: there is none */
static uint32_t watch_number_take(struct probe_set *set)
{
	for (uint32_t i = 0; i < CODE_WATCHES; i++) {
		uint32_t number = ++set->last_watch;

		if (number && !set->bpf->bss->code_watches[number % CODE_WATCHES])
			return number;
	}
	return 0;
}

int probe_set_attach_code_watch(struct probe_set *set, int path_fd, const struct probe_site *site,
				struct probe_library **ret_library, uint32_t *ret_number)
{
	const struct attach_programs programs = {
		.session_fd = -1,
		.entry_fd = bpf_program__fd(set->bpf->progs.code_freed),
		.return_fd = -1,
	};
	CLEANUP(attach_closep) struct attach *attach = NULL;
	uint32_t number = watch_number_take(set);
	int r = number ? 0 : -ENOSPC;

	if (r == 0)
		r = attach_open(set->back_end, &programs, path_fd, site, 1, &attach);
	if (r == 0)
		r = library_new(&attach, &set->n_watches, 0, ret_library);
	if (r < 0)
		return r;
	(*ret_library)->watch = number;
	set->n_watches++;
	__atomic_store_n(&set->bpf->bss->code_watches[number % CODE_WATCHES], number, __ATOMIC_SEQ_CST);
	*ret_number = number;
	return 0;
}
