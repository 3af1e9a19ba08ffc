// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/collectord/probes/target_world.h"

#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child.h"
#include "tests/support/check.h"
#include "tests/unit/collectord/probes/subject.h"

struct target_world world;

static void on_found(const struct target_library *library, void *data)
{
	(void)library;
	(void)data;
	world.n_found++;
}

void target_world_done(uint32_t tgid, void *data)
{
	(void)tgid;
	(void)data;
	world.n_done++;
}

void scan(const char *name, pid_t pid, uint64_t base)
{
	unsigned int before = world.n_done;

	CHECK_INT_EQ(name, target_set_scan(world.targets, (uint32_t)pid, base, target_world_done, NULL), 0);
	while (world.n_done == before)
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	CHECK_INT_EQ(name, world.n_done, before + 1);
}

const struct target_library *library_find(const char *file)
{
	for (size_t i = target_set_count(world.targets); i-- > 0;) {
		const struct target_library *library = target_set_get(world.targets, i);
		const char *slash = strrchr(library->path, '/');

		if (slash && strcmp(slash + 1, file) == 0)
			return library;
	}
	return NULL;
}

uint64_t calls_counted(pid_t pid, unsigned int op)
{
	const struct figure_cell *cells = probe_set_cells(world.probes);
	const struct process_slot *slots = probe_set_slots(world.probes);
	uint64_t n = 0;

	for (uint32_t i = 1; i < probe_set_cells_used(world.probes); i++) {
		if (cells[i].op != op || slots[cells[i].slot].tgid != (uint32_t)pid)
			continue;
		n += cells[i].untimed;
		for (size_t k = 0; k < HISTOGRAM_BUCKETS; k++)
			n += cells[i].buckets[k];
	}
	return n;
}

const char *path_of(const char *file)
{
	static char paths[16][PATH_MAX + 64];
	static size_t i;
	char *path = paths[i++ % ARRAY_SIZE(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", world.dir, file);
	return path;
}

const char *load_of(const char *file)
{
	static char text[8][PATH_MAX + 128];
	static size_t i;
	char *to = text[i++ % ARRAY_SIZE(text)];

	(void)snprintf(to, sizeof(text[0]), "load:%s", path_of(file));
	return to;
}

void make(const char *sample, const char *file, size_t most_bytes)
{
	CLEANUP(closep) int fd = open(path_of(file), O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	if (fd < 0)
		abort();
	subject_copy(sample, fd, most_bytes);
}

static void files_remove(void)
{
	char command[PATH_MAX + 16];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", world.dir);
	(void)!system(command);
}

int target_world_main(int argc, char **argv, void (*cases)(void))
{
	const struct probe_set_options options = { .back_end = PROBE_BACK_END_AUTO };
	char why[256], here[32], self[PATH_MAX];

	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child_main(argv[2]);
	if (argc > 1 && strcmp(argv[1], "--subject") == 0)
		return subject_main(argc, argv);

	if (geteuid() != 0)
		CHECK_SKIP("loading BPF programs needs root");
	if (probe_set_open(&options, why, sizeof(why), &world.probes) < 0)
		CHECK_SKIP("this machine cannot do it: %s", why);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fprintf(stderr, "without a mount namespace of its own\n");
	/* Beside the samples, wherever it was started. */
	(void)snprintf(here, sizeof(here), "%s", "target-XXXXXX");
	if (!realpath("/proc/self/exe", self) || chdir(dirname(self)) < 0 || !mkdtemp(here) ||
	    !realpath(here, world.dir))
		abort();

	CHECK_INT_EQ("open", uv_loop_init(&world.loop), 0);
	CHECK_INT_EQ("open", child_open(&world.loop, "parser", &world.parser), 0);
	CHECK_INT_EQ("open", target_set_open(&world.loop, world.parser, world.probes, on_found, NULL, &world.targets),
		     0);
	cases();
	child_close(world.parser);
	probe_set_close(world.probes);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ("close", uv_loop_close(&world.loop), 0);
	files_remove();
	return check_result();
}
