// SPDX-License-Identifier: Apache-2.0
#include "stacks/process_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "bpf/unwind_find.h"
#include "probes/probe_set.h"
#include "probes/probe_stacks.h"
#include "procs/procfs.h"
#include "stacks/rules.h"
#include "stacks/stack_file.h"

/* Executable mappings of one process; the kernel half has room for STACK_MAPPINGS_MAX of them. */
#define PROCESS_MAPS_MAX 4096
#define PATH_BYTES_MAX (256u << 10) /* of one list, where they differ from those that are known */
/*
 * Pages whose rules are read before they are needed, if all files of a process have no more. An interpreter has 600,
 * all files of a small program together 1 500; those of PyTorch have 400 000: there only what is needed is read, since
 * reading more delays that.
 */
#define WANT_PAGES 2048

struct map_sight {
	struct stack_sight sight; /* its path is owned here */
	uint64_t offset;
	uint64_t identity; /* unwind_mapping_file(); 0: not known */
};

struct maps_reading {
	ARRAY(struct map_sight) sights;
	uint64_t exec_vm; /* pages */
	uint64_t all;	  /* unwind_mapping_add() of all; 0: not known */
};

static void reading_done(struct maps_reading *reading)
{
	for (size_t i = 0; i < reading->sights.n; i++)
		free((char *)(uintptr_t)reading->sights.items[i].sight.path);
	ARRAY_DONE(&reading->sights);
}

/* The page of old system calls is no mapping of the process, and the kernel does not count it. */
static int on_stack_mapping(const struct procfs_mapping *m, void *data)
{
	struct maps_reading *reading = data;
	struct map_sight s = { .offset = m->offset_bytes };

	if (!m->is_executable || strcmp(m->path, "[vsyscall]") == 0)
		return 0;
	if (reading->sights.n >= PROCESS_MAPS_MAX)
		return -E2BIG;
	if (!m->is_writable)
		reading->exec_vm += (m->end - m->start) >> UNWIND_PAGE_SHIFT;
	s.sight = (struct stack_sight){ .start = m->start,
					.end = m->end,
					.inode = m->inode,
					.device = (uint64_t)m->dev_major << 32 | m->dev_minor,
					.path = strdup(m->path),
					.is_deleted = m->is_deleted,
					.is_vdso = m->inode == 0 && strcmp(m->path, "[vdso]") == 0 };
	if (!s.sight.path || ARRAY_PUSH(&reading->sights, s) < 0) {
		free((char *)(uintptr_t)s.sight.path);
		return -ENOMEM;
	}
	return 0;
}

static int mapped_order(const void *a, const void *b)
{
	uint64_t x = ((const struct mapped_record *)a)->start, y = ((const struct mapped_record *)b)->start;

	return x < y ? -1 : x > y;
}

static uint64_t mapped_identity(const struct mapped_record *m)
{
	return unwind_mapping_file(m->offset, &m->file);
}

/* As the kernel half adds them, which lists no more of them than that. */
static uint64_t mapped_add_all(const struct mapped_record *records, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n && i < STACK_MAPPINGS_MAX - 1; i++)
		all = unwind_mapping_add(all, records[i].start, records[i].end, mapped_identity(&records[i]));
	return all;
}

/*
 * /proc has the overlay's identity of a file, the kernel half that of the file itself.
 * Return: 0, or -EAGAIN: the mappings changed between both readings
 */
static int sights_identify(struct maps_reading *reading, struct probe_set *probes, uint32_t tgid)
{
	CLEANUP(freep) struct mapped_record *records = calloc(PROCESS_MAPS_MAX, sizeof(*records));
	int n = records ? probe_set_mapped(probes, tgid, records, PROCESS_MAPS_MAX) : 0;

	n = MIN(n, PROCESS_MAPS_MAX);
	if (n <= 0)
		return 0;
	if ((size_t)n != reading->sights.n)
		return -EAGAIN;
	for (size_t i = 0; i < reading->sights.n; i++) {
		struct map_sight *s = &reading->sights.items[i];
		const struct mapped_record key = { .start = s->sight.start }, *found;

		found = bsearch(&key, records, (size_t)n, sizeof(*records), mapped_order);
		if (!found || found->end != s->sight.end)
			return -EAGAIN;
		s->sight.file = found->file;
		s->identity = mapped_identity(found);
	}
	reading->exec_vm = records[0].exec_vm; /* as the kernel counts them; before Linux 6.1 they are added up */
	reading->all = mapped_add_all(records, (size_t)n);
	return 0;
}

