// SPDX-License-Identifier: Apache-2.0
/* CUDA libraries: the installed ones, and the ones that each process maps. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/layer.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"
#include "libingero/render/user.h"
#include "libingero/check/item.h"

#define SHOWN_MOST 32 /* maximum number of detail lines */

/* Directories beside those in the cache of the dynamic linker. */
static const char *const places[] = { "usr/local/cuda/lib64", "usr/lib/wsl/lib", "opt/cuda/lib64" };

static bool is_cuda(const char *path)
{
	const char *slash = strrchr(path, '/');

	return layer_names_library(slash ? slash + 1 : path);
}

struct library_file {
	char *path;
	dev_t device;
	ino_t inode;
};
typedef ARRAY(struct library_file) library_files;

static void files_done(library_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->items[i].path);
	ARRAY_DONE(files);
}

/* Links to one file are one library. */
static void library_file_add(const struct check_world *world, library_files *files, const char *path)
{
	struct library_file file = { .path = NULL };
	struct stat st;

	if (fstatat(world->root, path, &st, 0) || !S_ISREG(st.st_mode))
		return;
	for (size_t i = 0; i < files->n; i++)
		if (files->items[i].device == st.st_dev && files->items[i].inode == st.st_ino)
			return;
	file.device = st.st_dev;
	file.inode = st.st_ino;
	file.path = strdup(path);
	if (file.path && ARRAY_PUSH(files, file) < 0)
		free(file.path);
}

/* The cache's paths are texts that end in a zero byte. Only root writes the cache; only its texts are read. */
static void cache_read(const struct check_world *world, library_files *files)
{
	CLEANUP(buf_done) struct buf cache = BUF_INIT;
	const char *text, *end;

	if (check_read(world, "etc/ld.so.cache", &cache) < 0 || !cache.n)
		return;
	text = buf_text(&cache);
	end = text + cache.n;
	while (text < end) {
		size_t n = strnlen(text, (size_t)(end - text));
		const char *slash = memchr(text, '/', n);

		/* The first path follows numbers without a zero byte between. */
		if (slash && is_cuda(slash))
			library_file_add(world, files, slash + 1);
		text += n + 1;
	}
}

