// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "probes"
#include "probes/probe_set.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "ingero.skel.h"
#include "probes/attach.h"
#include "probes/calibrate.h"

#define PROBE_RING_BYTES_MIN 4096u
#define CELLS_SPARE 128 /* kept for overflow cells of processes that come when all others are taken */
#define CALIBRATION_SLOT (PROCESS_SLOTS - 1) /* bpf/maps.h */
#define BEHIND_ROOM 4096		     /* entries of map `behind` */
#define COUNTER_BYSTANDER LOSS_COUNT	     /* bpf/maps.h */

struct slot_row {
	uint32_t cell[OP_ID_MAX];
};

struct probe_library {
	struct attach *attach;
	unsigned int number; /* of the attach, in its cookies */
	size_t *n_family;    /* counter of its family, in the set */
};

struct probe_set {
	struct ingero *bpf;
	enum probe_back_end back_end;
	struct attach *calibration; /* stays attached: closing it takes longer than measuring */
	struct bpf_link *in_flight;
	struct bpf_link *sched;
	struct bpf_link *process[3];
	struct process_slot *slots;
	struct slot_row *slot_rows;
	struct figure_cell *cells; /* PROCESS_CELLS reserved, n_cells_mapped there */
	uint32_t n_cells_mapped;
	struct behind_key *behind_keys;
	struct behind_value *behind_values;
	unsigned int last_number; /* of an attach */
	size_t n_libraries;	  /* without loaders */
	size_t n_loaders;
	int n_cpus;
	uint64_t *cpu_values; /* n_cpus, room for reading one counter */
	bool measures[BLAME_COUNT];
	char sched_reason[96];
	struct probe_cost cost;
	uint64_t bystanders_before; /* of the calibration */
	uint64_t losses_before[LOSS_COUNT];
};

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

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	CLEANUP(freep) char *text = NULL;
	char *line, *rest;

	/* Refusals are expected while the best back end is looked for, so nothing here is an error by itself. */
	if (level == LIBBPF_DEBUG || !log_is_on(LOG_LEVEL_DEBUG) || vasprintf(&text, fmt, args) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		(void)log_debug("%s", line);
	return 0;
}

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

struct kernel_traits {
	bool has_sched;
	bool has_switch_state;
	bool has_task_throttled;
	bool has_throttle_count;
};

static int traits_read(struct kernel_traits *ret_traits)
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
	bpf->rodata->has_sched = traits->has_sched;
	bpf->rodata->ring_wake_bytes = ring_bytes / 4;
	(void)bpf_map__set_max_entries(bpf->maps.calls, (uint32_t)ring_bytes);
	(void)bpf_program__set_autoload(bpf->progs.call_session, is_session);
	(void)bpf_program__set_autoload(bpf->progs.call_entry, !is_session);
	(void)bpf_program__set_autoload(bpf->progs.call_return, !is_session);
	(void)bpf_program__set_autoload(bpf->progs.sched_switch, traits->has_sched);
	if (is_session)
		(void)bpf_program__set_expected_attach_type(bpf->progs.call_session,
							    (enum bpf_attach_type)ATTACH_TYPE_UPROBE_SESSION);
	if (!is_perf) {
		enum bpf_attach_type multi = (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI;

		(void)bpf_program__set_expected_attach_type(bpf->progs.call_entry, multi);
		(void)bpf_program__set_expected_attach_type(bpf->progs.call_return, multi);
		(void)bpf_program__set_expected_attach_type(bpf->progs.loader_changed, multi);
	}
	r = ingero__load(bpf);
	if (r < 0) {
		ingero__destroy(bpf);
		set->bpf = NULL;
	}
	return r;
}

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

static int map_memory(struct bpf_map *map, size_t bytes, void *ret_memory)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (p == MAP_FAILED)
		return -errno;
	memcpy(ret_memory, &p, sizeof(p));
	return 0;
}

/*
 * Cells are mapped as far as they are in use: each mapped page counts as the daemon's
 * own memory, and of the 8 MiB most machines use a few hundred KiB. The address is kept
 * for all of them, so it never changes.
 */
#define CELLS_STEP 128 /* whole pages on machines with pages up to 64 KiB */

