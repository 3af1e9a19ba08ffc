// SPDX-License-Identifier: Apache-2.0
#include "floor.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "empty.skel.h"
#include "probes/attach.h"

struct floor {
	enum probe_back_end back_end;
	struct empty *bpf;
	struct attach *attach;
};

int floor_open(enum probe_back_end back_end, struct floor **ret_floor)
{
	bool is_session = back_end == PROBE_BACK_END_SESSION;
	struct floor *floor = calloc(1, sizeof(*floor));
	int r;

	if (!floor)
		return -ENOMEM;
	floor->back_end = back_end;
	floor->bpf = empty__open();
	if (!floor->bpf) {
		free(floor);
		return -errno;
	}
	(void)bpf_program__set_autoload(floor->bpf->progs.empty_session, is_session);
	(void)bpf_program__set_autoload(floor->bpf->progs.empty_entry, !is_session);
	(void)bpf_program__set_autoload(floor->bpf->progs.empty_return, !is_session);
	if (is_session) {
		(void)bpf_program__set_expected_attach_type(floor->bpf->progs.empty_session,
							    (enum bpf_attach_type)ATTACH_TYPE_UPROBE_SESSION);
	} else if (back_end == PROBE_BACK_END_MULTI) {
		(void)bpf_program__set_expected_attach_type(floor->bpf->progs.empty_entry,
							    (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
		(void)bpf_program__set_expected_attach_type(floor->bpf->progs.empty_return,
							    (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
	}
	r = empty__load(floor->bpf);
	if (r < 0) {
		floor_close(floor);
		return r;
	}
	*ret_floor = floor;
	return 0;
}

int floor_attach(struct floor *floor, int path_fd, const struct probe_site *sites, size_t n_sites)
{
	bool is_session = floor->back_end == PROBE_BACK_END_SESSION;
	const struct attach_programs programs = {
		.session_fd = is_session ? bpf_program__fd(floor->bpf->progs.empty_session) : -1,
		.entry_fd = is_session ? -1 : bpf_program__fd(floor->bpf->progs.empty_entry),
		.return_fd = is_session ? -1 : bpf_program__fd(floor->bpf->progs.empty_return),
	};

	return attach_open(floor->back_end, &programs, path_fd, sites, n_sites, &floor->attach);
}

void floor_detach(struct floor *floor)
{
	attach_close(floor->attach);
	floor->attach = NULL;
}

void floor_close(struct floor *floor)
{
	attach_close(floor->attach);
	empty__destroy(floor->bpf);
	free(floor);
}