static void place_read(const struct check_world *world, const char *place, library_files *files)
{
	int fd = openat(world->root, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char path[1024];

	if (!dir) {
		closep(&fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!is_cuda(entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
		library_file_add(world, files, path);
	}
	(void)closedir(dir);
}

void check_cuda_libraries(const struct check_world *world, struct check_result *result)
{
	CLEANUP(files_done) library_files files = { .items = NULL };

	cache_read(world, &files);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		place_read(world, places[i], &files);
	if (!files.n) {
		check_say(result, CHECK_LEVEL_WARN, "programs that bring their own libraries are traced, too",
			  "no system-wide CUDA library");
		return;
	}
	check_say(result, CHECK_LEVEL_OK, NULL, "%zu system-wide", files.n);
	for (size_t i = 0; i < files.n && i < SHOWN_MOST; i++)
		(void)buf_printf(&result->detail, "/%s\n", files.items[i].path);
	if (files.n > SHOWN_MOST)
		(void)buf_printf(&result->detail, "and %zu more\n", files.n - SHOWN_MOST);
}

/* ---- which process maps which ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the daemon knows, including the attached libraries. */
static void coverage_say(const Ingero__V1__StatusReply *status, struct check_result *result)
{
	size_t n = status->n_cuda_processes, n_open = 0;

	for (size_t i = 0; i < n; i++) {
		const Ingero__V1__CudaProcess *process = status->cuda_processes[i];

		if (i < SHOWN_MOST) {
			(void)buf_printf(&result->detail, "%s %u of %s: ",
					 trace_process_name(process->process_name, process->program).text, process->pid,
					 user_name(process->uid).text);
			for (size_t k = 0; k < process->n_libraries; k++)
				(void)buf_printf(&result->detail, "%s%s", k ? ", " : "",
						 base_of(process->libraries[k]->path));
			(void)buf_printf(&result->detail, "%s%s\n", *process->reason ? "; " : "", process->reason);
		}
		n_open += strcmp(process->coverage, "full") != 0;
	}
	if (n > SHOWN_MOST)
		(void)buf_printf(&result->detail, "and %zu more\n", n - SHOWN_MOST);
	if (!n)
		check_say(result, CHECK_LEVEL_OK, NULL, "no process in your scope maps a CUDA library now");
	else if (n_open)
		check_say(result, CHECK_LEVEL_WARN, "its details have the reason for each process",
			  "%s CUDA libraries, %zu not captured in full",
			  units_things(n + status->more_cuda_processes, "process maps", "processes map").text, n_open);
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "%s CUDA libraries",
			  units_things(n + status->more_cuda_processes, "process maps", "processes map").text);
}

/* Finds the names of the CUDA libraries in one maps file, each once. Return: number of names */
static size_t maps_names(char *maps, struct buf *out)
{
	const char *last = "";
	char *rest = NULL;
	size_t n = 0;

	for (char *line = strtok_r(maps, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *path = strchr(line, '/');

		/* Mappings of one file are adjacent. */
		if (!path || strcmp(path, last) == 0 || !is_cuda(path))
			continue;
		last = path;
		(void)buf_printf(out, "%s%s", n++ ? ", " : "", base_of(path));
	}
	return n;
}

int check_maps_look(const struct check_world *world, check_maps_func func, void *data, size_t *ret_closed)
{
	int fd = openat(world->root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	*ret_closed = 0;
	if (!dir) {
		closep(&fd);
		return -ENOENT;
	}
	while ((entry = readdir(dir))) {
		CLEANUP(buf_done) struct buf maps = BUF_INIT;
		char path[300], comm[64];
		int r;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "proc/%s/maps", entry->d_name);
		r = check_read(world, path, &maps);
		*ret_closed += r == -EACCES || r == -EPERM;
		if (r < 0 || buf_append(&maps, "", 1) < 0)
			continue;
		(void)snprintf(path, sizeof(path), "proc/%s/comm", entry->d_name);
		if (check_read_line(world, path, comm, sizeof(comm)) < 0)
			comm[0] = 0;
		func(entry->d_name, comm, (char *)maps.data, data);
	}
	(void)closedir(dir);
	return 0;
}

struct cuda_look {
	check_cuda_func func;
	void *data;
};

static void cuda_look_at(const char *pid, const char *comm, char *maps, void *data)
{
	CLEANUP(buf_done) struct buf mapped = BUF_INIT;
	const struct cuda_look *look = data;

	if (maps_names(maps, &mapped))
		look->func(pid, comm, buf_text(&mapped), look->data);
}

int check_cuda_look(const struct check_world *world, check_cuda_func func, void *data, size_t *ret_closed)
{
	struct cuda_look look = { func, data };

	return check_maps_look(world, cuda_look_at, &look, ret_closed);
}

struct own_processes {
	struct check_result *result;
	size_t n;
};

static void own_process_say(const char *pid, const char *comm, const char *libraries, void *data)
{
	struct own_processes *own = data;

	if (++own->n <= SHOWN_MOST)
		(void)buf_printf(&own->result->detail, "%s %s: %s\n", comm, pid, libraries);
}

static void own_libraries_look(const struct check_world *world, struct check_result *result)
{
	struct own_processes own = { .result = result };
	size_t n_closed;

	if (check_cuda_look(world, own_process_say, &own, &n_closed) < 0) {
		check_say(result, CHECK_LEVEL_WARN, "mount proc: 'mount -t proc proc /proc'", "unknown: no /proc");
		return;
	}
	if (own.n > SHOWN_MOST)
		(void)buf_printf(&result->detail, "and %zu more\n", own.n - SHOWN_MOST);
	check_say(result, CHECK_LEVEL_OK, NULL, "%zu of your processes %s CUDA libraries%s", own.n,
		  own.n == 1 ? "maps" : "map", n_closed ? "; other users' processes are not checked" : "");
}

void check_cuda_processes(const struct check_world *world, struct check_result *result)
{
	if (world->daemon.status)
		coverage_say(world->daemon.status, result);
	else
		own_libraries_look(world, result);
}
