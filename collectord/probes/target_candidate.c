// SPDX-License-Identifier: Apache-2.0
#include "probes/target_candidate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/layer.h"
#include "procs/procfs.h"

#define CANDIDATES_MAX 4096 /* candidates of one process */
#define MAPPED_MAX 16384    /* executable mappings of one process */

/* An O_PATH descriptor refers to the file without reading it: this sends no request to a user's own file system. */
static int candidate_open_mapped(int process_fd, const struct target_candidate *c)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, c->start, c->end);
	fd = openat(process_fd, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Without permission for map_files: open by name, as the process itself would find it, inside its root. */
static int candidate_open_named(int process_fd, const struct target_candidate *c)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	CLEANUP(closep) int root_fd = -1, fd = -1;
	struct stat st;

	if (c->is_deleted)
		return -ENOENT;
	root_fd = openat(process_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root_fd, c->path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != c->inode) /* replaced since; devices differ between maps and stat on overlays */
		return -ESTALE;
	return TAKE_FD(fd);
}

/*
 * Check who serves the file system. A user's own FUSE server may block every request for ever, ours and even the
 * kernel's when it places a probe. So before any request to a file system, mountinfo tells its type. A file system that
 * is mounted nowhere could be such a server after a lazy unmount; only files in memory are known to be safe.
 * Return: 0, or -EREMOTEIO if it must not be used
 */
static int candidate_check_mount(int proc_fd, int process_fd, uint64_t memory_device, const struct target_candidate *c,
				 int fd, bool *ret_is_overlay)
{
	CLEANUP(closep) int self_fd = -1;
	struct procfs_mount mount;
	uint64_t id;
	int r;

	*ret_is_overlay = false;
	if (c->device >> 32 != 0) /* a disk */
		return 0;
	r = procfs_mount_id(proc_fd, fd, &id);
	if (r < 0)
		return r;
	r = procfs_mount_find(process_fd, id, &mount);
	if (r < 0) { /* perhaps above its root, in our own namespace */
		self_fd = procfs_open_process(proc_fd, (uint32_t)getpid());
		r = procfs_mount_find(self_fd, id, &mount);
	}
	if (r < 0)
		return c->device == memory_device ? 0 : -EREMOTEIO;
	if (strncmp(mount.type, "fuse", 4) == 0 && mount.owner_uid != 0)
		return -EREMOTEIO;
	*ret_is_overlay = strcmp(mount.type, "overlay") == 0;
	return 0;
}

static uint64_t device_number(dev_t device)
{
	return (uint64_t)major(device) << 32 | minor(device);
}

int target_candidate_open(int proc_fd, int process_fd, uint64_t memory_device, const struct target_candidate *c,
			  struct file_identity *ret_id, uint64_t *ret_bytes)
{
	CLEANUP(closep) int fd = candidate_open_mapped(process_fd, c);
	bool is_overlay = false;
	struct stat st;
	int r;

	if (fd == -EPERM || fd == -EACCES) {
		r = candidate_open_named(process_fd, c);
		if (r < 0)
			return fd;
		fd = r;
	}
	if (fd < 0)
		return fd;
	r = candidate_check_mount(proc_fd, process_fd, memory_device, c, fd, &is_overlay);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;

	*ret_bytes = (uint64_t)st.st_size;
	*ret_id = (struct file_identity){
		.device = device_number(st.st_dev),
		.inode = st.st_ino,
		.change_s = st.st_ctim.tv_sec,
		.change_ns = (uint32_t)st.st_ctim.tv_nsec,
		.bytes = (uint64_t)st.st_size,
	};
	if (c->file.inode) {
		/*
		 * Changed through the overlay: processes that mapped the lower file keep it, and it has no name there
		 * any more.
		 */
		if (is_overlay && (c->file.change_s != ret_id->change_s || c->file.change_ns != ret_id->change_ns ||
				   c->file.bytes != ret_id->bytes))
			return -ESTALE;
		*ret_id = c->file;
	} else if (is_overlay) {
		/*
		 * Each overlay has a device of its own, but probes on a file below several overlays are shared. So it
		 * is identified by inode and times, which an overlay passes through.
		 */
		ret_id->device = TARGET_DEVICE_OVERLAY;
	} else if (major(st.st_dev) == 0 && c->device >> 32 != 0) {
		ret_id->device = c->device; /* a file system with several devices reports them only in stat(2) */
	}
	return TAKE_FD(fd);
}

struct collect {
	struct target_candidates *candidates;
	uint64_t library_base;
	uint64_t base_device;
	uint64_t base_inode; /* 0: not found yet */
	char program[4096];  /* path of the executable by the kernel */
};

