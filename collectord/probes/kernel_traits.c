// SPDX-License-Identifier: Apache-2.0
#include "probes/kernel_traits.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The running kernel's own types: what is there decides what the programs read. */
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

/* Number of arguments of a tracepoint, 0 when it is unknown. */
static unsigned int btf_tracepoint_args(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	if (t)
		t = btf__type_by_id(btf, t->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1u : 0;
}

int kernel_traits_read(struct kernel_traits *ret_traits)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct kernel_traits t = {};

	if (!btf)
		return -errno;
	t.has_sched = btf_has_field(btf, "sched_info", "run_delay") && btf_has_field(btf, "sched_entity", "cfs_rq") &&
		      btf_has_field(btf, "cfs_rq", "rq") && btf_has_field(btf, "rq", "clock");
	t.has_switch_state = btf_tracepoint_args(btf, "btf_trace_sched_switch") >= 4;
	t.has_task_throttled = btf_has_field(btf, "task_struct", "throttled");
	t.has_throttle_count = btf_has_field(btf, "cfs_rq", "throttle_count");
	btf__free(btf);
	*ret_traits = t;
	return 0;
}
