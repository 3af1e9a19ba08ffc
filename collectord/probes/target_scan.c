// SPDX-License-Identifier: Apache-2.0
/*
 * A scan reads the mappings of a process once, into candidates, and then works through them a few at a time: open
 * without reading, identify the file by the kernel's data, and hand a new file to the parser. A known file costs an
 * open and a stat. Candidates with a known name come first; a scan is done when those are settled, and continues in the
 * background with the other files, since a copy of a library may have any name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/layer.h"
#include "children/child.h"
#include "children/parser.h"
#include "clock.h"
#include "probes/target_collector.h"
#include "probes/target_library.h"
#include "probes/target_python.h"
#include "probes/target_state.h"
#include "procs/procfs.h"

#define LOG_TOPIC "targets"
#include "base/log.h"

#define ASKING_MAX 16			  /* files that are open and with the parser at a time */
#define ASKING_UNNAMED_MAX 2		  /* of these, files without a known name, behind which others must wait */
#define PARSE_LIMIT_NS (5 * NSEC_PER_SEC) /* guess: the largest library takes 30 ms */

/* Whether the process has a loader that reports its loads. */
static bool scan_has_loader(const struct target_set *set, const struct scan *scan)
{
	for (size_t i = 0; i < scan->candidates.all.n; i++) {
		const struct target_candidate *c = &scan->candidates.all.items[i];
		const struct target_file *file = c->is_loader ? target_files_find(&set->files, &c->file) : NULL;

		if (file && file->loader)
			return true;
	}
	return false;
}

static bool process_maps_attached(const struct target_process *process)
{
	for (size_t i = 0; process && i < process->mapped.n; i++)
		if (process->mapped.items[i].file && process->mapped.items[i].file->library.probes)
			return true;
	return false;
}

/*
 * Note the Python interpreter of a scan's process. If the process maps a relevant library, its collections are traced,
 * and the code objects that it frees. Where one interpreter is not understood, no Python frame of the process is shown:
 * its stacks would lack frames and not tell so.
 */
static void interpreter_note(struct target_set *set, struct scan *scan, const struct target_candidate *c,
			     struct target_file *file)
{
	struct target_process *process = target_processes_find(&set->processes, scan->tgid);
	struct interpreter interpreter = { .start = c->start + (uint64_t)file->interpreter_delta,
					   .n_bytes = file->interpreter_bytes,
					   .layout = target_python_layout(file, c->start) };
	CLEANUP(closep) int path_fd = -1;
	struct file_identity id = file->id;
	uint64_t bytes;

	scan->has_unread |= !interpreter.layout.minor;
	if (scan->has_unread)
		interpreter.layout.minor = 0;
	if (process_maps_attached(process)) {
		if (!file->collector.probes || !file->python.watch)
			path_fd = target_candidate_open(set->proc_fd, scan->process_fd, set->memory_device, c, &id,
							&bytes);
		interpreter.is_collected = (file->collector.probes || path_fd >= 0) &&
					   target_collector_attach(&set->files, file, path_fd, &id);
		interpreter.code_watch = target_python_watch(&set->files, file, path_fd, &id);
		if (interpreter.is_collected || interpreter.code_watch)
			process->interpreter = file->id;
	}
	(void)probe_set_interpreter_note(set->files.probes, scan->tgid, &interpreter);
}

/* Note an interpreter of which nothing is known. What is known of another one stays, but for the frames. */
static void interpreter_note_unread(struct target_set *set, struct scan *scan)
{
	struct interpreter interpreter = { .start = 0 };

	scan->has_unread = true;
	(void)probe_set_interpreter(set->files.probes, scan->tgid, &interpreter);
	interpreter.layout.minor = 0;
	(void)probe_set_interpreter_note(set->files.probes, scan->tgid, &interpreter);
}

/*
 * Note that the process of a scan maps a relevant file. Without memory, or if it is gone, the file is not listed for
 * it.
 */
static void file_note(struct target_set *set, struct scan *scan, const struct target_candidate *c,
		      struct target_file *file)
{
	struct target_sighting sighting = {
		.path = c->path, .device = c->device, .inode = c->inode, .is_deleted = c->is_deleted
	};
	struct target_load load = scan->load;

