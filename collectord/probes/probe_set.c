// SPDX-License-Identifier: Apache-2.0
/* Loading the kernel half: select the best back end by attaching for real, and calibrate it. */
#define LOG_TOPIC "probes"
#include "probes/probe_set.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "probes/calibrate.h"
#include "probes/kernel_traits.h"
#include "probes/probe_set_state.h"

#define PROBE_RING_BYTES_MIN 4096u

static const char *const back_end_names[PROBE_BACK_END_COUNT] = {
	[PROBE_BACK_END_AUTO] = "auto",
	[PROBE_BACK_END_SESSION] = "session",
	[PROBE_BACK_END_MULTI] = "multi",
	[PROBE_BACK_END_PERF] = "perf",
};

const char *probe_back_end_to_string(enum probe_back_end back_end)
{
	return (unsigned int)back_end < PROBE_BACK_END_COUNT ? back_end_names[back_end] : "unknown";
}

int probe_back_end_parse(const char *text, enum probe_back_end *ret_back_end)
{
	unsigned int i;

	for (i = 0; i < PROBE_BACK_END_COUNT; i++) {
		if (strcmp(text, back_end_names[i]) != 0)
			continue;
		*ret_back_end = (enum probe_back_end)i;
		return 0;
	}
	return -EINVAL;
}

static int PRINTF_LIKE(2, 0) print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	CLEANUP(freep) char *text = NULL;
	char *line, *rest;

	/*
	 * Refusals are expected during the search for the best back end, so none of these messages is an error by
	 * itself.
	 */
	if (level == LIBBPF_DEBUG || !log_is_on(LOG_LEVEL_DEBUG) || vasprintf(&text, fmt, args) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		(void)log_debug("%s", line);
	return 0;
}

/* Entries of each CPU's ring, so that all rings together stay within one limit for any number of CPUs. */
static uint32_t ran_entries(int n_cpus)
{
	uint32_t n = RAN_ENTRIES_MAX;

	while (n > RAN_ENTRIES_MIN && (uint64_t)n * RAN_ENTRY_BYTES * (uint64_t)n_cpus > RAN_BYTES_MAX)
		n /= 2;
	return n;
}

static int object_load(struct probe_set *set, enum probe_back_end back_end, const struct kernel_traits *traits,
		       uint64_t ring_bytes)
{
	bool is_session = back_end == PROBE_BACK_END_SESSION, is_perf = back_end == PROBE_BACK_END_PERF;
	struct ingero *bpf = ingero__open();
	int r;

	if (!bpf)
		return -errno;
	set->bpf = bpf;
	bpf->rodata->has_task_throttled = traits->has_task_throttled;
	bpf->rodata->has_throttle_count = traits->has_throttle_count;
	bpf->rodata->has_switch_state = traits->has_switch_state;
	bpf->rodata->has_loop = traits->has_loop;
	bpf->rodata->has_percpu_lookup = traits->has_percpu_lookup;
	bpf->rodata->has_find_vma = traits->has_find_vma;
	bpf->rodata->has_vma_iterator = traits->has_vma_iterator;
	bpf->rodata->checks_stacks = set->checks_stacks;
	bpf->rodata->page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	bpf->rodata->ring_wake_bytes = ring_bytes / 4;
	bpf->rodata->ran_entries = ran_entries(set->n_cpus);
	(void)bpf_map__set_max_entries(bpf->maps.ran, bpf->rodata->ran_entries);
	(void)bpf_map__set_max_entries(bpf->maps.calls, (uint32_t)ring_bytes);
	(void)bpf_map__set_max_entries(bpf->maps.stack_scratches, STACK_SCRATCHES_PER_CPU * (uint32_t)set->n_cpus);
	(void)bpf_program__set_autoload(bpf->progs.call_session, is_session);
	(void)bpf_program__set_autoload(bpf->progs.call_entry, !is_session);
	(void)bpf_program__set_autoload(bpf->progs.call_return, !is_session);
	hooks_select(set, traits);
	if (is_session)
		(void)bpf_program__set_expected_attach_type(bpf->progs.call_session,
							    (enum bpf_attach_type)ATTACH_TYPE_UPROBE_SESSION);
	if (!is_perf) {
		enum bpf_attach_type multi = (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI;

		(void)bpf_program__set_expected_attach_type(bpf->progs.call_entry, multi);
		(void)bpf_program__set_expected_attach_type(bpf->progs.call_return, multi);
		(void)bpf_program__set_expected_attach_type(bpf->progs.loader_changed, multi);
		(void)bpf_program__set_expected_attach_type(bpf->progs.collection_begin, multi);
		(void)bpf_program__set_expected_attach_type(bpf->progs.collection_end, multi);
		(void)bpf_program__set_expected_attach_type(bpf->progs.code_freed, multi);
	}
	r = ingero__load(bpf);
	if (r < 0) {
		ingero__destroy(bpf);
		set->bpf = NULL;
	}
	return r;
}

static const struct figure_cell *calibration_cell(unsigned int op, void *data)
{
	struct probe_set *set = data;
	struct slot_row row = { .overflow = 0 };
	uint32_t idx = probe_set_slot_row(set, CALIBRATION_SLOT, &row) == 0 ? slot_row_find(&row, op) : 0;

	return idx && idx < PROCESS_CELLS && probe_set_cells_map(set, idx + 1) == 0 ? &set->cells[idx] : NULL;
}

/* Afterwards the daemon's own thread must look as if it had never made a call. */
static void calibration_forget(struct probe_set *set)
{
	CLEANUP(closep) int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (pidfd >= 0)
		(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.threads), &pidfd);
}

