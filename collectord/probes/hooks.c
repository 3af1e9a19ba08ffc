// SPDX-License-Identifier: Apache-2.0
/*
 * Kernel hooks besides the probes in libraries: their programs, their families, and whether this kernel has them.
 *
 * Hooks of process life are attached from the first target on. Hooks of task switches and pages cost time in all
 * processes, so they are attached only while libraries are.
 */
#include "probes/hooks.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "probes/kernel_traits.h"
#include "probes/probe_set_state.h"

struct hook {
	enum hook_family family;
	size_t program; /* offset of the program in the skeleton */
	const char *tracepoint;
};

static const struct hook hooks[HOOK_COUNT] = {
#define HOOK(of, name, where)                                                                                          \
	{ .family = HOOK_FAMILY_##of, .program = offsetof(struct ingero, progs.name), .tracepoint = (where) },
#include "probes/hooks.def"
};

static const struct {
	const char *name;
	bool is_required;
	bool is_for_libraries;
} families[HOOK_FAMILY_COUNT] = {
#define FAMILY(family, ...) [HOOK_FAMILY_##family] = { __VA_ARGS__ },
#include "probes/hooks.def"
};

static struct bpf_program *hook_program(const struct probe_set *set, const struct hook *hook)
{
	struct bpf_program *program;

	memcpy(&program, (const char *)set->bpf + hook->program, sizeof(program));
	return program;
}

/* Note why a family is absent; the first reason is kept. */
static void __attribute__((format(printf, 3, 4)))
family_lacks(struct probe_set *set, enum hook_family family, const char *format, ...)
{
	char *reason = set->hook_reasons[family];

	if (reason[0])
		return;
	FORMAT_INTO(reason, HOOK_REASON_BYTES, format);
}

void hooks_select(struct probe_set *set, const struct kernel_traits *traits)
{
	const struct bpf_program *not_here =
		traits->has_oom_task ? set->bpf->progs.oom_kill_by_id : set->bpf->progs.oom_kill;

	memset(set->hook_reasons, 0, sizeof(set->hook_reasons));
	if (!traits->has_sched)
		family_lacks(set, HOOK_FAMILY_SCHED,
			     "this kernel keeps no scheduling delays (CONFIG_SCHED_INFO, CONFIG_FAIR_GROUP_SCHED)");
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!kernel_traits_has_tracepoint(traits, hooks[i].tracepoint))
			family_lacks(set, hooks[i].family, "this kernel has no tracepoint %s", hooks[i].tracepoint);
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
		struct bpf_program *program = hook_program(set, &hooks[i]);
		bool is_absent = set->hook_reasons[hooks[i].family][0];

		(void)bpf_program__set_autoload(program, !is_absent && program != not_here);
	}
}

static int hook_attach(struct probe_set *set, size_t i)
{
	struct bpf_program *program = hook_program(set, &hooks[i]);

	if (set->hooks[i] || !bpf_program__autoload(program))
		return 0;
	set->hooks[i] = bpf_program__attach(program);
	return set->hooks[i] ? 0 : -errno;
}

static void family_detach(struct probe_set *set, enum hook_family family)
{
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (hooks[i].family != family)
			continue;
		(void)bpf_link__destroy(set->hooks[i]);
		set->hooks[i] = NULL;
	}
}

static int family_attach(struct probe_set *set, enum hook_family family)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(hooks) && r == 0; i++)
		if (hooks[i].family == family)
			r = hook_attach(set, i);
	if (r == 0 || families[family].is_required)
		return r;
	family_detach(set, family);
	family_lacks(set, family, "its hooks cannot be attached: %s", strerror(-r));
	return 0;
}

int hooks_update(struct probe_set *set)
{
	for (int i = 0; i < HOOK_FAMILY_COUNT; i++) {
		int r;

		if (set->hook_reasons[i][0])
			continue;
		if (families[i].is_for_libraries && !set->n_libraries) {
			family_detach(set, (enum hook_family)i);
			continue;
		}
		r = family_attach(set, (enum hook_family)i);
		if (r < 0)
			return r;
	}
	return 0;
}

void hooks_close(struct probe_set *set)
{
	for (int i = 0; i < HOOK_FAMILY_COUNT; i++)
		family_detach(set, (enum hook_family)i);
}

struct probe_family_state hooks_state(const struct probe_set *set, enum hook_family family)
{
	struct probe_family_state state = { families[family].name, "loading", "" };

	if (!set)
		return state;
	state.state = "off";
	state.reason = set->hook_reasons[family];

	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].family == family && set->hooks[i])
			state.state = "on";
	if (state.reason[0])
		state.state = "absent";
	return state;
}
