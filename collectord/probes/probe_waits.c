// SPDX-License-Identifier: Apache-2.0
/*
 * What threads waited for, and who ended their waits: map `waits` of the kernel half.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "probes/probe_set_state.h"

/* Return: number of entries read, or -errno */
static int waits_read(struct probe_set *set)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts, .elem_flags = 0);
	uint32_t n = WAITS_MAX, position;

	/* One call reads all of them; -ENOENT says that it came to the end. */
	if (bpf_map_lookup_batch(bpf_map__fd(set->bpf->maps.waits), NULL, &position, set->wait_keys, set->wait_values,
				 &n, &opts) &&
	    errno != ENOENT)
		return -errno;
	return (int)n;
}

int probe_set_waits(struct probe_set *set, probe_wait_func func, void *data)
{
	int n = waits_read(set), n_told = 0;

	for (int i = 0; i < n; i++) {
		if (!set->wait_values[i].count)
			continue; /* just being made */
		func(&set->wait_keys[i], &set->wait_values[i], data);
		n_told++;
	}
	return n < 0 ? n : n_told;
}

void probe_set_waits_forget(struct probe_set *set, uint32_t slot)
{
	int n = waits_read(set);

	for (int i = 0; i < n; i++)
		if (set->wait_keys[i].slot == slot)
			(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.waits), &set->wait_keys[i]);
}