static int calibrate(struct probe_set *set, const struct probe_site *sites, int path_fd)
{
	struct calibrate_shares shares;
	struct ingero *bpf = set->bpf;
	unsigned int i;
	int r;

	calibrate_run_untraced();
	r = probe_set_call_attach(set, path_fd, sites, CALIBRATE_SITES, &set->calibration);
	if (r < 0)
		return r;
	__atomic_store_n(&bpf->bss->calibrating_tgid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
	probe_set_policy_changed(set);
	r = calibrate_run_traced(calibration_cell, set, &shares, &set->cost);
	__atomic_store_n(&bpf->bss->calibrating_tgid, 0, __ATOMIC_SEQ_CST);
	probe_set_policy_changed(set);
	calibration_forget(set);
	if (r < 0)
		return r;
	set->cost.bystander_ns = calibrate_run_bystander();
	shares.refused_ns = set->cost.bystander_ns;
	for (i = 0; i < CALL_HEAD_COUNT; i++) {
		bpf->bss->share_ns[i] = shares.share_ns[i];
		bpf->bss->nested_ns[i] = shares.nested_ns[i];
	}
	bpf->bss->nested_refused_ns = shares.refused_ns;
	r = probe_set_slot_empty(set, CALIBRATION_SLOT);
	if (r < 0)
		return r;
	set->bystanders_before = probe_set_counter(set, COUNTER_BYSTANDER);
	for (i = 0; i < LOSS_COUNT; i++)
		set->losses_before[i] = probe_set_counter(set, i);
	return 0;
}

static void measures_note(struct probe_set *set, const struct kernel_traits *traits)
{
	unsigned int i;

	set->measures[BLAME_ON_CPU] = traits->has_sched;
	for (i = BLAME_RUNNABLE; i < BLAME_COUNT; i++)
		set->measures[i] = traits->has_sched;
	set->measures[BLAME_QUOTA] = traits->has_sched && (traits->has_task_throttled || traits->has_throttle_count);
}

/*
 * Linux since 6.13 frees the data of a session twice if a process forks inside a call that was traced by two sessions
 * before: the copy of the pending return shares the list of consumers. So only one tracer at a time may use session
 * links. Tracers see each other by a lock on a file that exists for every process that can trace at all, in containers
 * and sandboxes, too.
 */
static int session_claim(struct probe_set *set)
{
	CLEANUP(closep) int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0; /* no other tracer could lock it either */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	set->session_fd = TAKE_FD(fd);
	return 0;
}

/* Load and attach with one back end; on failure the caller closes what was opened. */
static int set_try(struct probe_set *set, enum probe_back_end back_end, const struct kernel_traits *traits,
		   uint64_t ring_bytes, const char **ret_step)
{
	struct probe_site sites[CALIBRATE_SITES];
	CLEANUP(closep) int path_fd = -1;
	int r;

	set->back_end = back_end;
	r = attach_try_kind(back_end);
	*ret_step = r == -EOPNOTSUPP ? "attach" : "load";
	if (r < 0)
		return r;
	if (back_end == PROBE_BACK_END_SESSION) {
		*ret_step = "be the only tracer with it";
		r = session_claim(set);
		if (r < 0)
			return r;
	}
	*ret_step = "load";
	r = object_load(set, back_end, traits, ring_bytes);
	if (r < 0)
		return r;
	*ret_step = "map memory";
	r = probe_set_memory_map(set);
	if (r < 0)
		return r;
	*ret_step = "attach";
	r = calibrate_sites(sites, &path_fd);
	if (r < 0)
		return r;
	return calibrate(set, sites, path_fd);
}

static void set_unload(struct probe_set *set)
{
	hooks_close(set);
	(void)bpf_link__destroy(set->in_flight);
	(void)bpf_link__destroy(set->executable);
	(void)bpf_link__destroy(set->accounts);
	attach_close(set->calibration);
	probe_set_memory_unmap(set);
	ingero__destroy(set->bpf);
	closep(&set->session_fd); /* after the links */
	set->in_flight = set->executable = set->accounts = NULL;
	set->calibration = NULL;
	set->bpf = NULL;
}

static void set_freep(struct probe_set **set)
{
	if (!*set)
		return;
	set_unload(*set);
	free((*set)->cpu_values);
	free((*set)->left_out);
	free((*set)->behind_keys);
	free((*set)->behind_values);
	free((*set)->wait_keys);
	free((*set)->wait_values);
	free(*set);
}

static const char *open_advice(int r)
{
	/* The verifier returns these errors, too, for features that this kernel lacks. */
	if (r == -EOPNOTSUPP || ((r == -EPERM || r == -EACCES) && geteuid() == 0))
		return "; this kernel refuses it: session links need Linux 6.13, uprobe_multi 6.6; '--back-end auto' "
		       "takes what works";
	if (r == -EPERM || r == -EACCES)
		return "; run as root, or give CAP_BPF, CAP_PERFMON and for perf events CAP_SYS_ADMIN";
	if (r == -ENOMEM)
		return "; free some memory";
	if (r == -EBUSY)
		return "; two in one process can stop the kernel: end the other, or '--back-end auto' takes another "
		       "one";
	return "";
}

/* Why a back end was not taken; @n: bytes of @why that others took. Return: bytes taken now */
static size_t back_end_failure_append(char *why, size_t why_bytes, size_t n, enum probe_back_end back_end,
				      const char *step, int r)
{
	if (n < why_bytes && r == -EBUSY)
		n += (size_t)snprintf(why + n, why_bytes - n, "%s%s back end: another tracer of Ingero has it",
				      n ? "; " : "", probe_back_end_to_string(back_end));
	else if (n < why_bytes)
		n += (size_t)snprintf(why + n, why_bytes - n, "%s%s back end: cannot %s: %s", n ? "; " : "",
				      probe_back_end_to_string(back_end), step, strerror(-r));
	return n;
}

static int set_open_any(struct probe_set *set, const struct probe_set_options *options, char *why, size_t why_bytes)
{
	enum probe_back_end first = options->back_end, last = options->back_end, back_end;
	uint64_t ring_bytes = options->ring_bytes ? options->ring_bytes : PROBE_RING_BYTES;
	struct kernel_traits traits = {};
	const char *step = "";
	size_t n = 0;
	int r;

	why[0] = '\0';
	if (ring_bytes < PROBE_RING_BYTES_MIN || ring_bytes > (1u << 30) || (ring_bytes & (ring_bytes - 1))) {
		(void)snprintf(why, why_bytes,
			       "a ring of %llu bytes is not possible; give a power of two from %u to %u",
			       (unsigned long long)ring_bytes, PROBE_RING_BYTES_MIN, 1u << 30);
		return -EINVAL;
	}
	r = kernel_traits_read(&traits);
	if (r < 0) {
		/* libbpf returns -ESRCH if the file does not exist. */
		(void)snprintf(
			why, why_bytes,
			"this kernel does not describe its types (/sys/kernel/btf/vmlinux: %s); "
			"use one built with CONFIG_DEBUG_INFO_BTF, and in a container let it see /sys/kernel/btf",
			strerror(r == -ESRCH ? ENOENT : -r));
		return r;
	}
	if (options->is_oldest)
		traits.has_loop = traits.has_percpu_lookup = traits.has_find_vma = traits.has_switch_state =
			traits.has_vma_iterator = false;
	if (options->is_blind)
		traits.has_sched = false;
	if (first == PROBE_BACK_END_AUTO) {
		first = PROBE_BACK_END_SESSION;
		last = PROBE_BACK_END_PERF;
	}
	for (back_end = first; back_end <= last; back_end++) {
		r = set_try(set, back_end, &traits, ring_bytes, &step);
		if (r == 0)
			break;
		set_unload(set);
		n = back_end_failure_append(why, why_bytes, n, back_end, step, r);
		/* Without permission or memory every other back end fails, too. */
		if (r == -EPERM || r == -ENOMEM)
			break;
	}
	if (r < 0) {
		if (n < why_bytes)
			(void)snprintf(why + n, why_bytes - n, "%s", open_advice(r));
		return r;
	}
	measures_note(set, &traits);
	set->is_thinned &= set->back_end != PROBE_BACK_END_PERF;
	return 0;
}

#define HEAP_SPARE_BYTES (512 << 10) /* guess: memory that one large answer takes and releases */

/*
 * Release memory that only loading needs: the kernel's types and the BPF object, most of the daemon's memory at start.
 */
static void loading_forget(const struct probe_set *set)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)set->bpf->skeleton->data, end = first + set->bpf->skeleton->data_sz;

	/*
	 * The kernel's types take 5 MiB; without this limit the C library would keep twice that after they are freed.
	 */
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_SPARE_BYTES);
	(void)malloc_trim(0);
	/* Drop pages of the daemon's executable: a later read gets them from the file again. */
	first = (first + page - 1) / page * page;
	end = end / page * page;
	if (first < end)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}

