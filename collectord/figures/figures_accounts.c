// SPDX-License-Identifier: Apache-2.0
/* Accounts and waits of processes: reading them, listing them, and what is kept of processes that are gone. */
#include "figures/figures_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/stack_record.h"
#include "figures/account_book.h"
#include "figures/account_cpu.h"
#include "figures/wait_book.h"
#include "figures/wait_sites.h"
#include "files/file_table.h"

#define WAITS_LAST 16	       /* waits kept of a process that is gone, half of them singly */
#define BEHIND_LAST 32	       /* neighbours kept singly of a process that is gone */
#define GONE_ACCOUNTS_MOST 128 /* gone processes whose account is kept: those of each user that ended last */
#define EARLY_MOST 64	       /* accounts noted before their process was known */

void figures_accounts_drop(struct process_figures *p)
{
	for (size_t i = 0; i < p->accounts.n; i++)
		account_done(&p->accounts.items[i]);
	ARRAY_DONE(&p->accounts);
}

static bool taken_make(struct process_figures *p)
{
	if (!p->taken)
		p->taken = calloc(1, sizeof(*p->taken));
	return p->taken;
}

/* Return: path of the file, NULL: unknown */
static const char *file_path(const struct figures *f, const struct file_key *key)
{
	return f->files ? file_table_path(f->files, key) : NULL;
}

static bool wait_book_make(struct process_figures *p)
{
	if (taken_make(p) && !p->taken->wait_book)
		p->taken->wait_book = wait_book_new();
	return p->taken && p->taken->wait_book;
}

/* Note a wait in progress. Return: 0 or -ENOMEM */
static int open_note(struct figures *f, struct process_figures *p, const struct account_record *record)
{
	const struct file_key key = { .inode = record->wait_resource,
				      .device = record->wait_device,
				      .name_hash = record->wait_name_hash,
				      .tgid = record->tgid,
				      .slot = record->slot };

	if (!wait_book_make(p))
		return -ENOMEM;
	return wait_book_open(p->taken->wait_book, record, file_path(f, &key), f->reading);
}

/* Return: 1 if noted; 0 if its process is not known; -ENOMEM */
static int account_note(struct figures *f, const struct account_record *record)
{
	struct process_figures *p = record->slot < PROCESS_SLOTS ? f->by_slot[record->slot] : NULL;
	int r;

	if (!p || p->process->identity.tgid != record->tgid)
		return 0;
	if (!taken_make(p))
		return -ENOMEM;
	if (!p->taken->book)
		p->taken->book = account_book_new();
	r = p->taken->book ? account_book_note(p->taken->book, record, f->reading) : -ENOMEM;
	if (r == 0 && record->wait_since_ns && !account_is_torn(record))
		r = open_note(f, p, record);
	return r < 0 ? r : 1;
}

int figures_account(struct figures *f, const struct account_record *record)
{
	int r = account_note(f, record);

	if (r == 0)
		r = f->early.n < EARLY_MOST ? ARRAY_PUSH(&f->early, *record) : -ENOBUFS;
	f->accounts_lost += r < 0;
	return MIN(r, 0);
}

int figures_wait(struct figures *f, const struct wait_key *key, const struct wait_value *value)
{
	struct process_figures *p = key->slot < PROCESS_SLOTS ? f->by_slot[key->slot] : NULL;
	const struct file_key file = { .inode = key->resource,
				       .device = key->device,
				       .name_hash = value->name_hash,
				       .tgid = value->tgid,
				       .slot = key->slot };

	if (!p)
		return 0; /* slot claimed after the last collect: read next time */
	if (!wait_book_make(p))
		return -ENOMEM;
	return wait_book_note(p->taken->wait_book, key, value, file_path(f, &file), f->wait_reading);
}

static bool wait_sites_make(struct process_figures *p)
{
	if (!p->wait_sites)
		p->wait_sites = wait_sites_new();
	return p->wait_sites;
}

void figures_wait_stack(struct figures *f, const struct wait_record *record, struct stack *stack)
{
	struct process_figures *p = f->by_slot[record->key.slot % PROCESS_SLOTS];

	if (p && p->process->identity.tgid == record->tgid && p->process->identity.exec_gen == record->exec_gen &&
	    wait_sites_make(p))
		wait_sites_note(p->wait_sites, &record->key, stack, record->ns);
}

void figures_open_stack(struct figures *f, const struct account_record *record, struct stack *stack)
{
	struct process_figures *p = record->slot < PROCESS_SLOTS ? f->by_slot[record->slot] : NULL;
	const struct wait_key key = { .resource = record->wait_resource,
				      .device = record->wait_device,
				      .tid = record->tid,
				      .class = record->wait_class,
				      .kind = record->wait_kind };

	if (p && p->process->identity.tgid == record->tgid && wait_sites_make(p))
		wait_sites_note_open(p->wait_sites, &key, stack);
}

static int waits_show(struct process_figures *p)
{
	struct wait_list list;
	int r = wait_book_show(p->taken->wait_book, p->accounts.items, p->accounts.n, &list);

	if (r < 0)
		return r;
	ARRAY_DONE(&p->waits);
	p->waits.items = list.items;
	p->waits.n = list.n;
	p->waits.room = list.room;
	return 0;
}

static int accounts_show(struct process_figures *p)
{
	struct account_list list;
	int r = account_book_show(p->taken->book, &list);

	if (r < 0)
		return r;
	figures_accounts_drop(p);
	p->accounts.items = list.items;
	p->accounts.n = list.n;
	p->accounts.room = list.room;
	p->n_outer = account_calls(list.items, list.n);
	return 0;
}

