// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "io"
#include "io/io_set.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "io.skel.h"
#include "io/io_calls.h"

#define TAKE_BATCH 256
#define HEAP_SPARE_BYTES (512 << 10)

struct io_set {
	struct io *bpf;
	uint64_t missing[IO_CALL_IDS / 64];
	bool is_taken[IO_LEASES]; /* bits of leases that are in force */
	struct io_key keys[TAKE_BATCH];
	struct io_cell cells[TAKE_BATCH];
};

static void io_set_freep(struct io_set **set)
{
	if (!*set)
		return;
	io__destroy((*set)->bpf);
	free(*set);
}

void io_set_close(struct io_set *set)
{
	io_set_freep(&set);
}

static void epoch_advance(struct io_set *set)
{
	(void)__atomic_add_fetch(&set->bpf->bss->io_epoch, 1, __ATOMIC_SEQ_CST);
}

/* Return: 0 or -errno, with the step that failed */
static int set_load(struct io_set *set, const char **ret_step)
{
	struct btf *btf;
	uint64_t key[2];
	int r;

	*ret_step = "read the kernel's types";
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return -errno;
	io_calls_missing(btf, set->missing);
	btf__free(btf);
	*ret_step = "load its programs";
	set->bpf = io__open();
	if (!set->bpf)
		return -errno;
	if (getrandom(key, sizeof(key), GRND_NONBLOCK) < 0)
		return -errno;
	memcpy((void *)(uintptr_t)set->bpf->rodata->io_key, key, sizeof(key));
	r = io__load(set->bpf);
	if (r < 0)
		return r;
	set->bpf->bss->io_daemon = (uint32_t)getpid();
	epoch_advance(set);
	*ret_step = "attach its programs";
	r = io__attach(set->bpf);
	/* The kernel's types take 5 MiB, which loading alone needs. */
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_SPARE_BYTES);
	(void)malloc_trim(0);
	return r;
}

int io_set_open(char *why, size_t why_bytes, struct io_set **ret_set)
{
	CLEANUP(io_set_freep) struct io_set *set = calloc(1, sizeof(*set));
	const char *step = "";
	int r = set ? set_load(set, &step) : -ENOMEM;

	if (r < 0) {
		(void)snprintf(why, why_bytes, "system calls cannot be traced: cannot %s: %s", step, strerror(-r));
		return r;
	}
	*ret_set = TAKE_PTR(set);
	return 0;
}

/* Before the entry itself: the programs look up what is marked. */
static void pid_mark(struct io_set *set, uint32_t pid)
{
	__atomic_store_n(&set->bpf->bss->io_pid_marks[pid & (IO_PID_MARKS - 1)], 1, __ATOMIC_SEQ_CST);
}

static void uid_mark(struct io_set *set, uint32_t uid)
{
	__atomic_store_n(&set->bpf->bss->io_uid_marks[uid & (IO_UID_MARKS - 1)], 1, __ATOMIC_SEQ_CST);
}

static int bit_set(int map, uint32_t key, unsigned int bit)
{
	uint32_t bits = 0;

	(void)bpf_map_lookup_elem(map, &key, &bits);
	bits |= 1u << bit;
	return bpf_map_update_elem(map, &key, &bits, BPF_ANY);
}

/* The next key is looked up before an entry goes: iteration over a hash begins anew behind a key that is gone. */
static void bit_clear_all(int map, unsigned int bit)
{
	uint32_t key, next, bits;
	bool has_next = bpf_map_get_next_key(map, NULL, &next) == 0;

	while (has_next) {
		key = next;
		has_next = bpf_map_get_next_key(map, &key, &next) == 0;
		if (bpf_map_lookup_elem(map, &key, &bits) < 0 || !(bits & 1u << bit))
			continue;
		bits &= ~(1u << bit);
		if (bits)
			(void)bpf_map_update_elem(map, &key, &bits, BPF_EXIST);
		else
			(void)bpf_map_delete_elem(map, &key);
	}
}

static void bits_change(__u32 *bits, unsigned int bit, bool is_set)
{
	__atomic_store_n(bits, is_set ? *bits | 1u << bit : *bits & ~(1u << bit), __ATOMIC_SEQ_CST);
}

/* Whether a lease leaves calls out of the processes that it covers. A bit without a lease leaves out none. */
static bool has_filters(const struct io_lease *lease)
{
	for (size_t i = 0; i < ARRAY_SIZE(lease->calls); i++)
		if (lease->calls[i] != UINT64_MAX)
			return true;
	return lease->min_ns;
}