int probe_set_open(const struct probe_set_options *options, char *why, size_t why_bytes, struct probe_set **ret_set)
{
	CLEANUP(set_freep) struct probe_set *set = calloc(1, sizeof(*set));
	int r;

	if (why_bytes == 0)
		return -EINVAL;
	why[0] = '\0';
	if (!set)
		return -ENOMEM;
	set->session_fd = -1;
	set->all_operations = options->all_operations;
	set->is_thinned = options->is_thinned;
	set->checks_stacks = options->checks_stacks || INGERO_CHECK_STACKS;
	(void)libbpf_set_print(print_libbpf);
	set->n_cpus = libbpf_num_possible_cpus();
	if (set->n_cpus < 1)
		return -EIO;
	set->cpu_values = calloc((size_t)set->n_cpus, sizeof(*set->cpu_values));
	set->behind_keys = calloc(BEHIND_ROWS_MAX, sizeof(*set->behind_keys));
	set->behind_values = calloc(BEHIND_ROWS_MAX, sizeof(*set->behind_values));
	set->wait_keys = calloc(WAITS_MAX, sizeof(*set->wait_keys));
	set->wait_values = calloc(WAITS_MAX, sizeof(*set->wait_values));
	if (set->is_thinned)
		set->left_out = calloc(PROCESS_CELLS, sizeof(*set->left_out));
	if (!set->cpu_values || !set->behind_keys || !set->behind_values || !set->wait_keys || !set->wait_values ||
	    (set->is_thinned && !set->left_out))
		return -ENOMEM;
	r = set_open_any(set, options, why, why_bytes);
	if (r < 0)
		return r;
	set->in_flight = bpf_program__attach_iter(set->bpf->progs.in_flight, NULL);
	if (!set->in_flight) {
		r = -errno;
		(void)snprintf(why, why_bytes, "calls in progress cannot be listed: %s", strerror(-r));
		return r;
	}
	loading_forget(set);
	*ret_set = TAKE_PTR(set);
	return 0;
}