/*
 * A file of root is one for all users, and each may see it in another place: nobody is told of a path in somebody
 * else's mounts. Return: bytes that the path takes
 */
static size_t map_name(struct process_map *map, const struct stack_sight *sight, size_t room)
{
	bool is_own = map->file->uid == 0 || map->file->uid == sight->uid;

	if (strcmp(sight->path, map->file->path) == 0 || (!*sight->path && is_own))
		return 0;
	map->path = strdup(strlen(sight->path) < room ? sight->path : "");
	if (!map->path) {
		stack_file_unref(map->file);
		map->file = NULL;
		return 0;
	}
	utf8_scrub(map->path);
	return strlen(map->path);
}

static void map_place(struct stack_files *files, struct process_map *map, const struct map_sight *s)
{
	if ((!s->sight.inode && !s->sight.is_vdso) || s->offset % UNWIND_PAGE || map->start % UNWIND_PAGE)
		return;
	if (stack_file_get(files, &s->sight, &map->file) < 0)
		return;
	map->first_page = stack_file_place(map->file, s->sight.uid, (uint32_t)(s->offset >> UNWIND_PAGE_SHIFT),
					   (uint32_t)((map->end - map->start) >> UNWIND_PAGE_SHIFT));
}

static struct process_maps *maps_new(struct stack_files *files, const struct maps_reading *reading, int process_fd,
				     uint32_t uid)
{
	static uint32_t last_tag; /* the loop alone makes them */
	size_t n = reading->sights.n;
	struct process_maps *maps = calloc(1, sizeof(*maps) + n * sizeof(maps->items[0]));

	if (!maps)
		return NULL;
	maps->n_references = 1;
	maps->probes = stack_files_probes(files);
	maps->tag = ++last_tag ? last_tag : ++last_tag;
	maps->n = n;
	maps->is_cut = n > STACK_MAPPINGS_MAX;
	maps->exec_vm = reading->exec_vm;
	maps->all = reading->all;
	for (size_t i = 0, n_path_bytes = 0; i < n; i++) {
		struct map_sight s = reading->sights.items[i];

		s.sight.process_fd = process_fd;
		s.sight.uid = uid;
		maps->items[i] = (struct process_map){
			.start = s.sight.start, .end = s.sight.end, .offset = s.offset, .identity = s.identity
		};
		map_place(files, &maps->items[i], &s);
		if (maps->items[i].file)
			n_path_bytes += map_name(&maps->items[i], &s.sight, PATH_BYTES_MAX - n_path_bytes);
	}
	return maps;
}

int process_maps_read(struct stack_files *files, int proc_fd, uint32_t tgid, uint32_t uid,
		      struct process_maps **ret_maps)
{
	struct probe_set *probes = stack_files_probes(files);
	CLEANUP(reading_done) struct maps_reading reading = { .exec_vm = 0 };
	CLEANUP(closep) int process_fd = procfs_open_process(proc_fd, tgid);
	struct probe_stacks_process before, after;
	struct process_maps *maps;
	int r = process_fd < 0 ? process_fd : probe_stacks_process(probes, tgid, &before);

	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = procfs_maps_read(process_fd, on_stack_mapping, &reading);
	if (r < 0)
		return r;
	r = sights_identify(&reading, probes, tgid);
	if (r < 0)
		return r;
	r = probe_stacks_process(probes, tgid, &after);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	if (before.exec_gen != after.exec_gen || before.loader_changes != after.loader_changes)
		return -EAGAIN;
	maps = maps_new(files, &reading, process_fd, uid);
	if (!maps)
		return -ENOMEM;
	maps->exec_gen = after.exec_gen;
	maps->loader_changes = after.loader_changes;
	*ret_maps = maps;
	return 0;
}