static int cells_reserve(struct probe_set *set)
{
	void *p = mmap(NULL, PROCESS_CELLS * sizeof(*set->cells), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	set->cells = p;
	set->n_cells_mapped = 0;
	return 0;
}

static int cells_map(struct probe_set *set, uint32_t n)
{
	size_t from = set->n_cells_mapped * sizeof(*set->cells), until;

	if (n <= set->n_cells_mapped)
		return 0;
	n = MIN((n + CELLS_STEP - 1) / CELLS_STEP * CELLS_STEP, (uint32_t)PROCESS_CELLS);
	until = n * sizeof(*set->cells);
	if (mmap((char *)set->cells + from, until - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 bpf_map__fd(set->bpf->maps.cells), (off_t)from) == MAP_FAILED)
		return -errno;
	set->n_cells_mapped = n;
	return 0;
}

static int pool_fill(struct bpf_map *pool, uint32_t first, uint32_t end, bool is_descending)
{
	uint32_t i, value;

	for (i = first; i < end; i++) {
		value = is_descending ? end - 1 - (i - first) : i;
		if (bpf_map_update_elem(bpf_map__fd(pool), NULL, &value, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int pools_fill(struct probe_set *set)
{
	uint32_t spare = PROCESS_CELLS - CELLS_SPARE;
	int r;

	r = pool_fill(set->bpf->maps.free_slots, 1, CALIBRATION_SLOT, false);
	if (r == 0)
		r = pool_fill(set->bpf->maps.free_cells, 1, spare, true);
	if (r == 0)
		r = pool_fill(set->bpf->maps.spare_cells, spare, PROCESS_CELLS, true);
	return r;
}

static uint64_t counter_read(const struct probe_set *set, uint32_t index)
{
	uint64_t sum = 0;
	int i;

	if (bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.counters), &index, set->cpu_values))
		return 0;
	for (i = 0; i < set->n_cpus; i++)
		sum += set->cpu_values[i];
	return sum;
}

static void policy_changed(struct probe_set *set)
{
	__atomic_add_fetch(&set->bpf->data->policy, 1, __ATOMIC_SEQ_CST);
}

static uint64_t boot_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* A return whose entry nobody saw is a loss only in threads that are older than the attach. */
static int call_attach(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
		       struct attach **ret_attach)
{
	const struct attach_programs programs = call_programs(set);
	int r;

	__atomic_store_n(&set->bpf->data->attached_boot_ns, UINT64_MAX, __ATOMIC_SEQ_CST);
	r = attach_open(set->back_end, &programs, path_fd, sites, n_sites, ret_attach);
	__atomic_store_n(&set->bpf->data->attached_boot_ns, boot_now_ns(), __ATOMIC_SEQ_CST);
	return r;
}

/* Take back what a slot holds: its row first, so that nobody finds a cell that is being emptied. */
static int slot_empty(struct probe_set *set, uint32_t slot)
{
	struct slot_row *row = &set->slot_rows[slot];
	uint32_t cells[OP_ID_MAX];
	unsigned int i;

	memcpy(cells, row->cell, sizeof(cells));
	memset(row, 0, sizeof(*row));
	for (i = 0; i < OP_ID_MAX; i++) {
		uint32_t idx = cells[i];
		struct bpf_map *pool = set->bpf->maps.free_cells;

		if (idx == 0 || idx >= PROCESS_CELLS)
			continue;
		if (idx >= PROCESS_CELLS - CELLS_SPARE)
			pool = set->bpf->maps.spare_cells;
		if (cells_map(set, idx + 1) < 0)
			return -ENOMEM;
		memset(&set->cells[idx], 0, sizeof(set->cells[idx]));
		if (bpf_map_update_elem(bpf_map__fd(pool), NULL, &idx, BPF_ANY))
			return -errno;
	}
	return 0;
}

static const struct figure_cell *calibration_cell(unsigned int op, void *data)
{
	struct probe_set *set = data;
	uint32_t idx = set->slot_rows[CALIBRATION_SLOT].cell[op];

	return idx && idx < PROCESS_CELLS && cells_map(set, idx + 1) == 0 ? &set->cells[idx] : NULL;
}

/* Our own thread must look like one that never called. */
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
	r = call_attach(set, path_fd, sites, CALIBRATE_SITES, &set->calibration);
	if (r < 0)
		return r;
	__atomic_store_n(&bpf->bss->calibrating_tgid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
	policy_changed(set);
	r = calibrate_run_traced(calibration_cell, set, &shares, &set->cost);
	__atomic_store_n(&bpf->bss->calibrating_tgid, 0, __ATOMIC_SEQ_CST);
	policy_changed(set);
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
	r = slot_empty(set, CALIBRATION_SLOT);
	if (r < 0)
		return r;
	set->bystanders_before = counter_read(set, COUNTER_BYSTANDER);
	for (i = 0; i < LOSS_COUNT; i++)
		set->losses_before[i] = counter_read(set, i);
	return 0;
}

static void measures_note(struct probe_set *set, const struct kernel_traits *traits)
{
	unsigned int i;

	set->measures[BLAME_ON_CPU] = traits->has_sched;
	for (i = BLAME_RUNNABLE; i < BLAME_COUNT; i++)
		set->measures[i] = traits->has_sched;
	set->measures[BLAME_QUOTA] = traits->has_sched && (traits->has_task_throttled || traits->has_throttle_count);
	if (!traits->has_sched)
		(void)snprintf(set->sched_reason, sizeof(set->sched_reason),
			       "this kernel keeps no scheduling delays (CONFIG_SCHED_INFO, CONFIG_FAIR_GROUP_SCHED)");
}

/* Everything below this is one back end; on failure what is there is closed by the caller. */
static int set_try(struct probe_set *set, enum probe_back_end back_end, const struct kernel_traits *traits,
		   uint64_t ring_bytes, const char **ret_step)
{
	struct probe_site sites[CALIBRATE_SITES];
	CLEANUP(closep) int path_fd = -1;
	int r;

	set->back_end = back_end;
	*ret_step = "load";
	r = object_load(set, back_end, traits, ring_bytes);
	if (r < 0)
		return r;
	*ret_step = "map memory";
	r = map_memory(set->bpf->maps.slots, PROCESS_SLOTS * sizeof(*set->slots), &set->slots);
	if (r == 0)
		r = map_memory(set->bpf->maps.slot_rows, PROCESS_SLOTS * sizeof(*set->slot_rows), &set->slot_rows);
	if (r == 0)
		r = cells_reserve(set);
	if (r == 0)
		r = pools_fill(set);
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
	size_t i;

	for (i = 0; i < ARRAY_SIZE(set->process); i++)
		(void)bpf_link__destroy(set->process[i]);
	(void)bpf_link__destroy(set->sched);
	(void)bpf_link__destroy(set->in_flight);
	attach_close(set->calibration);
	if (set->slots)
		(void)munmap(set->slots, PROCESS_SLOTS * sizeof(*set->slots));
	if (set->slot_rows)
		(void)munmap(set->slot_rows, PROCESS_SLOTS * sizeof(*set->slot_rows));
	if (set->cells)
		(void)munmap(set->cells, PROCESS_CELLS * sizeof(*set->cells));
	ingero__destroy(set->bpf);
	memset(set->process, 0, sizeof(set->process));
	set->sched = set->in_flight = NULL;
	set->calibration = NULL;
	set->slots = NULL;
	set->slot_rows = NULL;
	set->cells = NULL;
	set->bpf = NULL;
}

static void set_freep(struct probe_set **set)
{
	if (!*set)
		return;
	set_unload(*set);
	free((*set)->cpu_values);
	free((*set)->behind_keys);
	free((*set)->behind_values);
	free(*set);
}

static const char *open_advice(int r)
{
	/* The verifier says so too, of what this kernel does not have. */
	if ((r == -EPERM || r == -EACCES) && geteuid() == 0)
		return "; this kernel refuses it: session links need Linux 6.13, uprobe_multi 6.6; '--back-end auto' "
		       "takes what works";
	if (r == -EPERM || r == -EACCES)
		return "; run as root, or give CAP_BPF, CAP_PERFMON and for perf events CAP_SYS_ADMIN";
	if (r == -ENOMEM)
		return "; free some memory";
	return "";
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
		(void)snprintf(why, why_bytes, "a ring of %llu bytes cannot be had; give a power of two from %u to %u",
			       (unsigned long long)ring_bytes, PROBE_RING_BYTES_MIN, 1u << 30);
		return -EINVAL;
	}
	r = traits_read(&traits);
	if (r < 0) {
		(void)snprintf(why, why_bytes,
			       "this kernel does not describe its types (/sys/kernel/btf/vmlinux: %s); "
			       "use one built with CONFIG_DEBUG_INFO_BTF",
			       strerror(-r));
		return r;
	}
	if (first == PROBE_BACK_END_AUTO) {
		first = PROBE_BACK_END_SESSION;
		last = PROBE_BACK_END_PERF;
	}
	for (back_end = first; back_end <= last; back_end++) {
		r = set_try(set, back_end, &traits, ring_bytes, &step);
		if (r == 0)
			break;
		set_unload(set);
		if (n < why_bytes)
			n += (size_t)snprintf(why + n, why_bytes - n, "%s%s back end: cannot %s: %s", n ? "; " : "",
					      probe_back_end_to_string(back_end), step, strerror(-r));
		/* Without permission or memory no other back end does better. */
		if (r == -EPERM || r == -ENOMEM)
			break;
	}
	if (r < 0) {
		if (n < why_bytes)
			(void)snprintf(why + n, why_bytes - n, "%s", open_advice(r));
		return r;
	}
	measures_note(set, &traits);
	return 0;
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
	(void)libbpf_set_print(print_libbpf);
	set->n_cpus = libbpf_num_possible_cpus();
	if (set->n_cpus < 1)
		return -EIO;
	set->cpu_values = calloc((size_t)set->n_cpus, sizeof(*set->cpu_values));
	set->behind_keys = calloc(BEHIND_ROOM, sizeof(*set->behind_keys));
	set->behind_values = calloc(BEHIND_ROOM, sizeof(*set->behind_values));
	if (!set->cpu_values || !set->behind_keys || !set->behind_values)
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
	const struct probe_family_state families[] = {
		{ "call", set->n_libraries ? "on" : "off", "" },
		{ "sched",
		  set->sched_reason[0] ? "absent"
		  : set->sched	       ? "on"
				       : "off",
		  set->sched_reason },
		{ "process", set->process[0] ? "on" : "off", "" },
		{ "loader", set->n_loaders ? "on" : "off", "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(families) && i < room; i++)
		ret[i] = families[i];
	return ARRAY_SIZE(families);
}

bool probe_set_measures(const struct probe_set *set, enum blame_class class)
{
	return (unsigned int)class < BLAME_COUNT && set->measures[class];
}

/* Life of processes is told from the first target on; switches cost everybody, so only while libraries are attached. */
static int hooks_update(struct probe_set *set)
{
	const struct bpf_program *programs[] = {
		set->bpf->progs.process_exec,
		set->bpf->progs.process_fork,
		set->bpf->progs.process_exit,
	};
	size_t i;

	_Static_assert(ARRAY_SIZE(programs) == ARRAY_SIZE(((struct probe_set *)NULL)->process), "one link each");
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		if (set->process[i])
			continue;
		set->process[i] = bpf_program__attach(programs[i]);
		if (!set->process[i])
			return -errno;
	}
	if (set->sched_reason[0])
		return 0;
	if (set->n_libraries && !set->sched) {
		set->sched = bpf_program__attach(set->bpf->progs.sched_switch);
		if (!set->sched)
			return -errno;
	}
	if (!set->n_libraries && set->sched) {
		(void)bpf_link__destroy(set->sched);
		set->sched = NULL;
	}
	return 0;
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

int probe_set_attach_library(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites,
			     struct probe_library **ret_library)
{
	CLEANUP(freep) struct probe_site *numbered = calloc(n_sites + 1, sizeof(*numbered));
	CLEANUP(attach_closep) struct attach *attach = NULL;
	unsigned int number = ++set->last_number % COOKIE_ATTACH_COUNT;
	size_t i;
	int r;

	if (!numbered)
		return -ENOMEM;
	for (i = 0; i < n_sites; i++) {
		numbered[i] = sites[i];
		numbered[i].cookie |= COOKIE_ATTACH(number);
	}
	set->bpf->bss->attach_off[number] = 0;
	/* The hooks first: a call must not wait before anybody looks. */
	set->n_libraries++;
	r = hooks_update(set);
	if (r == 0)
		r = call_attach(set, path_fd, numbered, n_sites, &attach);
	if (r == 0)
		r = library_new(&attach, &set->n_libraries, number, ret_library);
	if (r < 0) {
		set->n_libraries--;
		(void)hooks_update(set);
	}
	return r;
}

void probe_set_detach_library(struct probe_set *set, struct probe_library *library)
{
	if (!library)
		return;
	if (library->n_family == &set->n_libraries)
		set->bpf->bss->attach_off[library->number] = 1;
	attach_close(library->attach);
	--*library->n_family;
	(void)hooks_update(set); /* only takes hooks away here, which cannot fail */
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

static int number_put(struct bpf_map *map, uint32_t key, uint32_t value)
{
	return bpf_map_update_elem(bpf_map__fd(map), &key, &value, BPF_ANY) ? -errno : 0;
}

static int number_remove(struct bpf_map *map, uint32_t key)
{
	if (bpf_map_delete_elem(bpf_map__fd(map), &key) && errno != ENOENT)
		return -errno;
	return 0;
}

int probe_set_target_add(struct probe_set *set, uint32_t tgid, uint32_t flags)
{
	int r = hooks_update(set);

	if (r == 0)
		r = number_put(set->bpf->maps.targets, tgid, flags);
	policy_changed(set);
	return r;
}

int probe_set_target_remove(struct probe_set *set, uint32_t tgid)
{
	int r = number_remove(set->bpf->maps.targets, tgid);

	policy_changed(set);
	return r;
}

/* Programs ask the map of users only while it holds any. */
static void users_count(struct probe_set *set)
{
	uint32_t key, n = 0, *previous = NULL;
	uint32_t last;

	while (bpf_map_get_next_key(bpf_map__fd(set->bpf->maps.users), previous, &key) == 0) {
		last = key;
		previous = &last;
		n++;
	}
	__atomic_store_n(&set->bpf->bss->n_users, n, __ATOMIC_SEQ_CST);
	policy_changed(set);
}

int probe_set_user_add(struct probe_set *set, uint32_t uid)
{
	int r = hooks_update(set);

	if (r == 0)
		r = number_put(set->bpf->maps.users, uid, 1);
	users_count(set);
	return r;
}

int probe_set_user_remove(struct probe_set *set, uint32_t uid)
{
	int r = number_remove(set->bpf->maps.users, uid);

	users_count(set);
	return r;
}

void probe_set_trace_all(struct probe_set *set, bool on)
{
	if (on && hooks_update(set) < 0)
		(void)log_warning(0,
				  "cannot follow exec, fork and exit; processes are told apart by their calls alone");
	__atomic_store_n(&set->bpf->bss->trace_all, on, __ATOMIC_SEQ_CST);
	policy_changed(set);
}

int probe_set_tracer_add(struct probe_set *set, uint32_t tgid)
{
	int r = number_put(set->bpf->maps.tracers, tgid, 1);

	policy_changed(set);
	return r;
}

int probe_set_tracer_remove(struct probe_set *set, uint32_t tgid)
{
	int r = number_remove(set->bpf->maps.tracers, tgid);

	policy_changed(set);
	return r;
}

void probe_set_recording(struct probe_set *set, const struct probe_recording *recording)
{
	struct ingero__bss *bss = set->bpf->bss;

	__atomic_store_n(&bss->record_every, recording->sample_every, __ATOMIC_SEQ_CST);
	__atomic_store_n(&bss->record_all, recording->all, __ATOMIC_SEQ_CST);
	__atomic_store_n(&bss->record_on, recording->is_on, __ATOMIC_SEQ_CST);
}

const struct process_slot *probe_set_slots(const struct probe_set *set)
{
	return set->slots;
}

struct figure_cell *probe_set_cells(const struct probe_set *set)
{
	return set->cells;
}

uint32_t probe_set_cells_used(struct probe_set *set)
{
	uint32_t high = __atomic_load_n(&set->bpf->bss->cells_high, __ATOMIC_SEQ_CST);

	/* What cannot be mapped now is read later; the kernel half counts on. */
	(void)cells_map(set, MIN(high + 1, (uint32_t)PROCESS_CELLS));
	return MIN(high + 1, set->n_cells_mapped);
}

static size_t behind_read(struct probe_set *set)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts, .elem_flags = 0);
	uint32_t n = BEHIND_ROOM, position;

	/* One call for all of them; -ENOENT is its way to say that this was the end. */
	if (bpf_map_lookup_batch(bpf_map__fd(set->bpf->maps.behind), NULL, &position, set->behind_keys,
				 set->behind_values, &n, &opts) &&
	    errno != ENOENT)
		return 0;
	return n;
}

int probe_set_slot_release(struct probe_set *set, uint32_t slot)
{
	struct process_slot *s;
	size_t i, n;
	int r;

	if (slot == 0 || slot >= CALIBRATION_SLOT)
		return -EINVAL;
	s = &set->slots[slot];
	if (__atomic_load_n(&s->state, __ATOMIC_SEQ_CST) != PROCESS_SLOT_GONE)
		return -EBUSY;
	n = behind_read(set);
	for (i = 0; i < n; i++)
		if (set->behind_keys[i].slot == slot)
			(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.behind), &set->behind_keys[i]);
	r = slot_empty(set, slot);
	memset(s, 0, sizeof(*s));
	if (bpf_map_update_elem(bpf_map__fd(set->bpf->maps.free_slots), NULL, &slot, BPF_ANY) && r == 0)
		r = -errno;
	return r;
}

void probe_set_losses(const struct probe_set *set, uint64_t ret_losses[LOSS_COUNT])
{
	uint32_t i;

	for (i = 0; i < LOSS_COUNT; i++)
		ret_losses[i] = counter_read(set, i) - set->losses_before[i];
}

int probe_set_in_flight(struct probe_set *set, struct in_flight_record *ret, size_t room)
{
	CLEANUP(closep) int fd = bpf_iter_create(bpf_link__fd(set->in_flight));
	size_t n_bytes = 0, room_bytes = room * sizeof(*ret);
	char beyond[sizeof(*ret)];
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (;;) {
		if (n_bytes < room_bytes)
			n = read(fd, (char *)ret + n_bytes, room_bytes - n_bytes);
		else
			n = read(fd, beyond, sizeof(beyond));
		if (n == 0)
			return (int)(n_bytes / sizeof(*ret));
		if (n > 0)
			n_bytes += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
}

int probe_set_behind(struct probe_set *set, probe_behind_func func, void *data)
{
	size_t i, n = behind_read(set);

	for (i = 0; i < n; i++)
		func(&set->behind_keys[i], &set->behind_values[i], data);
	return (int)n;
}

int probe_set_calls_fd(const struct probe_set *set)
{
	return bpf_map__fd(set->bpf->maps.calls);
}

int probe_set_life_fd(const struct probe_set *set)
{
	return bpf_map__fd(set->bpf->maps.life);
}

static uint64_t fdinfo_bytes(int fd)
{
	char path[48], text[2048];
	unsigned long long bytes = 0;
	const char *line;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (fd < 0 || fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, "memlock:");
	if (line && sscanf(line, "memlock: %llu", &bytes) != 1)
		return 0;
	return bytes;
}

uint64_t probe_set_kernel_bytes(const struct probe_set *set)
{
	struct bpf_program *program;
	struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, set->bpf->obj) sum += fdinfo_bytes(bpf_map__fd(map));
	bpf_object__for_each_program(program, set->bpf->obj) sum += fdinfo_bytes(bpf_program__fd(program));
	return sum;
}

void probe_set_cost(const struct probe_set *set, struct probe_cost *ret_cost)
{
	*ret_cost = set->cost;
}

uint64_t probe_set_bystander_calls(const struct probe_set *set)
{
	return counter_read(set, COUNTER_BYSTANDER) - set->bystanders_before;
}
