// SPDX-License-Identifier: Apache-2.0
/*
 * A scan reads the mappings of a process once, into candidates, and then works through
 * them a few at a time: open without reading, ask the kernel what file it is, and if
 * that one is new hand it to the parser. What is known already costs an open and a stat.
 * Candidates by name come first; a scan is done when those are settled, and goes on in
 * the background with files whose name says nothing, since a copy may be called anything.
 */
#include "probes/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "children/child.h"
#include "children/parser.h"
#include "probes/target_candidate.h"
#include "probes/target_file.h"
#include "probes/target_library.h"
#include "procs/procfs.h"

#define LOG_TOPIC "targets"
#include "base/log.h"

#define ASKING_MAX 16			  /* files open and with the parser at once */
#define PARSE_LIMIT_NS (5 * NSEC_PER_SEC) /* guess: the largest library takes 30 ms */

struct awaited {
	struct target_file *file; /* borrowed from the set, which keeps it while it is not settled */
	bool is_wanted;
};

struct scan {
	struct scan *next;
	uint32_t tgid;
	uint32_t uid;
	int process_fd;
	target_done_func done;
	void *data;
	bool is_told;  /* done was called */
	size_t i_next; /* candidate to look at next */
	struct target_candidates candidates;
	ARRAY(struct awaited) awaited;
};

/* A question on its way; outlives the set if that closes first. */
struct ask {
	struct ask *next;
	struct target_set *set; /* NULL once that is closed */
	struct target_file *file;
};

struct target_set {
	struct child *parser; /* borrowed */
	target_found_func found;
	void *data;
	int proc_fd;
	uint64_t memory_device; /* as target_memory_device() says */
	uint64_t n_scans;
	struct scan *scans;
	struct ask *asks;
	size_t n_asking;
	struct target_files files;
	bool is_full_told;
	bool is_pumping;
	bool is_pumped_again; /* a callback started another scan meanwhile */
};

static void set_pump(struct target_set *set);

/* Nothing more will be found out about this file: list it if it matters. */
static void file_settle(struct target_set *set, struct target_file *file)
{
	closep(&file->path_fd);
	file->path_fd = -1;
	file->is_settled = true;
	for (struct scan *scan = set->scans; scan; scan = scan->next)
		for (size_t i = scan->awaited.n; i-- > 0;)
			if (scan->awaited.items[i].file == file)
				ARRAY_REMOVE_SWAP(&scan->awaited, i);

	if (file->is_same || (!file->is_named && !file->library.n_symbols && !*file->library.reason))
		return;
	if (target_files_list(&set->files, file) < 0) {
		if (!set->is_full_told)
			log_warning(0, "too many library files of user %" PRIu32 ", '%s' and later ones are not traced",
				    file->library.owner_uid, file->library.path);
		set->is_full_told = true;
		return;
	}
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
	set_pump(set);
}

static int scan_await(struct scan *scan, struct target_file *file, bool is_wanted)
{
	struct awaited a = { file, is_wanted };

	return ARRAY_PUSH(&scan->awaited, a);
}