	/* One beside that of the program itself, such as a library of the same Python, may never run. */
	scan->has_own |= file->interpreter_bytes && c->is_program;
	if (file->interpreter_bytes && (c->is_program || !scan->has_own || !file->python.layout.minor))
		interpreter_note(set, scan, c, file);
	else if (file->is_interpreter && !file->interpreter_bytes)
		interpreter_note_unread(set, scan);
	while (file->same)
		file = file->same;
	scan->is_judged |= c->is_base;
	if (file->is_turned_away)
		target_lates_turned_away(&set->lates, scan->tgid, file);
	if (!file->is_listed)
		return;
	sighting.file = file;
	/* An interpreter found before the first library is relevant now. */
	if (target_processes_note(&set->processes, scan->tgid, scan->process_fd, &sighting) > 0 && file->library.probes)
		(void)ARRAY_PUSH(&set->soon, scan->tgid); /* without memory its collections are not measured */
	if (!c->is_base)
		load.base = 0;
	if (load.time_ns && (c->is_base || c->is_program || (scan->is_told && scan->done)))
		target_lates_judge(&set->lates, &load, file, scan_has_loader(set, scan));
	else if (c->is_base) /* the process was stopped: no call is missed */
		target_lates_found(&set->lates, &load, file);
}

/* No scan waits for this file any longer. */
static void file_unawait(struct target_set *set, struct target_file *file)
{
	for (struct scan *scan = set->scans; scan; scan = scan->next) {
		for (size_t i = scan->awaited.n; i-- > 0;) {
			if (scan->awaited.items[i].file != file)
				continue;
			file_note(set, scan, &scan->candidates.all.items[scan->awaited.items[i].i_candidate], file);
			ARRAY_REMOVE_SWAP(&scan->awaited, i);
		}
	}
}

/* The file is examined: list it if it is relevant. */
static void file_settle(struct target_set *set, struct target_file *file)
{
	bool is_new = false;

	closep(&file->path_fd);
	file->path_fd = -1;
	file->is_settled = true;

	if (!file->same && (file->is_named || file->library.n_symbols || *file->library.reason)) {
		is_new = target_files_list(&set->files, file) == 0;
		if (!is_new && !file->is_turned_away)
			target_lates_count(&set->lates, /* tgid= */ 0, NULL);
		if (file->is_turned_away && !set->is_full_told)
			log_warning(0, "'%s' %s", file->library.path, file->library.reason);
		set->is_full_told |= file->is_turned_away;
	}
	if (is_new && file->library.probes && !file->is_remembered)
		file->is_remembered = target_memory_note(&set->memory, set->proc_fd, file->library.path, &file->id,
							 clock_to_unix_ns(clock_now_ns()) / NSEC_PER_SEC);
	file_unawait(set, file);
	if (is_new)
		set->found(&file->library, set->data);
}

static void on_answer(int r, const void *answer, size_t n, void *data)
{
	CLEANUP(freep) struct ask *ask = data;
	struct target_set *set = ask->set;

	if (!set)
		return;
	for (struct ask **a = &set->asks; *a; a = &(*a)->next) {
		if (*a == ask) {
			*a = ask->next;
			break;
		}
	}
	set->n_asking--;
	target_library_take(&set->files, ask->file, r, answer, n);
	file_settle(set, ask->file);
	target_scan_pump(set);
}

static int scan_await(struct scan *scan, struct target_file *file, const struct target_candidate *c)
{
	struct awaited a = { file, (size_t)(c - scan->candidates.all.items), c->is_wanted };

	return ARRAY_PUSH(&scan->awaited, a);
}

