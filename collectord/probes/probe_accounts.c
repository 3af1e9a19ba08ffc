// SPDX-License-Identifier: Apache-2.0
/* Accounts of threads: of running threads from an iterator of the kernel half, of ended threads from a map. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "probes/probe_set_state.h"

#define ACCOUNTS_AT_ONCE 16

/* Who gets the accounts, after what was not seen is set. */
struct account_reading {
	const struct probe_set *set;
	probe_account_func func;
	void *data;
	bool sets_unseen;
};

static void account_pass(struct account_record *record, const struct account_reading *reading)
{
	if (reading->sets_unseen && reading->set->unseen)
		reading->set->unseen(record, reading->set->unseen_data);
	reading->func(record, reading->data);
}

/* Whether the account is complete, not one that is being written. */
static bool account_is_whole(const struct account_record *record)
{
	return record->changes == record->account.changes;
}

/* Return: number of accounts passed to func, or -errno */
static int accounts_living(struct probe_set *set, struct account_record *room, const struct account_reading *reading)
{
	CLEANUP(closep) int fd = -1;
	size_t n_bytes = 0, whole;
	int told = 0;
	ssize_t n;

	if (!set->accounts)
		set->accounts = bpf_program__attach_iter(set->bpf->progs.accounts, NULL);
	if (!set->accounts)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(set->accounts));
	if (fd < 0)
		return -errno;
	for (;;) {
		n = read(fd, (char *)room + n_bytes, ACCOUNTS_AT_ONCE * sizeof(*room) - n_bytes);
		if (n == 0)
			return told;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		n_bytes += n > 0 ? (size_t)n : 0;
		whole = n_bytes / sizeof(*room);
		for (size_t i = 0; i < whole; i++)
			account_pass(&room[i], reading);
		told += (int)whole;
		n_bytes -= whole * sizeof(*room);
		memmove(room, &room[whole], n_bytes);
	}
}

/* Return: number of keys in the map of ended threads */
static size_t ended_keys(const struct probe_set *set, struct account_key ret[ACCOUNTS_ENDED])
{
	int fd = bpf_map__fd(set->bpf->maps.accounts_ended);
	size_t n = 0;

	while (n < ACCOUNTS_ENDED && bpf_map_get_next_key(fd, n ? &ret[n - 1] : NULL, &ret[n]) == 0)
		n++;
	return n;
}

/* The entry is removed: its user may have another one. */
static void share_give(const struct probe_set *set, const struct account_record *record)
{
	share_entry_gone(&set->bpf->bss->n_accounts_ended, set->bpf->bss->accounts_ended_of, record->share);
}

static int accounts_of_ended(struct probe_set *set, struct account_record *room, const struct account_reading *reading)
{
	CLEANUP(freep) struct account_key *keys = calloc(ACCOUNTS_ENDED, sizeof(*keys));
	int fd = bpf_map__fd(set->bpf->maps.accounts_ended), told = 0;
	size_t n = keys ? ended_keys(set, keys) : 0;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		/* An account that is being written stays for the next time. */
		if (bpf_map_lookup_elem(fd, &keys[i], room) || !account_is_whole(room))
			continue;
		if (!bpf_map_delete_elem(fd, &keys[i]))
			share_give(set, room);
		account_pass(room, reading);
		told++;
	}
	return told;
}

void probe_set_unseen(struct probe_set *set, void (*func)(struct account_record *record, void *data), void *data)
{
	set->unseen = func;
	set->unseen_data = data;
}

int probe_set_accounts(struct probe_set *set, probe_account_func func, void *data)
{
	CLEANUP(freep) struct account_record *room = calloc(ACCOUNTS_AT_ONCE, sizeof(*room));
	const struct account_reading reading = { set, func, data, .sets_unseen = true };
	int living, ended;

	/* Without task switches all time would count as on the CPU. */
	if (!probe_set_measures(set, BLAME_RUNNABLE))
		return 0;
	if (!room)
		return -ENOMEM;
	living = accounts_living(set, room, &reading);
	/* After the running threads, so that a thread which ends in between is not missed. */
	ended = accounts_of_ended(set, room, &reading);
	if (living < 0)
		return living;
	return ended < 0 ? ended : living + ended;
}

int probe_set_accounts_running(struct probe_set *set, probe_account_func func, void *data)
{
	CLEANUP(freep) struct account_record *room = calloc(ACCOUNTS_AT_ONCE, sizeof(*room));
	const struct account_reading reading = { set, func, data, .sets_unseen = false };

	return room ? accounts_living(set, room, &reading) : -ENOMEM;
}

void probe_set_accounts_forget(struct probe_set *set, uint32_t slot)
{
	CLEANUP(freep) struct account_key *keys = calloc(ACCOUNTS_ENDED, sizeof(*keys));
	size_t n = keys ? ended_keys(set, keys) : 0;
	int fd = bpf_map__fd(set->bpf->maps.accounts_ended);
	struct account_record last;

	for (size_t i = 0; i < n; i++) {
		if (keys[i].slot != slot || bpf_map_lookup_and_delete_elem(fd, &keys[i], &last))
			continue;
		share_give(set, &last);
		probe_set_share_lose(set, slot, LOSS_ACCOUNTS);
	}
}
