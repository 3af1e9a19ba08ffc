// SPDX-License-Identifier: Apache-2.0
#include "procs/process_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "procs/procfs.h"

#define BUCKETS_FIRST 1024u /* a power of two */

struct process_table {
	struct process **buckets; /* by process id, the newest first */
	size_t n_buckets;
	size_t n;
	int proc_fd;
};

static struct process **process_bucket_of(const struct process_table *table, uint32_t tgid)
{
	return &table->buckets[(tgid * 2654435761u >> 4) & (table->n_buckets - 1)];
}

int process_table_new(struct process_table **ret_table)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (table)
		table->buckets = calloc(BUCKETS_FIRST, sizeof(struct process *));
	if (!table || !table->buckets) {
		free(table);
		return -ENOMEM;
	}
	table->n_buckets = BUCKETS_FIRST;
	table->proc_fd = -1;
	*ret_table = table;
	return 0;
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	assert(!table->n);
	free(table->buckets);
	free(table);
}

void process_table_look(struct process_table *table, int proc_fd)
{
	table->proc_fd = proc_fd;
}

size_t process_table_count(const struct process_table *table)
{
	return table->n;
}

/* The newest stay first: each chain is moved from its end. Without memory chains only get longer. */
static void buckets_double(struct process_table *table)
{
	struct process **old = table->buckets, **fresh = calloc(table->n_buckets * 2, sizeof(struct process *));
	size_t n_old = table->n_buckets;

	if (!fresh)
		return;
	table->buckets = fresh;
	table->n_buckets *= 2;
	for (size_t i = 0; i < n_old; i++) {
		struct process *reversed = NULL;

		for (struct process *p = old[i], *next; p; p = next) {
			next = p->next;
			p->next = reversed;
			reversed = p;
		}
		for (struct process *p = reversed, *next; p; p = next) {
			struct process **bucket = process_bucket_of(table, p->identity.tgid);

			next = p->next;
			p->next = *bucket;
			*bucket = p;
		}
	}
	free(old);
}

struct process *process_table_take(struct process_table *table, const struct process_identity *identity)
{
	struct process **bucket, *p, *former = NULL;

	for (p = process_table_newest(table, identity->tgid); p; p = process_older(p)) {
		if (process_identity_equal(&p->identity, identity))
			return process_ref(p);
		if (p->identity.start_boot_ns && p->identity.start_boot_ns == identity->start_boot_ns &&
		    p->identity.exec_gen == identity->exec_gen)
			former = p;
	}

	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (table->n >= table->n_buckets)
		buckets_double(table);
	bucket = process_bucket_of(table, identity->tgid);
	*p = (struct process){ .identity = *identity, .table = table, .next = *bucket, .n_references = 1 };
	if (former) {
		p->identity.start_unix_ns = former->identity.start_unix_ns;
		memcpy(p->identity.comm, former->identity.comm, sizeof(p->identity.comm));
	}
	*bucket = p;
	table->n++;
	return p;
}

/* The process with this pid may be a successor; then the data is the successor's. */
static void program_look(struct process *process)
{
	CLEANUP(closep) int fd = procfs_open_process(process->table->proc_fd, process->identity.tgid);
	struct procfs_stat stat;

	if (fd >= 0 && procfs_stat_read(fd, &stat) == 0 &&
	    stat.start_ticks == process->identity.start_boot_ns / procfs_tick_ns())
		program_read(fd, process->identity.uid, &process->identity.program);
}

void process_called(struct process *process, const char name[RECORD_COMM_BYTES])
{
	if (process->has_called)
		return;
	process->has_called = true;
	process->row = 0; /* has the previous name, if any */
	memcpy(process->identity.comm, name, RECORD_COMM_BYTES);
	if (process->table->proc_fd >= 0 && !process_is_guarded(process))
		program_look(process);
}

static struct process *same_from(struct process *p, uint32_t tgid)
{
	while (p && p->identity.tgid != tgid)
		p = p->next;
	return p;
}

struct process *process_table_newest(const struct process_table *table, uint32_t tgid)
{
	return same_from(*process_bucket_of(table, tgid), tgid);
}

struct process *process_older(const struct process *process)
{
	return same_from(process->next, process->identity.tgid);
}

struct process *process_ref(struct process *process)
{
	assert(process->n_references);
	process->n_references++;
	return process;
}

struct process *process_unref(struct process *process)
{
	struct process **at;

	if (!process)
		return NULL;
	assert(process->n_references);
	if (--process->n_references)
		return NULL;
	assert(!process->memory); /* it holds a reference */
	for (at = process_bucket_of(process->table, process->identity.tgid); *at != process; at = &(*at)->next)
		;
	*at = process->next;
	process->table->n--;
	failures_done(&process->failures);
	free(process);
	return NULL;
}