/* A mapping of the record as /proc has it, with its path; false: /proc has another one there, or none. */
static bool sight_find(const struct maps_reading *reading, const struct mapped_record *mapped, struct map_sight *ret)
{
	for (size_t i = 0; i < reading->sights.n; i++) {
		const struct map_sight *s = &reading->sights.items[i];

		if (s->sight.start == mapped->start && s->sight.end == mapped->end && s->offset == mapped->offset) {
			*ret = *s;
			return true;
		}
	}
	return false;
}

int process_maps_take(struct stack_files *files, int proc_fd, const struct mappings_record *record,
		      struct process_maps **ret_maps)
{
	CLEANUP(reading_done)
	struct maps_reading reading = { .exec_vm = 0 }, taken = { .exec_vm = record->exec_vm, .all = record->all };
	CLEANUP(closep) int process_fd = procfs_open_process(proc_fd, record->tgid);
	int r = 0;

	if (process_fd >= 0)
		(void)procfs_maps_read(process_fd, on_stack_mapping, &reading);
	for (uint32_t i = 0; i < record->n && r == 0; i++) {
		const struct mapped_record *m = &record->mapped[i];
		struct map_sight s = { .offset = m->offset };
		const uint64_t identity = mapped_identity(m);

		/* Without a path a file is found only if it is open. */
		if (!sight_find(&reading, m, &s))
			s.sight = (struct stack_sight){ .start = m->start, .end = m->end, .inode = m->file.inode };
		s.sight.file = m->file;
		s.identity = identity;
		s.sight.is_vdso = m->start == record->vdso;
		s.sight.path = strdup(s.sight.path ? s.sight.path : "");
		r = s.sight.path ? ARRAY_PUSH(&taken.sights, s) : -ENOMEM;
		if (r < 0)
			free((char *)(uintptr_t)s.sight.path);
	}
	*ret_maps = r == 0 ? maps_new(files, &taken, process_fd, record->uid) : NULL;
	if (!*ret_maps)
		return -ENOMEM;
	(*ret_maps)->exec_gen = record->exec_gen;
	(*ret_maps)->loader_changes = record->loader_changes;
	return 0;
}

void process_maps_want(const struct process_maps *maps)
{
	uint64_t n_all = 0;

	for (size_t i = 0; i < maps->n; i++)
		n_all += (maps->items[i].end - maps->items[i].start) >> UNWIND_PAGE_SHIFT;
	if (n_all > WANT_PAGES)
		return;
	for (size_t i = 0; i < maps->n; i++) {
		const struct process_map *map = &maps->items[i];
		uint32_t n = (uint32_t)((map->end - map->start) >> UNWIND_PAGE_SHIFT);
		uint32_t first = (uint32_t)(map->offset >> UNWIND_PAGE_SHIFT);

		for (uint32_t page = 0; map->first_page && page < n; page++)
			rules_want(map->file, first + page);
	}
}

struct process_maps *process_maps_ref(struct process_maps *maps)
{
	maps->n_references++;
	return maps;
}

void process_maps_unref(struct process_maps *maps)
{
	if (!maps || --maps->n_references)
		return;
	for (size_t i = 0; i < maps->n; i++) {
		stack_file_unref(maps->items[i].file);
		free(maps->items[i].path);
	}
	free(maps);
}

struct probe_set *process_maps_probes(const struct process_maps *maps)
{
	return maps->probes;
}

const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
	size_t at = SORTED_PLACE(maps->n, i, maps->items[i].end <= address);

	return at < maps->n && maps->items[at].start <= address ? &maps->items[at] : NULL;
}

void process_maps_to_kernel(const struct process_maps *maps, struct stack_maps *ret)
{
	*ret = (struct stack_maps){ .n = (uint32_t)MIN(maps->n, (size_t)STACK_MAPPINGS_MAX),
				    .tag = maps->tag,
				    .exec_gen = maps->exec_gen,
				    .loader_changes = maps->loader_changes,
				    .exec_vm = maps->exec_vm,
				    .all = maps->all };
	for (uint32_t i = 0; i < ret->n; i++) {
		ret->files[i] = maps->items[i].identity;
		ret->mappings[i] = (struct stack_mapping){
			.start = maps->items[i].start,
			.n_pages = (uint32_t)((maps->items[i].end - maps->items[i].start) >> UNWIND_PAGE_SHIFT),
			.first_page = maps->items[i].first_page,
		};
	}
}