static void filters_update(struct io_set *set)
{
	__u32 any = 0;

	for (size_t i = 0; i < IO_LEASES; i++)
		any |= set->is_taken[i] && has_filters(&set->bpf->bss->io_leases[i]);
	for (uint32_t call = 0; call < IO_CALL_IDS; call++) {
		bool is_wanted = false;

		for (size_t i = 0; i < IO_LEASES; i++)
			is_wanted |=
				set->is_taken[i] && set->bpf->bss->io_leases[i].calls[call / 64] & 1ull << (call & 63);
		set->bpf->bss->io_wanted[call] = is_wanted;
	}
	__atomic_store_n(&set->bpf->bss->io_has_filters, any, __ATOMIC_SEQ_CST);
}

static void lease_clear(struct io_set *set, unsigned int bit)
{
	struct io_lease none = { .calls = { UINT64_MAX, UINT64_MAX } };

	set->is_taken[bit] = false;
	bits_change(&set->bpf->bss->io_everyone, bit, false);
	bits_change(&set->bpf->bss->io_with_events, bit, false);
	bit_clear_all(bpf_map__fd(set->bpf->maps.io_pids), bit);
	bit_clear_all(bpf_map__fd(set->bpf->maps.io_uids), bit);
	memcpy(&set->bpf->bss->io_leases[bit], &none, sizeof(none));
	filters_update(set);
	epoch_advance(set);
}

int io_set_lease(struct io_set *set, unsigned int bit, const struct io_wish *wish)
{
	int r = 0;

	if (!wish) {
		lease_clear(set, bit);
		return 0;
	}
	set->is_taken[bit] = true;
	memcpy(&set->bpf->bss->io_leases[bit], &wish->lease, sizeof(wish->lease));
	filters_update(set);
	bits_change(&set->bpf->bss->io_with_events, bit, wish->lease.flags & IO_LEASE_EVENTS);
	for (size_t i = 0; i < wish->n_pids; i++)
		pid_mark(set, wish->pids[i]);
	for (size_t i = 0; i < wish->n_uids; i++)
		uid_mark(set, wish->uids[i]);
	for (size_t i = 0; i < wish->n_pids && r == 0; i++)
		r = bit_set(bpf_map__fd(set->bpf->maps.io_pids), wish->pids[i], bit);
	for (size_t i = 0; i < wish->n_uids && r == 0; i++)
		r = bit_set(bpf_map__fd(set->bpf->maps.io_uids), wish->uids[i], bit);
	if (r < 0) {
		lease_clear(set, bit);
		return r;
	}
	bits_change(&set->bpf->bss->io_everyone, bit, wish->lease.flags & IO_LEASE_ALL);
	epoch_advance(set);
	return 0;
}

int io_set_follow(struct io_set *set, unsigned int bit, uint32_t pid)
{
	int r;

	pid_mark(set, pid);
	r = bit_set(bpf_map__fd(set->bpf->maps.io_pids), pid, bit);
	if (r == 0)
		epoch_advance(set);
	return r;
}

bool io_set_names_any(const struct io_set *set, unsigned int bit)
{
	int map = bpf_map__fd(set->bpf->maps.io_pids);
	uint32_t key, bits;
	int r = bpf_map_get_next_key(map, NULL, &key);

	for (; r == 0; r = bpf_map_get_next_key(map, &key, &key))
		if (bpf_map_lookup_elem(map, &key, &bits) == 0 && bits & 1u << bit)
			return true;
	return false;
}

const uint64_t *io_set_missing(const struct io_set *set)
{
	return set->missing;
}

int io_set_ring(const struct io_set *set)
{
	return bpf_map__fd(set->bpf->maps.io_ring);
}

void io_set_swap(struct io_set *set)
{
	(void)__atomic_xor_fetch(&set->bpf->bss->io_which, 1, __ATOMIC_SEQ_CST);
}

static int map_take(struct io_set *set, int map, io_row_func func, void *data)
{
	uint64_t position = 0;
	bool is_first = true;
	int r = 0;

	while (r == 0) {
		uint32_t n = TAKE_BATCH;

		r = bpf_map_lookup_and_delete_batch(map, is_first ? NULL : &position, &position, set->keys, set->cells,
						    &n, NULL);
		if (r < 0 && r != -ENOENT)
			return r;
		is_first = false;
		for (uint32_t i = 0; i < n; i++)
			func(&set->keys[i], &set->cells[i], data);
	}
	return 0;
}

int io_set_take(struct io_set *set, io_row_func func, void *data)
{
	bool second_is_filled = set->bpf->bss->io_which & 1;
	struct bpf_map *cells = second_is_filled ? set->bpf->maps.io_cells_a : set->bpf->maps.io_cells_b;
	struct bpf_map *rests = second_is_filled ? set->bpf->maps.io_rests_a : set->bpf->maps.io_rests_b;
	int r = map_take(set, bpf_map__fd(cells), func, data);

	return r < 0 ? r : map_take(set, bpf_map__fd(rests), func, data);
}

uint64_t io_set_lost(const struct io_set *set, enum io_loss loss)
{
	return __atomic_load_n(&set->bpf->bss->io_losses[loss], __ATOMIC_RELAXED);
}