void probe_set_close(struct probe_set *set)
{
	if (!set)
		return;
	__atomic_store_n(&set->bpf->bss->is_inert, 1, __ATOMIC_SEQ_CST);
	set_freep(&set);
}

enum probe_back_end probe_set_back_end(const struct probe_set *set)
{
	return set->back_end;
}

size_t probe_set_families(const struct probe_set *set, struct probe_family_state *ret, size_t room)
{
	for (size_t i = 0; i < HOOK_FAMILY_COUNT && i < room; i++) {
		ret[i] = hooks_state(set, (enum hook_family)i);
		if (set && i == HOOK_FAMILY_CALL)
			ret[i].state = set->n_libraries ? "on" : "off";
		if (set && i == HOOK_FAMILY_LOADER)
			ret[i].state = set->n_loaders ? "on" : "off";
	}
	return HOOK_FAMILY_COUNT;
}

enum op_tier probe_set_tier(const struct probe_set *set)
{
	return set->back_end == PROBE_BACK_END_PERF && !set->all_operations ? OP_TIER_ALWAYS : OP_TIER_REQUEST;
}

bool probe_set_measures(const struct probe_set *set, enum blame_class class)
{
	return (unsigned int)class < BLAME_COUNT && set->measures[class];
}

void probe_set_cost(const struct probe_set *set, struct probe_cost *ret_cost)
{
	*ret_cost = set->cost;
}