static int file_ask(struct target_set *set, struct target_file *file, uint32_t uid)
{
	struct parser_question question = { .kind = PARSER_ASK_LIBRARY, .file_bytes = file->id.bytes };
	CLEANUP(freep) struct ask *ask = calloc(1, sizeof(*ask));
	CLEANUP(closep) int fd = -1;
	char name[32];
	int r;

	if (!ask)
		return -ENOMEM;
	/* O_NONBLOCK: a lease on the file must not hold us up. */
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

static struct target_file *candidate_add(struct target_set *set, const struct file_id *id,
					 const struct target_candidate *c, uint32_t uid)
{
	struct target_file *file = target_files_add(&set->files, id, c->path, uid);

	if (!file)
		return NULL;
	file->is_named = c->is_named;
	file->is_loader = c->is_loader;
	file->is_deleted = c->is_deleted;
	return file;
}

/* A file by the name of a CUDA library that cannot even be opened is told of once, by what maps says it is. */
static void candidate_refuse(struct target_set *set, struct scan *scan, const struct target_candidate *c, int r)
{
	struct file_id id = { .device = c->device, .inode = c->inode };
	struct procfs_stat stat;
	struct target_file *file;

	/* Gone, or as good as: nothing is left to trace. */
	if (!c->is_named || r == -ESRCH || procfs_stat_read(scan->process_fd, &stat) < 0 || stat.state == 'Z')
		return;
	if (target_files_find(&set->files, &id))
		return;
	file = candidate_add(set, &id, c, scan->uid);
	if (!file)
		return;
	if (r == -EREMOTEIO)
		target_file_refuse(file,
				   "lies on a file system that its user serves, and is left alone; copy it elsewhere");
	else if (r == -EINVAL)
		target_file_refuse(file, "is no regular file");
	else
		target_file_refuse(file, "cannot be opened: %s", strerror(-r));
	file_settle(set, file);
}

static void candidate_look_at(struct target_set *set, struct scan *scan, const struct target_candidate *c)
{
	CLEANUP(closep) int path_fd = -1;
	struct target_file *file;
	struct file_id id;
	int r;

	path_fd = target_candidate_open(set->proc_fd, scan->process_fd, set->memory_device, c, &id);
	if (path_fd < 0) {
		candidate_refuse(set, scan, c, path_fd);
		return;
	}
	file = target_files_find(&set->files, &id);
	if (!file) {
		file = candidate_add(set, &id, c, scan->uid);
		if (!file)
			return;
		file->path_fd = TAKE_FD(path_fd);
		r = file_ask(set, file, scan->uid);
		if (r < 0) {
			if (c->is_wanted)
				target_file_refuse(file, "cannot be given to the parser: %s", strerror(-r));
			file_settle(set, file);
		}
	}
	file->last_scan = set->n_scans;
	if (!file->is_settled)
		(void)scan_await(scan, file, c->is_wanted); /* without memory the scan is merely done too early */
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

static bool scan_is_settled(const struct scan *scan)
{
	if (scan->i_next < scan->candidates.n_wanted)
		return false;
	for (size_t i = 0; i < scan->awaited.n; i++)
		if (scan->awaited.items[i].is_wanted)
			return false;
	return true;
}

/* Tells of scans that are settled and drops those that are over. `done` may start another scan. */
static void scans_finish(struct target_set *set)
{
	struct scan **at = &set->scans;

	while (*at) {
		struct scan *scan = *at;

		if (!scan->is_told && scan_is_settled(scan)) {
			scan->is_told = true;
			if (scan->done) {
				scan->done(scan->tgid, scan->data);
				at = &set->scans; /* the list may have changed */
				continue;
			}
		}
		if (scan->is_told && scan->i_next == scan->candidates.all.n && scan->awaited.n == 0) {
			*at = scan->next;
			scan_free(scan);
			continue;
		}
		at = &scan->next;
	}
}

static void scans_advance(struct target_set *set, bool only_wanted)
{
	for (struct scan *scan = set->scans; scan; scan = scan->next) {
		size_t n = only_wanted ? scan->candidates.n_wanted : scan->candidates.all.n;

		while (scan->i_next < n && set->n_asking < ASKING_MAX)
			candidate_look_at(set, scan, &scan->candidates.all.items[scan->i_next++]);
	}
}

/* Everything that can be done now. Callbacks from in here may start scans, which wait for the next round. */
static void set_pump(struct target_set *set)
{
	if (set->is_pumping) {
		set->is_pumped_again = true;
		return;
	}
	set->is_pumping = true;
	do {
		set->is_pumped_again = false;
		scans_advance(set, /* only_wanted= */ true);
		scans_advance(set, /* only_wanted= */ false);
		scans_finish(set);
	} while (set->is_pumped_again);
	set->is_pumping = false;
}

/* Reads what the process maps now. Return: 0 with a scan; -errno, -ESRCH or -ENOENT when it is gone */
static int scan_new(struct target_set *set, uint32_t tgid, uint64_t library_base, struct scan **ret_scan)
{
	CLEANUP(scan_freep) struct scan *scan = calloc(1, sizeof(*scan));
	struct procfs_status status;
	int r;

	if (!scan)
		return -ENOMEM;
	scan->tgid = tgid;
	scan->process_fd = procfs_open_process(set->proc_fd, tgid);
	if (scan->process_fd < 0)
		return scan->process_fd;
	r = procfs_status_read(scan->process_fd, &status);
	if (r < 0)
		return r;
	scan->uid = status.uids[0];
	r = target_candidates_read(scan->process_fd, library_base, &scan->candidates);
	if (r < 0)
		return r;
	*ret_scan = TAKE_PTR(scan);
	return 0;
}

int target_set_scan(struct target_set *set, uint32_t tgid, uint64_t library_base, target_done_func done, void *data)
{
	struct scan *scan = NULL;
	int r;

	set->n_scans++;
	r = scan_new(set, tgid, library_base, &scan);
	if (r < 0) {
		if (done)
			done(tgid, data);
		return r == -ENOENT || r == -ESRCH ? 0 : r;
	}

	scan->done = done;
	scan->data = data;
	scan->next = set->scans;
	set->scans = scan;
	set_pump(set);
	return 0;
}

int target_set_scan_loader(struct target_set *set)
{
	struct scan *scan = NULL;
	size_t n = 0;
	int r;

	set->n_scans++;
	r = scan_new(set, (uint32_t)getpid(), 0, &scan);
	if (r < 0)
		return r;

	target_candidates_keep_loaders(&scan->candidates); /* of ourselves nothing else is of interest */
	n = scan->candidates.n_wanted;
	scan->next = set->scans;
	set->scans = scan;
	set_pump(set);
	return n ? 0 : -ENOENT;
}

int target_set_open(uv_loop_t *loop, struct child *parser, struct probe_set *probes, target_found_func found,
		    void *data, struct target_set **ret_targets)
{
	CLEANUP(freep) struct target_set *set = calloc(1, sizeof(*set));

	(void)loop; /* all that waits, waits for the parser, which is on it */
	if (!set)
		return -ENOMEM;
	set->proc_fd = open("/proc", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (set->proc_fd < 0)
		return -errno;
	set->memory_device = target_memory_device();
	set->parser = parser;
	set->files.probes = probes;
	set->found = found;
	set->data = data;
	*ret_targets = TAKE_PTR(set);
	return 0;
}

void target_set_close(struct target_set *set)
{
	if (!set)
		return;
	for (struct ask *ask = set->asks; ask; ask = ask->next)
		ask->set = NULL;
	while (set->scans) {
		struct scan *scan = set->scans;

		set->scans = scan->next;
		if (!scan->is_told && scan->done)
			scan->done(scan->tgid, scan->data);
		scan_free(scan);
	}
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