/* Note the early accounts again: their processes are known by now, or gone. */
static int early_note(struct figures *f)
{
	size_t n_fresh = f->early.n - f->n_early_before;
	int worst = 0;

	for (size_t i = 0; i < f->n_early_before; i++) {
		int r = account_note(f, &f->early.items[i]);

		worst = MIN(r, worst);
		f->accounts_lost += r <= 0;
	}
	if (n_fresh)
		memmove(f->early.items, &f->early.items[f->n_early_before], n_fresh * sizeof(f->early.items[0]));
	f->early.n = f->n_early_before = n_fresh;
	return worst;
}

int figures_accounts_read(struct figures *f, bool all_accounts, bool all_waits)
{
	int worst = early_note(f);

	for (size_t i = 0; i < f->processes.n; i++) {
		struct process_figures *p = f->processes.items[i];

		if (p->taken && p->taken->book)
			worst = MIN(accounts_show(p), worst);
		if (p->taken && p->taken->wait_book && all_accounts)
			wait_book_opened(p->taken->wait_book, f->reading);
		if (p->taken && p->taken->wait_book && all_waits)
			wait_book_forget(p->taken->wait_book, f->wait_reading);
		if (p->taken && p->taken->wait_book)
			worst = MIN(waits_show(p), worst);
	}
	f->reading += all_accounts;
	f->wait_reading += all_waits;
	return worst;
}

uint64_t figures_accounts_lost(const struct figures *f)
{
	return f->accounts_lost;
}

/* Keep the waits of the first account's thread, and of the threads that ended them. */
static void waits_last(struct process_figures *p)
{
	struct wait_list list = { .items = p->waits.items, .room = p->waits.room };

	for (size_t i = 0; i < p->waits.n; i++)
		if (p->accounts.n &&
		    (p->waits.items[i].is_meanwhile || p->waits.items[i].tid == p->accounts.items[0].tid))
			list.items[list.n++] = list.items[i];
	wait_list_fold(&list, WAITS_LAST / 2, WAITS_LAST);
	p->waits.n = list.n;
	ARRAY_FIT(&p->waits);
}

/* Keep the first account, that of the driving thread with most calls, and its longest waits; and some neighbours. */
void figures_finish(struct process_figures *p)
{
	if (!p->taken)
		return;
	figures_taken_free(p->taken);
	p->taken = NULL;
	for (size_t i = 1; i < p->accounts.n; i++)
		account_done(&p->accounts.items[i]);
	p->accounts.n = MIN(p->accounts.n, 1);
	ARRAY_FIT(&p->accounts);
	if (p->accounts.n)
		ARRAY_FIT(&p->accounts.items[0].parts);
	waits_last(p);
	behind_fold(&p->behind, BEHIND_LAST);
	ARRAY_FIT(&p->behind);
	ARRAY_FIT(&p->ops.used);
}

static bool is_gone_with_account(const struct process_figures *p)
{
	return p->was_gone && (p->accounts.n || p->waits.n);
}

struct gone {
	struct process_figures *figures;
	uint32_t uid;
};

static int gone_order(const void *a, const void *b)
{
	const struct gone *x = a, *y = b;

	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	return x->figures->gone_ns < y->figures->gone_ns ? -1 : x->figures->gone_ns > y->figures->gone_ns;
}

static void gone_drop(struct process_figures *p)
{
	figures_accounts_drop(p);
	ARRAY_DONE(&p->waits);
	wait_sites_free(p->wait_sites);
	p->wait_sites = NULL;
}

/* Of the user who has most accounts of gone processes, those that ended first are dropped. @gone: sorted */
static void gone_limit(struct gone *gone, size_t n)
{
	for (; n > GONE_ACCOUNTS_MOST; n--) {
		size_t first = 0, most = 0;

		for (size_t i = 0, same; i < n; i += same) {
			for (same = 1; i + same < n && gone[i + same].uid == gone[i].uid;)
				same++;
			if (same > most) {
				most = same;
				first = i;
			}
		}
		gone_drop(gone[first].figures);
		memmove(&gone[first], &gone[first + 1], (n - 1 - first) * sizeof(*gone));
	}
}

void figures_accounts_taken(struct figures *f)
{
	CLEANUP(freep) struct gone *gone = NULL;
	size_t n = 0;

	for (size_t i = 0; i < f->processes.n; i++) {
		struct process_figures *p = f->processes.items[i];

		if (p->taken && p->taken->book)
			account_book_taken(p->taken->book, f->reading - 1);
		if (p->taken && p->taken->wait_book)
			wait_book_taken(p->taken->wait_book);
		if (p->wait_sites)
			wait_sites_taken(p->wait_sites);
		n += is_gone_with_account(p);
	}
	if (n <= GONE_ACCOUNTS_MOST)
		return;
	gone = calloc(n, sizeof(*gone));
	n = 0;
	for (size_t i = 0; i < f->processes.n; i++) {
		struct process_figures *p = f->processes.items[i];

		if (!is_gone_with_account(p))
			continue;
		if (gone)
			gone[n++] = (struct gone){ .figures = p, .uid = p->process->identity.uid };
		else
			gone_drop(p); /* without memory none is kept */
	}
	if (gone)
		qsort(gone, n, sizeof(*gone), gone_order);
	gone_limit(gone, n);
}
