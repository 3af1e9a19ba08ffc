// SPDX-License-Identifier: Apache-2.0
#include "probes/kernel_traits.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const optional_tracepoints[] = {
	"block_bio_queue",
	"mark_victim",
	"mm_page_alloc",
	"mm_vmscan_direct_reclaim_begin",
	"mm_vmscan_direct_reclaim_end",
	"mm_vmscan_memcg_reclaim_begin", /* CONFIG_MEMCG */
	"mm_vmscan_memcg_reclaim_end",
};

/* Find a struct in the running kernel's type information. */
static const struct btf_type *btf_struct(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

static bool btf_has_field(const struct btf *btf, const char *type, const char *field)
{
	const struct btf_type *t = btf_struct(btf, type);
	uint16_t i;

	for (i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), field) == 0)
			return true;
	return false;
}

static const struct btf_type *btf_tracepoint(const struct btf *btf, const char *name)
{
	char type[64];
	const struct btf_type *t;
	int id;

	(void)snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	if (t)
		t = btf__type_by_id(btf, t->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? t : NULL;
}

/* Number of arguments of a tracepoint, 0 when it is unknown. */
static unsigned int btf_tracepoint_args(const struct btf *btf, const char *name)
{
	const struct btf_type *t = btf_tracepoint(btf, name);

	return t ? btf_vlen(t) - 1u : 0;
}

/* Whether its first argument is a pointer. */
static bool btf_tracepoint_points(const struct btf *btf, const char *name)
{
	const struct btf_type *t = btf_tracepoint(btf, name);

	t = t && btf_vlen(t) > 1 ? btf__type_by_id(btf, btf_params(t)[1].type) : NULL;
	return t && btf_is_ptr(t);
}

/* Whether programs may call a helper: the kernel's type information lists its name. */
static bool btf_has_helper(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	uint16_t i;

	for (i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name) == 0)
			return true;
	return false;
}

int kernel_traits_read(struct kernel_traits *ret_traits)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct kernel_traits t = {};

	if (!btf)
		return -errno;
	t.has_sched = btf_has_field(btf, "sched_info", "run_delay") && btf_has_field(btf, "sched_entity", "cfs_rq") &&
		      btf_has_field(btf, "cfs_rq", "rq") && btf_has_field(btf, "rq", "clock");
	t.has_switch_state = btf_tracepoint_args(btf, "sched_switch") >= 4;
	t.has_task_throttled = btf_has_field(btf, "task_struct", "throttled");
	t.has_throttle_count = btf_has_field(btf, "cfs_rq", "throttle_count");
	t.has_loop = btf_has_helper(btf, "BPF_FUNC_loop");
	t.has_percpu_lookup = btf_has_helper(btf, "BPF_FUNC_map_lookup_percpu_elem");
	t.has_find_vma = btf_has_helper(btf, "BPF_FUNC_find_vma");
	t.has_vma_iterator = btf__find_by_name_kind(btf, "bpf_iter_task_vma_new", BTF_KIND_FUNC) > 0;
	t.has_oom_task = btf_tracepoint_points(btf, "mark_victim");
	for (size_t i = 0; i < ARRAY_SIZE(optional_tracepoints); i++)
		if (!btf_tracepoint(btf, optional_tracepoints[i]))
			t.missing |= 1u << i;
	btf__free(btf);
	*ret_traits = t;
	return 0;
}

bool kernel_traits_has_tracepoint(const struct kernel_traits *traits, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(optional_tracepoints); i++)
		if (strcmp(optional_tracepoints[i], name) == 0)
			return !(traits->missing & 1u << i);
	return true;
}
