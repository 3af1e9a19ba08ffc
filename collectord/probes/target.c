// SPDX-License-Identifier: Apache-2.0
/*
 * The set of library files and of the processes that map them, updated as processes load libraries, execute programs
 * and end. target_scan.c scans processes.
 */
#include "probes/target.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"
#include "probes/target_collector.h"
#include "probes/target_python.h"
#include "probes/target_state.h"
#include "procs/procfs.h"

#define LOG_TOPIC "targets"
#include "base/log.h"

#define UNUSED_LIMIT_NS (60 * NSEC_PER_SEC) /* guess: for programs that start every minute */
#define UNUSED_LOOK_NS (10 * NSEC_PER_SEC)

int target_set_scan(struct target_set *set, uint32_t tgid, uint64_t library_base, target_done_func done, void *data)
{
	const struct target_load load = { .tgid = tgid, .base = library_base };
	int r = target_scan_start(set, tgid, &load, done, data);

	return r == -ESRCH ? 0 : r;
}

void target_set_exec(struct target_set *set, uint32_t tgid, uint64_t time_ns)
{
	const struct target_load load = { .tgid = tgid, .time_ns = time_ns, .is_told = true };

	target_set_forget(set, tgid);
	(void)target_scan_start(set, tgid, &load, NULL, NULL); /* the process may be gone */
}

static void scan_later(struct target_set *set, uint32_t tgid)
{
	for (size_t i = set->later.n; i-- > 0;)
		if (set->later.items[i] == tgid)
			return;
	(void)ARRAY_PUSH(&set->later, tgid); /* without memory it is only not listed */
}

static void file_forget(struct target_set *set, struct target_file *file)
{
	target_processes_forget_file(&set->processes, file);
	target_files_forget(&set->files, file);
}

void target_set_load(struct target_set *set, const struct target_load *load, target_done_func done, void *data)
{
	struct target_file *file = target_files_find_load(&set->files, &load->file);
	bool is_known = file && file->is_settled;

	if (load->is_told)
		target_lates_told(&set->lates, load);
	while (file && file->same)
		file = file->same;
	if (is_known && file->is_turned_away && target_files_make_room(&set->files, file->library.owner.uid)) {
		file_forget(set, file);
		is_known = false;
	}
	if (is_known) {
		if (file->is_turned_away)
			target_lates_turned_away(&set->lates, load->tgid, file);
		if (file->is_listed) {
			file->used_ns = file->loaded_ns = clock_now_ns();
			if (!load->is_held)
				target_lates_judge(&set->lates, load, file, /* has_loader= */ true);
			scan_later(set, load->tgid);
		}
		/* At once: the first call follows soon. */
		if (file->is_interpreter)
			(void)target_scan_start(set, load->tgid, NULL, NULL, NULL);
		if (done)
			done(load->tgid, data);
		return;
	}
	/* The process is gone before the loaded file was known. */
	if (target_scan_start(set, load->tgid, load, done, data) < 0 && load->is_told && !load->is_held)
		target_lates_missed(&set->lates, load);
}

void target_set_look_gone(struct target_set *set)
{
	target_lates_look(&set->lates);
}

void target_set_let_go(struct target_set *set, uint32_t tgid)
{
	for (struct scan *scan = set->scans; scan; scan = scan->next)
		/* A scan with a time belongs to an earlier stop: the process has run since. */
		if (scan->tgid == tgid && scan->load.is_held && !scan->is_told && !scan->load.time_ns)
			scan->load.time_ns = clock_now_ns();
}

/*
 * Detach files that no process has mapped for a while: probes keep a file on its disk and its file system from being
 * unmounted, and slow down every process that maps the file later.
 */
