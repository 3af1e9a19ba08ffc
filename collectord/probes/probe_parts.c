// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "probes/probe_set_state.h"

struct probe_part {
	struct attach *attach;		/* NULL while detached */
	struct attach_closing *closing; /* of the last detach; NULL: over */
	struct probe_site *sites;	/* with the number in their cookies; NULL: the library has none of this group */
	size_t n_sites;
	unsigned int number; /* of the attach; 0 while it has no sites */
};

struct probe_parts {
	struct probe_part parts[PROBE_GROUP_COUNT]; /* by group; not split: all sites are in the first */
	int path_fd;				    /* -1: not split */
	struct stat file;			    /* as it was when the places of the probes were found */
};

enum probe_group probe_group_of(uint32_t id)
{
	const struct op *op = id < OP_GIVEN ? op_get(id) : NULL;

	if (!op || op->tier == OP_TIER_REQUEST)
		return PROBE_GROUP_REQUEST;
	if (op->tier == OP_TIER_ALWAYS)
		return PROBE_GROUP_ALWAYS;
	return op->layer == OP_LAYER_DRIVER ? PROBE_GROUP_DRIVER : PROBE_GROUP_RUNTIME;
}

static void state_set(struct probe_set *set, const struct probe_part *part, enum attach_state state)
{
	__atomic_store_n(&set->bpf->bss->attach_off[part->number], state, __ATOMIC_SEQ_CST);
}

static void parts_free(struct probe_parts *parts)
{
	for (size_t i = 0; i < PROBE_GROUP_COUNT; i++)
		free(parts->parts[i].sites);
	closep(&parts->path_fd);
	free(parts);
}

static void parts_freep(struct probe_parts **parts)
{
	if (*parts)
		parts_free(*parts);
}

static int part_site_add(struct probe_set *set, struct probe_part *part, const struct probe_site *site, size_t room)
{
	if (!part->sites) {
		part->sites = calloc(room, sizeof(*part->sites));
		part->number = probe_set_number_take(set);
	}
	if (!part->sites)
		return -ENOMEM;
	part->sites[part->n_sites] = *site;
	part->sites[part->n_sites++].cookie |= COOKIE_ATTACH(part->number);
	return 0;
}

/* The returns of open calls are not seen any more: reading the calls in progress counts these calls. */
static void thinned_calls_end(struct probe_set *set)
{
	(void)probe_set_in_flight(set, NULL, 0);
}

static int part_attach(struct probe_set *set, struct probe_part *part, int path_fd)
{
	int r;

	state_set(set, part, ATTACH_ON);
	r = probe_set_call_attach(set, path_fd, part->sites, part->n_sites, &part->attach);
	if (r < 0)
		state_set(set, part, ATTACH_THINNED);
	return r;
}

int probe_parts_open(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites, bool is_split,
		     struct probe_parts **ret_parts)
{
	CLEANUP(parts_freep) struct probe_parts *parts = calloc(1, sizeof(*parts));
	int r = 0;

	if (!parts)
		return -ENOMEM;
	parts->path_fd = is_split ? fcntl(path_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (is_split && (parts->path_fd < 0 || fstat(parts->path_fd, &parts->file) < 0))
		return -errno;
	for (size_t i = 0; i < n_sites && r == 0; i++) {
		enum probe_group group = is_split ? probe_group_of(COOKIE_OP(sites[i].cookie)) : PROBE_GROUP_ALWAYS;

		r = part_site_add(set, &parts->parts[group], &sites[i], n_sites);
	}
	for (size_t i = 0; i < PROBE_GROUP_COUNT && r == 0; i++)
		if (parts->parts[i].n_sites)
			r = part_attach(set, &parts->parts[i], path_fd);
	if (r < 0) {
		probe_parts_close(set, TAKE_PTR(parts));
		return r;
	}
	*ret_parts = TAKE_PTR(parts);
	return 0;
}

void probe_parts_close(struct probe_set *set, struct probe_parts *parts)
{
	if (!parts)
		return;
	for (size_t i = 0; i < PROBE_GROUP_COUNT; i++)
		if (parts->parts[i].n_sites)
			state_set(set, &parts->parts[i], ATTACH_OFF);
	for (size_t i = 0; i < PROBE_GROUP_COUNT; i++) {
		attach_close(parts->parts[i].attach);
		attach_closing_end(parts->parts[i].closing);
		attach_number_give(&set->numbers, parts->parts[i].number);
	}
	parts_free(parts);
}

/* Whether the places of the probes may be wrong now: a probe inside an instruction would kill the program. */
static bool is_written(const struct probe_parts *parts)
{
	const struct stat *then = &parts->file;
	struct stat now;

	return fstat(parts->path_fd, &now) < 0 || now.st_size != then->st_size ||
	       now.st_mtim.tv_sec != then->st_mtim.tv_sec || now.st_mtim.tv_nsec != then->st_mtim.tv_nsec;
}

/* Return: whether the part is detached for good, and may be attached again */
static bool part_is_closed(struct probe_set *set, struct probe_part *part)
{
	if (!part->closing)
		return true;
	if (!attach_closing_is_over(part->closing))
		return false;
	attach_closing_end(part->closing);
	part->closing = NULL;
	state_set(set, part, ATTACH_THINNED);
	thinned_calls_end(set);
	return true;
}

static void part_detach(struct probe_set *set, struct probe_part *part)
{
	state_set(set, part, ATTACH_CLOSING);
	part->closing = attach_close_aside(part->attach);
	part->attach = NULL;
	if (part->closing)
		return;
	state_set(set, part, ATTACH_THINNED);
	thinned_calls_end(set);
}

int probe_parts_set(struct probe_set *set, struct probe_parts *parts, uint32_t groups)
{
	int worst = 0;

	for (size_t i = 0; parts->path_fd >= 0 && i < PROBE_GROUP_COUNT; i++) {
		struct probe_part *part = &parts->parts[i];
		bool is_wanted = groups & PROBE_GROUP_BIT(i), is_closed = part_is_closed(set, part);
		int r = 0;

		if (!part->n_sites)
			continue;
		if (part->attach && !is_wanted)
			part_detach(set, part);
		else if (is_closed && !part->attach && is_wanted)
			r = is_written(parts) ? -ESTALE : part_attach(set, part, parts->path_fd);
		r = part->closing ? -EAGAIN : r;
		worst = worst < 0 && worst != -EAGAIN ? worst : r ? r : worst;
	}
	return worst;
}

uint32_t probe_parts_attached(const struct probe_parts *parts)
{
	uint32_t groups = parts->path_fd < 0 ? PROBE_GROUPS_ALL : 0;

	for (size_t i = 0; i < PROBE_GROUP_COUNT; i++)
		if (parts->parts[i].attach || !parts->parts[i].n_sites)
			groups |= PROBE_GROUP_BIT(i);
	return groups;
}