static bool name_is_loader(const char *name)
{
	static const char *const prefixes[] = { "ld-linux", "ld-musl-", "ld64.so", "ld.so", "ld-2." };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int on_candidate_mapping(const struct procfs_mapping *m, void *data)
{
	struct collect *collect = data;
	struct target_candidates *candidates = collect->candidates;
	uint64_t device = (uint64_t)m->dev_major << 32 | m->dev_minor;
	const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;
	struct target_candidate c;

	if (m->inode == 0)
		return 0;
	if (collect->library_base && m->start == collect->library_base) { /* perhaps not executable */
		collect->base_device = device;
		collect->base_inode = m->inode;
	}
	if (!m->is_executable || candidates->all.n >= CANDIDATES_MAX)
		return 0;
	for (size_t i = candidates->all.n; i-- > 0;)
		if (candidates->all.items[i].inode == m->inode && candidates->all.items[i].device == device)
			return 0;

	c = (struct target_candidate){
		.start = m->start,
		.end = m->end,
		.inode = m->inode,
		.device = device,
		.is_deleted = m->is_deleted,
		.is_program = strcmp(m->path, collect->program) == 0,
		.is_named = layer_names_library(name),
		.is_loader = name_is_loader(name),
		.path = strdup(m->path),
	};
	if (!c.path || ARRAY_PUSH(&candidates->all, c) < 0) {
		free(c.path);
		return -ENOMEM;
	}
	return 0;
}

/* Put the wanted candidates first. A scan for one new library drops the others if the library was found. */
static void candidates_order(struct target_candidates *candidates, const struct collect *collect)
{
	bool is_base_met = false;
	size_t n = 0;

	for (size_t i = 0; i < candidates->all.n; i++) {
		struct target_candidate *c = &candidates->all.items[i];

		c->is_base =
			collect->base_inode && c->inode == collect->base_inode && c->device == collect->base_device;
		c->is_wanted = c->is_base || c->is_named || c->is_loader;
		is_base_met |= c->is_base;
		candidates->is_cuda |= c->is_named;
	}

	for (size_t i = 0; i < candidates->all.n; i++) {
		struct target_candidate c = candidates->all.items[i];

		if (!c.is_wanted)
			continue;
		candidates->all.items[i] = candidates->all.items[n];
		candidates->all.items[n++] = c;
	}
	candidates->n_wanted = n;
	if (is_base_met) {
		for (size_t i = n; i < candidates->all.n; i++)
			free(candidates->all.items[i].path);
		candidates->all.n = n;
	}
}

static int record_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct mapped_record *)a)->start, y = ((const struct mapped_record *)b)->start;

	return x < y ? -1 : x > y;
}

int target_candidates_read(int process_fd, uint64_t library_base, struct target_candidates *ret_candidates)
{
	struct collect collect = { .candidates = ret_candidates, .library_base = library_base };
	ssize_t n = readlinkat(process_fd, "exe", collect.program, sizeof(collect.program) - 1);
	int r;

	collect.program[MAX(n, (ssize_t)0)] = '\0'; /* on failure no candidate is the program */

	*ret_candidates = (struct target_candidates){ .n_wanted = 0 };
	r = procfs_maps_read(process_fd, on_candidate_mapping, &collect);
	if (r == 0)
		candidates_order(ret_candidates, &collect);
	return r;
}

/* The records are in order of address; wanted candidates were moved to the front. */
void target_candidates_identify(struct target_candidates *candidates, struct probe_set *probes, uint32_t tgid)
{
	CLEANUP(freep) struct mapped_record *records = calloc(MAPPED_MAX, sizeof(*records));
	int n = records ? probe_set_mapped(probes, tgid, records, MAPPED_MAX) : 0;

	n = MIN(n, MAPPED_MAX);
	for (size_t i = 0; n > 0 && i < candidates->all.n; i++) {
		const struct mapped_record key = { .start = candidates->all.items[i].start }, *found;

		found = bsearch(&key, records, (size_t)n, sizeof(*records), record_compare);
		if (found)
			candidates->all.items[i].file = found->file;
	}
}

void target_candidates_keep_loaders(struct target_candidates *candidates)
{
	size_t n = 0;

	for (size_t i = 0; i < candidates->all.n; i++) {
		if (candidates->all.items[i].is_loader)
			candidates->all.items[n++] = candidates->all.items[i];
		else
			free(candidates->all.items[i].path);
	}
	candidates->all.n = candidates->n_wanted = n;
}

void target_candidates_done(struct target_candidates *candidates)
{
	for (size_t i = 0; i < candidates->all.n; i++)
		free(candidates->all.items[i].path);
	ARRAY_DONE(&candidates->all);
}

uint64_t target_memory_device(void)
{
	CLEANUP(closep) int fd = memfd_create("device", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? device_number(st.st_dev) : 0;
}