static void files_let_go(struct target_set *set, uint64_t now_ns)
{
	uint64_t now_s = clock_to_unix_ns(now_ns) / NSEC_PER_SEC;

	target_files_see(&set->files, now_ns);
	target_collectors_let_go(&set->files, now_ns, UNUSED_LIMIT_NS);
	target_pythons_let_go(&set->files, now_ns, UNUSED_LIMIT_NS);
	for (size_t i = set->files.listed.n; i-- > 0;) {
		struct target_file *file = set->files.listed.items[i];

		if (file->used_ns == now_ns && file->is_remembered)
			(void)target_memory_note(&set->memory, set->proc_fd, file->library.path, &file->id, now_s);
		if (file->used_ns == now_ns || file->loader)
			continue;
		if (set->keeps && file->is_remembered &&
		    target_memory_holds(&set->memory, set->proc_fd, &file->id, now_s))
			continue;
		if (file->is_turned_away || now_ns - file->used_ns > UNUSED_LIMIT_NS)
			target_files_forget(&set->files, file);
	}
}

/* Retry files that were refused for lack of room, as far as there is room now. */
static void files_readmit(struct target_set *set)
{
	bool is_any = false;

	for (size_t n = set->files.listed.n; n-- > 0;) {
		/* Making room removes an entry and moves the later ones. */
		size_t i = MIN(n, set->files.listed.n - 1);
		struct target_file *file = set->files.listed.items[i];

		if (!file->is_turned_away || file->is_retried)
			continue;
		is_any = true;
		file->is_retried = target_files_make_room(&set->files, file->library.owner.uid);
	}
	set->is_full_told &= is_any;
}

/* Forget files that failed for a passing reason, and scan the processes that map them again. */
static void files_retry(struct target_set *set)
{
	bool is_loader = false;

	for (size_t i = set->files.listed.n; i-- > 0;) {
		struct target_file *file = set->files.listed.items[i];

		if (!file->is_retried)
			continue;
		for (size_t k = 0; k < set->processes.all.n; k++)
			if (target_process_maps(set->processes.all.items[k], file))
				scan_later(set, set->processes.all.items[k]->tgid);
		is_loader |= file->is_loader;
		file_forget(set, file);
	}
	if (is_loader)
		(void)target_set_scan_loader(set, NULL, NULL);
}

static void memory_write(struct target_set *set)
{
	int r = target_memory_save(&set->memory);

	if (r < 0)
		(void)log_warning(r, "cannot save the list of libraries in use: they are attached late after a "
				     "restart");
}

uint64_t target_set_lates(const struct target_set *set, uint64_t from, target_sees_func sees, void *data)
{
	return target_lates_seen(&set->lates, from, sees, data);
}

int target_set_remember(struct target_set *set, const char *list_path)
{
	return target_memory_load(&set->memory, list_path, clock_to_unix_ns(clock_now_ns()) / NSEC_PER_SEC);
}

void target_set_keep(struct target_set *set, bool is_on)
{
	/* Closing perf events takes up to 0.7 s a probe: unused files are not attached with them. */
	set->keeps = is_on && probe_set_back_end(set->files.probes) != PROBE_BACK_END_PERF;
	set->i_recall = 0;
	target_scan_recall(set);
}

void target_set_thin(struct target_set *set, uint32_t groups)
{
	for (size_t i = 0; i < set->files.listed.n; i++) {
		const struct target_library *library = &set->files.listed.items[i]->library;

		/* What cannot be attached now is tried again at the next step. */
		if (library->probes)
			(void)probe_set_library_thin(set->files.probes, library->probes, groups);
	}
}

uint32_t target_set_attached(const struct target_set *set)
{
	uint32_t groups = UINT32_MAX;

	for (size_t i = 0; i < set->files.listed.n; i++) {
		const struct target_library *library = &set->files.listed.items[i]->library;

		if (library->probes)
			groups &= probe_set_library_groups(library->probes);
	}
	return groups;
}

void target_set_second(struct target_set *set)
{
	uint64_t now_ns = clock_now_ns();
	uint32_t *tgids;
	size_t n;

	if (now_ns - set->looked_ns > UNUSED_LOOK_NS) {
		set->looked_ns = now_ns;
		files_let_go(set, now_ns);
		files_readmit(set);
		memory_write(set);
	}
	target_scan_recall(set);
	files_retry(set);
	tgids = set->later.items;
	n = set->later.n;
	set->later.items = NULL;
	set->later.n = set->later.room = 0;
	for (size_t i = 0; i < n; i++)
		(void)target_set_scan(set, tgids[i], 0, NULL, NULL);
	free(tgids);
	target_scan_pump(set); /* ends the wait of scans for unnamed files, which is limited to some seconds */
	target_lates_second(&set->lates, now_ns);
}