static int file_ask(struct target_set *set, struct target_file *file, uint32_t uid)
{
	struct parser_question question = { .kind = PARSER_ASK_LIBRARY, .file_bytes = file->bytes };
	CLEANUP(freep) struct ask *ask = calloc(1, sizeof(*ask));
	CLEANUP(closep) int fd = -1;
	struct stat st;
	char name[32];
	int r;

	if (!ask)
		return -ENOMEM;
	if (fstat(file->path_fd, &st) < 0)
		return -errno;
	file->written = st.st_mtim;
	/* With an access control list the group bits hold its mask. */
	file->is_of_root = st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
	/* O_NONBLOCK: a lease (fcntl) on the file must not block the daemon. */
	(void)snprintf(name, sizeof(name), "self/fd/%d", file->path_fd);
	fd = openat(set->proc_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	*ask = (struct ask){ .next = set->asks, .set = set, .file = file };
	r = child_ask(set->parser, &question, sizeof(question), fd, uid, PARSE_LIMIT_NS, on_answer, ask);
	if (r < 0)
		return r;
	set->asks = TAKE_PTR(ask);
	set->n_asking++;
	return 0;
}

static struct target_file *candidate_add(struct target_set *set, const struct file_identity *id,
					 const struct target_candidate *c, const struct owner *owner)
{
	struct target_file *file = target_files_add(&set->files, id, c->path, owner);

	if (!file)
		return NULL;
	file->is_named = c->is_named;
	file->is_loader = c->is_loader;
	file->is_deleted = c->is_deleted;
	return file;
}

/* List a file with the name of a CUDA library that cannot be opened, once, under its identity in maps. */
static void candidate_refuse(struct target_set *set, struct scan *scan, const struct target_candidate *c, int r)
{
	struct file_identity id =
		c->file.inode ? c->file : (struct file_identity){ .device = c->device, .inode = c->inode };
	struct procfs_stat stat;
	struct target_file *file;

	/* The process is gone or exiting, or has unmapped the file: nothing is left to trace. */
	if (!c->is_named || r == -ESRCH || r == -ENOENT || procfs_stat_read(scan->process_fd, &stat) < 0 ||
	    stat.state == 'Z')
		return;
	file = target_files_find(&set->files, &id);
	if (file) {
		file_note(set, scan, c, file);
		return;
	}
	file = candidate_add(set, &id, c, &scan->owner);
	if (!file)
		return;
	(void)scan_await(scan, file, c);
	if (r == -EREMOTEIO)
		target_file_refuse(
			file, "is on a file system served by a user, and is not read; copy it to another file system");
	else if (r == -EINVAL)
		target_file_refuse(file, "is no regular file");
	else if (r == -ESTALE)
		target_file_refuse(file, "was changed in its container since it was loaded, and cannot be opened; "
					 "start the program again");
	else
		target_file_refuse(file, "cannot be opened: %s", strerror(-r));
	file_settle(set, file);
}

static void candidate_look_at(struct target_set *set, struct scan *scan, const struct target_candidate *c)
{
	CLEANUP(closep) int path_fd = -1;
	struct target_file *file = c->file.inode ? target_files_find(&set->files, &c->file) : NULL;
	struct file_identity id;
	uint64_t bytes = 0;
	int r;

	if (!file) {
		path_fd = target_candidate_open(set->proc_fd, scan->process_fd, set->memory_device, c, &id, &bytes);
		if (path_fd < 0) {
			candidate_refuse(set, scan, c, path_fd);
			return;
		}
		file = target_files_find(&set->files, &id);
	}
	if (!file) {
		file = candidate_add(set, &id, c, &scan->owner);
		if (!file)
			return;
		file->bytes = bytes;
		file->path_fd = TAKE_FD(path_fd);
		r = file_ask(set, file, scan->owner.uid);
		if (r < 0) {
			if (c->is_wanted)
				target_file_refuse(file, "cannot be given to the parser: %s", strerror(-r));
			file_settle(set, file);
		}
	}
	file->last_scan = set->n_scans;
	if (file->is_settled)
		file_note(set, scan, c, file);
	else
		(void)scan_await(scan, file, c); /* without memory the scan only ends too early */
}

static void file_recall(struct target_set *set, const struct target_memory_file *known)
{
	static const struct owner root = { .uid = 0 };
	const char *slash = strrchr(known->path, '/');
	struct target_candidate c = { .path = known->path, .is_named = layer_names_library(slash + 1) };
	CLEANUP(closep) int path_fd = target_memory_open_file(set->proc_fd, known->path, &known->id);
	struct target_file *file;
	int r;

	if (path_fd < 0 || target_files_find(&set->files, &known->id))
		return;
	file = candidate_add(set, &known->id, &c, &root);
	if (!file)
		return;
	file->is_remembered = true;
	file->bytes = known->id.bytes;
	file->path_fd = TAKE_FD(path_fd);
	r = file_ask(set, file, root.uid);
	if (r < 0) {
		target_file_refuse(file, "cannot be given to the parser: %s", strerror(-r));
		file_settle(set, file);
	}
}

void target_scan_recall(struct target_set *set)
{
	while (set->keeps && set->i_recall < set->memory.files.n && set->n_asking < ASKING_MAX)
		file_recall(set, &set->memory.files.items[set->i_recall++]);
}

/* --- scans --- */

static void scan_free(struct scan *scan)
{
	if (!scan)
		return;
	target_candidates_done(&scan->candidates);
	ARRAY_DONE(&scan->awaited);
	closep(&scan->process_fd);
	free(scan);
}

static void scan_freep(struct scan **scan)
{
	scan_free(*scan);
}

/* A scan also waits for files without a known name, for a limited time: a program such as PyTorch maps 500 of them. */
#define UNNAMED_LIMIT_NS                                                                                               \
	(2 * NSEC_PER_SEC) /* guess: a user waits for the start; files with known names are attached by then */

static bool scan_is_settled(const struct scan *scan)
{
	if (clock_now_ns() - scan->started_ns < UNNAMED_LIMIT_NS)
		return scan->i_next == scan->candidates.all.n && scan->awaited.n == 0;
	if (scan->i_next < scan->candidates.n_wanted)
		return false;
	for (size_t i = 0; i < scan->awaited.n; i++)
		if (scan->awaited.items[i].is_wanted)
			return false;
	return true;
}

/* Whether a loader reported a library that no scan has found, and whose process is not held. */
static bool scan_is_missed(const struct scan *scan)
{
	return scan->load.is_told && scan->load.base && scan->load.time_ns && !scan->is_judged;
}

/* Call `done` of settled scans and free finished ones. `done` may start another scan. */
static void scans_finish(struct target_set *set)
{
	struct scan **at = &set->scans;

	while (*at) {
		struct scan *scan = *at;

		if (!scan->is_told && scan_is_settled(scan)) {
			scan->is_told = true;
			if (scan->done) {
				/* Files found after `done` was called are late. */
				if (!scan->load.time_ns)
					scan->load = (struct target_load){ .tgid = scan->tgid,
									   .time_ns = clock_now_ns(),
									   .is_told = true,
									   .owner = scan->load.owner };
				scan->done(scan->tgid, scan->data);
				at = &set->scans; /* the list may have changed */
				continue;
			}
		}
		if (scan->is_told && scan->i_next == scan->candidates.all.n && scan->awaited.n == 0) {
			*at = scan->next;
			if (scan_is_missed(scan)) /* the library, or its process, was gone before it was examined */
				target_lates_missed(&set->lates, &scan->load);
			scan_free(scan);
			continue;
		}
		at = &scan->next;
	}
}

/* Order of candidates: files with a known name, then others of processes that have such a file, then all others. */
enum advance { ADVANCE_WANTED, ADVANCE_CUDA, ADVANCE_ALL };

static void scans_advance(struct target_set *set, enum advance advance)
{
	for (struct scan *scan = set->scans; scan; scan = scan->next) {
		bool is_all = advance == ADVANCE_ALL || (advance == ADVANCE_CUDA && scan->candidates.is_cuda);
		size_t n = is_all ? scan->candidates.all.n : scan->candidates.n_wanted;

		while (scan->i_next < n &&
		       set->n_asking < (scan->i_next < scan->candidates.n_wanted ? ASKING_MAX : ASKING_UNNAMED_MAX))
			candidate_look_at(set, scan, &scan->candidates.all.items[scan->i_next++]);
	}
}

/* Scans started by callbacks wait for the next round. */
void target_scan_pump(struct target_set *set)
{
	if (set->is_pumping) {
		set->is_pumped_again = true;
		return;
	}
	set->is_pumping = true;
	do {
		set->is_pumped_again = false;
		scans_advance(set, ADVANCE_WANTED);
		scans_advance(set, ADVANCE_CUDA);
		scans_advance(set, ADVANCE_ALL);
		scans_finish(set);
	} while (set->is_pumped_again);
	set->is_pumping = false;
	while (set->soon.n)
		(void)target_set_scan(set, set->soon.items[--set->soon.n], 0, NULL, NULL);
}

/* Read the mappings of a process. Return: 0 with a scan; -errno, with -ESRCH or -ENOENT if it is gone */
static int scan_new(struct target_set *set, uint32_t tgid, uint64_t library_base, struct scan **ret_scan,
		    struct target_owner *ret_owner)
{
	CLEANUP(scan_freep) struct scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return -ENOMEM;
	scan->tgid = tgid;
	scan->process_fd = procfs_open_process(set->proc_fd, tgid);
	if (scan->process_fd < 0)
		return scan->process_fd;
	r = owner_read(scan->process_fd, &scan->owner);
	if (r < 0)
		return r;
	*ret_owner = (struct target_owner){ .of = scan->owner, .is_known = true };
	r = target_candidates_read(scan->process_fd, library_base, &scan->candidates);
	if (r < 0)
		return r;
	target_candidates_identify(&scan->candidates, set->files.probes, tgid);
	*ret_scan = TAKE_PTR(scan);
	return 0;
}

static void scan_start(struct target_set *set, struct scan *scan, target_done_func done, void *data)
{
	scan->started_ns = clock_now_ns();
	scan->done = done;
	scan->data = data;
	scan->next = set->scans;
	set->scans = scan;
	target_scan_pump(set);
}

int target_scan_start(struct target_set *set, uint32_t tgid, const struct target_load *load, target_done_func done,
		      void *data)
{
	struct target_owner owner;
	struct scan *scan = NULL;
	int r;

	set->n_scans++;
	r = scan_new(set, tgid, load ? load->base : 0, &scan, &owner);
	if (r < 0) {
		if (done)
			done(tgid, data);
		return r == -ENOENT ? -ESRCH : r;
	}

	if (load)
		scan->load = *load;
	scan->load.owner = owner;
	if (load && load->is_held)
		scan->load.time_ns = 0;
	scan_start(set, scan, done, data);
	return 0;
}

int target_set_scan_loader(struct target_set *set, target_done_func done, void *data)
{
	uint32_t tgid = (uint32_t)getpid();
	struct target_owner owner;
	struct scan *scan = NULL;
	size_t n = 0;
	int r;

	set->n_scans++;
	r = scan_new(set, tgid, 0, &scan, &owner);
	if (r < 0) {
		if (done)
			done(tgid, data);
		return r;
	}

	target_candidates_keep_loaders(&scan->candidates); /* in the daemon's own process only the loader is relevant */
	n = scan->candidates.n_wanted;
	scan_start(set, scan, done, data);
	return n ? 0 : -ENOENT;
}

/* The result of a load that is still examined is unknown, but calls have been missed already: count it. */
void target_set_settle(struct target_set *set)
{
	for (struct scan *scan = set->scans; scan; scan = scan->next) {
		if (!scan_is_missed(scan))
			continue;
		target_lates_missed(&set->lates, &scan->load);
		scan->is_judged = !scan->load.file.inode; /* an identified file is not counted twice */
	}
	target_lates_settle(&set->lates);
}

void target_scan_close(struct target_set *set)
{
	for (struct ask *ask = set->asks; ask; ask = ask->next)
		ask->set = NULL;
	while (set->scans) {
		struct scan *scan = set->scans;

		set->scans = scan->next;
		if (!scan->is_told && scan->done)
			scan->done(scan->tgid, scan->data);
		scan_free(scan);
	}
}
