// SPDX-License-Identifier: Apache-2.0
/*
 * Reading what the kernel half has counted: memory shared with it, pools of free slots and cells, maps and iterators.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "clock.h"
#include "probes/probe_set_state.h"

static int map_memory(struct bpf_map *map, size_t bytes, void *ret_memory)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (p == MAP_FAILED)
		return -errno;
	memcpy(ret_memory, &p, sizeof(p));
	return 0;
}

/*
 * Only used cells are mapped: each mapped page counts as memory of the daemon, and of the 8 MiB most machines use a few
 * hundred KiB. Address space is reserved for all cells, so the address never changes.
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

int probe_set_cells_map(struct probe_set *set, uint32_t n)
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
	return r == 0 ? probe_set_shares_fill(set) : r;
}

int probe_set_memory_map(struct probe_set *set)
{
	int r;

	r = map_memory(set->bpf->maps.slots, PROCESS_SLOTS * sizeof(*set->slots), &set->slots);
	if (r == 0)
		r = cells_reserve(set);
	if (r == 0)
		r = pools_fill(set);
	if (r == 0)
		r = probe_set_unwind_open(set);
	return r;
}

void probe_set_memory_unmap(struct probe_set *set)
{
	if (set->slots)
		(void)munmap(set->slots, PROCESS_SLOTS * sizeof(*set->slots));
	if (set->cells)
		(void)munmap(set->cells, PROCESS_CELLS * sizeof(*set->cells));
	set->slots = NULL;
	set->cells = NULL;
	probe_set_unwind_close(set);
}

uint64_t probe_set_counter(const struct probe_set *set, uint32_t index)
{
	uint64_t sum = 0;
	int i;

	if (bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.counters), &index, set->cpu_values))
		return 0;
	for (i = 0; i < set->n_cpus; i++)
		sum += set->cpu_values[i];
	return sum;
}

/*
 * Rows are not mapped: that would add 1 MiB to the daemon's memory, and each row is read only once, after its process's
 * end.
 */
int probe_set_slot_row(const struct probe_set *set, uint32_t slot, struct slot_row *ret_row)
{
	return bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.slot_rows), &slot, ret_row) ? -errno : 0;
}

static int cell_give_back(struct probe_set *set, uint32_t idx)
{
	bool is_spare = idx >= PROCESS_CELLS - CELLS_SPARE;
	struct bpf_map *pool = is_spare ? set->bpf->maps.spare_cells : set->bpf->maps.free_cells;
	struct ingero__bss *bss = set->bpf->bss;
	uint32_t taker;

	if (idx == 0 || idx >= PROCESS_CELLS)
		return 0;
	if (probe_set_cells_map(set, idx + 1) < 0)
		return -ENOMEM;
	memset(&set->cells[idx], 0, sizeof(set->cells[idx]));
	if (set->left_out)
		set->left_out[idx] = (struct left_out){ .calls = 0 };
	taker = bss->cell_takers[idx]; /* read first: once it is free another one may take it */
	if (bpf_map_update_elem(bpf_map__fd(pool), NULL, &idx, BPF_ANY))
		return -errno;
	share_entry_gone(is_spare ? &bss->n_spares : &bss->n_cells, is_spare ? bss->spares_of : bss->cells_of, taker);
	return 0;
}

/* Free the cells of a slot: its row first, so that no program finds a cell that is being emptied. */
int probe_set_slot_empty(struct probe_set *set, uint32_t slot)
{
	static const struct slot_row empty;
	struct slot_row row;
	size_t i;
	int r;

	r = probe_set_slot_row(set, slot, &row);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(bpf_map__fd(set->bpf->maps.slot_rows), &slot, &empty, BPF_ANY))
		return -errno;
	for (i = 0; i < ARRAY_SIZE(row.entries) && r == 0; i++)
		r = cell_give_back(set, SLOT_ROW_CELL(row.entries[i]));
	return r == 0 ? cell_give_back(set, row.overflow) : r;
}

const struct process_slot *probe_set_slots(const struct probe_set *set)
{
	return set->slots;
}

struct figure_cell *probe_set_cells(const struct probe_set *set)
{
	return set->cells;
}

struct left_out *probe_set_left_out(const struct probe_set *set)
{
	return set->left_out;
}

void probe_set_left_out_mark(struct probe_set *set, void (*func)(void *data), void *data)
{
	set->left_out_mark = func;
	set->left_out_data = data;
}

const struct left_out *probe_set_left_out_read(const struct probe_set *set)
{
	if (set->left_out_mark)
		set->left_out_mark(set->left_out_data);
	return set->left_out;
}

uint32_t probe_set_cells_used(struct probe_set *set)
{
	uint32_t high = __atomic_load_n(&set->bpf->bss->cells_high, __ATOMIC_SEQ_CST);
	uint32_t n = MIN(high + 1, (uint32_t)PROCESS_CELLS);

	return probe_set_cells_map(set, n) < 0 ? 0 : n;
}