int target_set_open(uv_loop_t *loop, struct child *parser, struct probe_set *probes, target_found_func found,
		    void *data, struct target_set **ret_targets)
{
	CLEANUP(freep) struct target_set *set = calloc(1, sizeof(*set));

	(void)loop; /* no timer is needed: all open scans wait for answers of the parser */
	if (!set)
		return -ENOMEM;
	set->proc_fd = procfs_open();
	if (set->proc_fd < 0)
		return set->proc_fd;
	set->memory_device = target_memory_device();
	set->lates.proc_fd = set->proc_fd;
	set->parser = parser;
	set->files.probes = set->lates.probes = probes;
	set->files.processes = &set->processes;
	set->files.proc_fd = set->proc_fd;
	set->found = found;
	set->data = data;
	*ret_targets = TAKE_PTR(set);
	return 0;
}

void target_set_close(struct target_set *set)
{
	if (!set)
		return;
	target_scan_close(set);
	ARRAY_DONE(&set->later);
	ARRAY_DONE(&set->soon);
	target_lates_done(&set->lates);
	memory_write(set);
	target_memory_done(&set->memory);
	target_processes_done(&set->processes);
	target_files_done(&set->files);
	closep(&set->proc_fd);
	free(set);
}

size_t target_set_count(const struct target_set *set)
{
	return set->files.listed.n;
}

const struct target_library *target_set_get(const struct target_set *set, size_t i)
{
	return &set->files.listed.items[i]->library;
}

void target_set_forget(struct target_set *set, uint32_t tgid)
{
	if (set->is_full_told)
		set->looked_ns = 0; /* there may be room now for files that were refused */
	target_processes_forget(&set->processes, tgid);
	for (size_t i = set->later.n; i-- > 0;)
		if (set->later.items[i] == tgid)
			ARRAY_REMOVE_SWAP(&set->later, i);
}

const struct target_processes *target_set_processes(const struct target_set *set)
{
	return &set->processes;
}

void target_set_refresh(struct target_set *set)
{
	target_processes_refresh(&set->processes, set->proc_fd);
}

const struct target_library *target_mapped_library(const struct target_mapped *mapped)
{
	return mapped->file ? &mapped->file->library : NULL;
}

enum call_head target_set_head(const struct target_set *set, uint32_t tgid, uint32_t op)
{
	const struct target_process *process = target_processes_find(&set->processes, tgid);
	const struct target_op *attached;
	int head = -1;

	for (size_t i = 0; process && i < process->mapped.n; i++) {
		attached = target_library_op(target_mapped_library(&process->mapped.items[i]), op);
		head = MAX(head, attached ? (int)attached->head : -1);
	}
	if (head >= 0)
		return (enum call_head)head;
	for (size_t i = 0; i < set->files.listed.n; i++) {
		attached = target_library_op(&set->files.listed.items[i]->library, op);
		head = MAX(head, attached ? (int)attached->head : -1);
	}
	return head < 0 ? CALL_HEAD_PLAIN : (enum call_head)head;
}

/* Notes only files with the name of a CUDA library that no scan has listed. */
int target_set_look(struct target_set *set, uint32_t tgid)
{
	CLEANUP(target_candidates_done) struct target_candidates candidates = { .n_wanted = 0 };
	CLEANUP(closep) int process_fd = procfs_open_process(set->proc_fd, tgid);
	int r;

	if (process_fd < 0)
		return process_fd;
	r = target_candidates_read(process_fd, 0, &candidates);
	for (size_t i = 0; r == 0 && i < candidates.all.n; i++) {
		const struct target_candidate *c = &candidates.all.items[i];
		struct target_sighting sighting = {
			.path = c->path, .device = c->device, .inode = c->inode, .is_deleted = c->is_deleted
		};

		if (c->is_named)
			r = target_processes_note(&set->processes, tgid, process_fd, &sighting);
	}
	return r;
}
