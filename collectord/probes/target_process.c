// SPDX-License-Identifier: Apache-2.0
#include "probes/target_process.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "probes/target_memory.h"
#include "procs/owner.h"
#include "procs/procfs.h"

static void process_empty(struct target_process *process)
{
	for (size_t i = 0; i < process->mapped.n; i++)
		free(process->mapped.items[i].path);
	process->mapped.n = 0;
}

static void target_process_free(struct target_process *process)
{
	process_empty(process);
	ARRAY_DONE(&process->mapped);
	free(process);
}

void target_processes_done(struct target_processes *processes)
{
	for (size_t i = 0; i < processes->all.n; i++)
		target_process_free(processes->all.items[i]);
	ARRAY_DONE(&processes->all);
}

struct target_process *target_processes_find(const struct target_processes *processes, uint32_t tgid)
{
	for (size_t i = 0; i < processes->all.n; i++)
		if (processes->all.items[i]->tgid == tgid)
			return processes->all.items[i];
	return NULL;
}

void target_processes_forget(struct target_processes *processes, uint32_t tgid)
{
	for (size_t i = 0; i < processes->all.n; i++) {
		if (processes->all.items[i]->tgid != tgid)
			continue;
		target_process_free(processes->all.items[i]);
		ARRAY_REMOVE_SWAP(&processes->all, i);
		return;
	}
}

static void mapped_drop(struct target_process *process, size_t i)
{
	free(process->mapped.items[i].path);
	ARRAY_REMOVE_SWAP(&process->mapped, i);
}

static void empty_drop(struct target_processes *processes)
{
	for (size_t i = processes->all.n; i-- > 0;) {
		if (processes->all.items[i]->mapped.n)
			continue;
		target_process_free(processes->all.items[i]);
		ARRAY_REMOVE_SWAP(&processes->all, i);
	}
}

void target_processes_forget_file(struct target_processes *processes, const struct target_file *file)
{
	for (size_t i = 0; i < processes->all.n; i++)
		for (size_t k = processes->all.items[i]->mapped.n; k-- > 0;)
			if (processes->all.items[i]->mapped.items[k].file == file)
				mapped_drop(processes->all.items[i], k);
	empty_drop(processes);
}

bool target_process_maps(const struct target_process *process, const struct target_file *file)
{
	for (size_t i = 0; i < process->mapped.n; i++)
		if (process->mapped.items[i].file == file)
			return true;
	return false;
}

bool target_processes_map(const struct target_processes *processes, const struct target_file *file)
{
	for (size_t i = 0; i < processes->all.n; i++)
		if (target_process_maps(processes->all.items[i], file))
			return true;
	return false;
}

bool target_processes_interpret(const struct target_processes *processes, const struct file_identity *interpreter)
{
	for (size_t i = 0; i < processes->all.n; i++)
		if (file_identity_equal(&processes->all.items[i]->interpreter, interpreter))
			return true;
	return false;
}

/* Entry of a running process, added if new; it replaces the entry of a gone process with the same pid. */
static int process_take(struct target_processes *processes, uint32_t tgid, int process_fd,
			struct target_process **ret_process)
{
	struct target_process *process = target_processes_find(processes, tgid);
	struct owner owner;
	struct procfs_stat stat;
	int r = procfs_stat_read(process_fd, &stat);

	if (r == 0)
		r = owner_read(process_fd, &owner);
	if (r < 0)
		return r;
	if (process && process->start_ticks != stat.start_ticks) {
		process_empty(process);
		process->interpreter.inode = 0;
	}
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return -ENOMEM;
		r = ARRAY_PUSH(&processes->all, process);
		if (r < 0) {
			free(process);
			return r;
		}
	}
	process->tgid = tgid;
	process->owner = owner;
	process->start_ticks = stat.start_ticks;
	_Static_assert(sizeof(process->comm) == sizeof(stat.comm), "a name fits");
	memcpy(process->comm, stat.comm, sizeof(process->comm));
	*ret_process = process;
	return 0;
}

static struct target_mapped *mapped_find(struct target_process *process, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < process->mapped.n; i++)
		if (process->mapped.items[i].device == device && process->mapped.items[i].inode == inode)
			return &process->mapped.items[i];
	return NULL;
}

int target_processes_note(struct target_processes *processes, uint32_t tgid, int process_fd,
			  const struct target_sighting *s)
{
	struct target_mapped fresh = { .device = s->device, .inode = s->inode }, *mapped;
	struct target_process *process;
	int r = process_take(processes, tgid, process_fd, &process);

	if (r < 0)
		return r;
	mapped = mapped_find(process, s->device, s->inode);
	if (!mapped) {
		fresh.path = strdup(s->path);
		r = fresh.path ? ARRAY_PUSH(&process->mapped, fresh) : -ENOMEM;
		if (r < 0) {
			free(fresh.path);
			empty_drop(processes);
			return r;
		}
		mapped = &process->mapped.items[process->mapped.n - 1];
	}
	r = s->file && !mapped->file;
	if (s->file)
		mapped->file = s->file;
	mapped->is_deleted = s->is_deleted;
	return r;
}

static int on_process_mapping(const struct procfs_mapping *m, void *data)
{
	struct target_mapped *mapped;

	if (!m->inode || !m->is_executable)
		return 0;
	mapped = mapped_find(data, (uint64_t)m->dev_major << 32 | m->dev_minor, m->inode);
	if (mapped) {
		mapped->is_met = true;
		mapped->is_deleted = m->is_deleted;
	}
	return 0;
}

static void process_refresh(struct target_process *process, int proc_fd)
{
	CLEANUP(closep) int process_fd = procfs_open_process(proc_fd, process->tgid);
	struct procfs_stat stat;
	int r;

	if (process_fd < 0 || procfs_stat_read(process_fd, &stat) < 0 || stat.start_ticks != process->start_ticks ||
	    stat.state == 'Z' || owner_read(process_fd, &process->owner) < 0) {
		process_empty(process);
		return;
	}
	memcpy(process->comm, stat.comm, sizeof(process->comm));
	for (size_t i = 0; i < process->mapped.n; i++)
		process->mapped.items[i].is_met = false;
	r = procfs_maps_read(process_fd, on_process_mapping, process);
	for (size_t i = process->mapped.n; r == 0 && i-- > 0;)
		if (!process->mapped.items[i].is_met)
			mapped_drop(process, i);
}

void target_processes_refresh(struct target_processes *processes, int proc_fd)
{
	for (size_t i = 0; i < processes->all.n; i++)
		process_refresh(processes->all.items[i], proc_fd);
	empty_drop(processes);
}