int probe_set_slot_release(struct probe_set *set, uint32_t slot)
{
	struct ingero__bss *bss = set->bpf->bss;
	struct process_slot *s;
	uint32_t taker;
	int r;

	if (slot == 0 || slot >= CALIBRATION_SLOT)
		return -EINVAL;
	s = &set->slots[slot];
	if (__atomic_load_n(&s->state, __ATOMIC_SEQ_CST) != PROCESS_SLOT_GONE)
		return -EBUSY;
	__atomic_store_n(&s->tgid, 0, __ATOMIC_SEQ_CST); /* from now on nothing more is added: share_take_wait() */
	probe_set_behind_forget(set, slot);
	probe_set_accounts_forget(set, slot);
	probe_set_waits_forget(set, slot);
	r = probe_set_slot_empty(set, slot);
	memset(s, 0, sizeof(*s));
	taker = bss->slot_takers[slot]; /* read first, as in cell_give_back() */
	if (bpf_map_update_elem(bpf_map__fd(set->bpf->maps.free_slots), NULL, &slot, BPF_ANY))
		return r ? r : -errno;
	share_entry_gone(&bss->n_slots, bss->slots_of, taker);
	return r;
}

void probe_set_life_taken(struct probe_set *set, const struct life_record *life)
{
	if (!life->share)
		return;
	share_entry_gone(&set->bpf->bss->n_lives, set->bpf->bss->lives_of, life->share - 1);
}

void probe_set_losses(const struct probe_set *set, uint64_t ret_losses[LOSS_COUNT])
{
	uint32_t i;

	for (i = 0; i < LOSS_COUNT; i++)
		ret_losses[i] = probe_set_counter(set, i) - set->losses_before[i] + set->losses_found[i];
	probe_set_rest_losses(set, ret_losses);
}

void probe_set_loss_add(struct probe_set *set, enum loss_reason reason, uint64_t n)
{
	set->losses_found[reason] += n;
}

/*
 * Read the records of an iterator.
 * @counts_rest: without room, continue to read only to count the records
 * Return: number of records (the first `room` are written), or -errno
 */
static int iterator_read(struct bpf_link *link, void *ret, size_t record_bytes, size_t room, bool counts_rest)
{
	CLEANUP(closep) int fd = bpf_iter_create(bpf_link__fd(link));
	size_t n_bytes = 0, room_bytes = room * record_bytes;
	char beyond[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (;;) {
		if (n_bytes < room_bytes)
			n = read(fd, (char *)ret + n_bytes, room_bytes - n_bytes);
		else if (!counts_rest)
			return (int)room;
		else
			n = read(fd, beyond, sizeof(beyond) / record_bytes * record_bytes);
		if (n == 0)
			return (int)(n_bytes / record_bytes);
		if (n > 0)
			n_bytes += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
}

int probe_set_in_flight(struct probe_set *set, struct in_flight_record *ret, size_t room)
{
	return iterator_read(set->in_flight, ret, sizeof(*ret), room, /* counts_rest= */ true);
}

/* Return: number of records of the first walk: addresses ascend, and a lower one means that the walk began anew. */
static int mapped_first(const struct mapped_record *records, int n)
{
	for (int i = 1; i < n; i++)
		if (records[i].start <= records[i - 1].start)
			return i;
	return n;
}

int probe_set_mapped(struct probe_set *set, uint32_t tgid, struct mapped_record *ret, size_t room)
{
	union bpf_iter_link_info which;
	struct bpf_iter_attach_opts opts;
	struct bpf_link *link;
	int r;

	/*
	 * Clear all bytes: initializers leave padding and other members undefined, and libbpf and the kernel check
	 * them.
	 */
	memset(&which, 0, sizeof(which));
	memset(&opts, 0, sizeof(opts));
	which.task.tid = tgid;
	opts.sz = sizeof(opts);
	opts.link_info = &which;
	opts.link_info_len = sizeof(which);
	link = bpf_program__attach_iter(set->bpf->progs.mapped, &opts);
	if (!link)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	/* Not to its end: if the process was stopped while it mapped, the iterator never ended (seen on Linux 6.18). */
	r = iterator_read(link, ret, sizeof(*ret), room, /* counts_rest= */ false);
	(void)bpf_link__destroy(link);
	return mapped_first(ret, r);
}

int probe_set_executable(struct probe_set *set, struct executable_record *ret, size_t room)
{
	if (!set->executable)
		set->executable = bpf_program__attach_iter(set->bpf->progs.executable, NULL);
	if (!set->executable)
		return -errno;
	return iterator_read(set->executable, ret, sizeof(*ret), room, /* counts_rest= */ true);
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

/* This reads about 80 files, half the time of an answer about the daemon's state: the value is kept for a second. */
uint64_t probe_set_kernel_bytes(struct probe_set *set)
{
	uint64_t now_ns = clock_now_ns(), sum = 0;
	struct bpf_program *program;
	struct bpf_map *map;

	if (set->kernel_bytes_ns && now_ns - set->kernel_bytes_ns < NSEC_PER_SEC)
		return set->kernel_bytes;

	bpf_object__for_each_map(map, set->bpf->obj) sum += fdinfo_bytes(bpf_map__fd(map));
	bpf_object__for_each_program(program, set->bpf->obj) sum += fdinfo_bytes(bpf_program__fd(program));
	set->kernel_bytes = sum;
	set->kernel_bytes_ns = now_ns;
	return sum;
}

uint64_t probe_set_bystander_calls(const struct probe_set *set)
{
	return probe_set_counter(set, COUNTER_BYSTANDER) - set->bystanders_before;
}
