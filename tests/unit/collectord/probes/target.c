// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that are looked at for libraries: who maps what until when, found by address, copies beyond what one user
 * may have, let go on, gone; and the end of the set.
 */
#include "probes/target.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "probes/target_process.h"
#include "tests/support/check.h"
#include "tests/unit/collectord/probes/subject.h"
#include "tests/unit/collectord/probes/target_world.h"

/* A new library that has no telling name, found by its load address beside one that has. */
static void base_check(void)
{
	const char *const argv[] = { path_of("libcudart.so.base"), path_of("plugin"), path_of("bystander"), NULL };
	struct subject subject;
	size_t n_before = world.n_found;

	make("sample_runtime.so", "libcudart.so.base", SIZE_MAX);
	make("sample_driver.so", "plugin", SIZE_MAX);
	make("sample_driver_nameless.so", "bystander", SIZE_MAX);
	subject_start(&subject, argv);
	scan("by address", subject.pid, subject.bases[1]);
	CHECK_INT_EQ("by address", world.n_found - n_before, 2);
	CHECK("by address", library_find("libcudart.so.base"));
	CHECK("by address", library_find("plugin"));

	/* A full scan comes to the others too, behind those with a name. */
	scan("everything", subject.pid, 0);
	while (!library_find("bystander"))
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	CHECK_INT_EQ("everything", library_find("bystander")->n_symbols, 5);
	subject_end(&subject);
}

/* The files of interest that a process maps, as last looked at; "-" for one nobody asked about. */
static void mapped_expect(const char *name, pid_t pid, const char *const *expected)
{
	const struct target_process *process;
	size_t n = 0;

	target_set_refresh(world.targets);
	process = target_processes_find(target_set_processes(world.targets), (uint32_t)pid);
	for (; expected[n]; n++) {
		const char *file = expected[n] + (*expected[n] == '-');
		bool is_met = false;

		for (size_t i = 0; process && i < process->mapped.n; i++) {
			const struct target_mapped *mapped = &process->mapped.items[i];
			const char *slash = strrchr(mapped->path, '/');

			if (!slash || strcmp(slash + 1, file) != 0)
				continue;
			is_met = true;
			CHECK_INT_EQ(expected[n], target_mapped_library(mapped) == NULL, *expected[n] == '-');
			CHECK_INT_EQ(expected[n], mapped->is_deleted, strstr(file, "gone") != NULL);
		}
		CHECK(expected[n], is_met);
	}
	CHECK_INT_EQ(name, process ? process->mapped.n : 0, n);
}

/* Who maps what: each process its own files, under its own names, until it lets go of them. */
static void processes_check(void)
{
	const char *const first[] = { path_of("libcudart.so.who"), path_of("libcuda.so.who"), path_of("anyone"), NULL };
	const char *const second[] = { path_of("libcudart.so.who"), path_of("libcuda.so.gone"), NULL };
	struct subject a, b;

	make("sample_runtime.so", "libcudart.so.who", SIZE_MAX);
	make("sample_driver.so", "libcuda.so.who", SIZE_MAX);
	make("sample_one.so", "anyone", SIZE_MAX);
	make("sample_driver_nameless.so", "libcuda.so.gone", SIZE_MAX);
	subject_start(&a, first);
	subject_start(&b, second);
	(void)unlink(path_of("libcuda.so.gone"));
	mapped_expect("nobody looked", a.pid, (const char *const[]){ NULL });
	CHECK_INT_EQ("look", target_set_look(world.targets, (uint32_t)a.pid), 0);
	mapped_expect("looked at", a.pid, (const char *const[]){ "-libcudart.so.who", "-libcuda.so.who", NULL });
	scan("who maps", a.pid, 0);
	scan("who maps", b.pid, 0);
	mapped_expect("scanned", a.pid, (const char *const[]){ "libcudart.so.who", "libcuda.so.who", NULL });
	mapped_expect("scanned", b.pid, (const char *const[]){ "libcudart.so.who", "libcuda.so.gone", NULL });
	subject_call(&a, 0); /* lets go of what it mapped first */
	mapped_expect("unmapped", a.pid, (const char *const[]){ "libcuda.so.who", NULL });
	mapped_expect("unmapped by another", b.pid,
		      (const char *const[]){ "libcudart.so.who", "libcuda.so.gone", NULL });
	subject_end(&a);
	mapped_expect("ended", a.pid, (const char *const[]){ NULL });
	target_set_forget(world.targets, (uint32_t)b.pid);
	CHECK("forgotten", !target_processes_find(target_set_processes(world.targets), (uint32_t)b.pid));
	subject_end(&b);
}

static void gone_check(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
	scan("a process that is gone", pid, 0);
}

/* A process of ours: nothing in it but its loader, which is hooked without a word. */
static void loader_check(void)
{
	size_t n_before = world.n_found;

	CHECK_INT_EQ("loader", target_set_scan_loader(world.targets, NULL, NULL), 0);
	scan("nothing of interest", getpid(), 0);
	CHECK_INT_EQ("loader", world.n_found - n_before, 0);
}

/* --- more copies than one user may have --- */

enum { COPIES_OF_USER = 256 };

/* Copies below that directory: how many are listed, and how many of these are attached. */
static void copies_expect(const char *name, const char *directory, size_t n, size_t n_attached)
{
	size_t n_found = 0, n_probes = 0;

	for (size_t i = 0; i < target_set_count(world.targets); i++) {
		const struct target_library *library = target_set_get(world.targets, i);

		if (strncmp(library->path, path_of(directory), strlen(path_of(directory))) != 0)
			continue;
		n_found++;
		n_probes += library->probes != NULL;
		CHECK_INT_EQ(name, library->probes == NULL,
			     strstr(library->reason, "copies of CUDA libraries in use") != NULL);
	}
	CHECK_INT_EQ(name, n_found, n);
	CHECK_INT_EQ(name, n_probes, n_attached);
}

static uint64_t late_loads(void)
{
	uint64_t losses[LOSS_COUNT];

	probe_set_losses(world.probes, losses);
	return losses[LOSS_LATE_LOAD];
}

static void copies_start(struct subject *subject, const char *directory, unsigned int n)
{
	char file[64], all[PATH_MAX + 128];
	const char *const argv[] = { all, NULL };

	(void)mkdir(path_of(directory), 0755);
	for (unsigned int i = 0; i < n; i++) {
		(void)snprintf(file, sizeof(file), "%s/libcuda.so.%u", directory, i);
		make("sample_driver.so", file, SIZE_MAX);
	}
	(void)snprintf(all, sizeof(all), "all:%s", path_of(directory));
	subject_start(subject, argv);
	scan(directory, subject->pid, 0);
}

/* As the daemon hears of it. */
static void copies_end(struct subject *subject)
{
	subject_end(subject);
	target_set_forget(world.targets, (uint32_t)subject->pid);
}

/* What nobody maps makes room at once, the longest unused first; only what finds all in use is turned away. */
static void room_check(void)
{
	struct subject a, b, c, d;
	uint64_t late = late_loads();

	copies_start(&a, "room-a", COPIES_OF_USER / 2);
	copies_start(&b, "room-b", COPIES_OF_USER / 2);
	copies_expect("those before made room", "room-a", COPIES_OF_USER / 2, COPIES_OF_USER / 2);
	copies_expect("those before made room", "room-b", COPIES_OF_USER / 2, COPIES_OF_USER / 2);
	CHECK_INT_EQ("nobody maps those", target_set_count(world.targets), COPIES_OF_USER);
	copies_end(&a);
	copies_start(&c, "room-c", 10);
	copies_expect("unused ones made room", "room-a", COPIES_OF_USER / 2 - 10, COPIES_OF_USER / 2 - 10);
	copies_expect("used ones did not", "room-b", COPIES_OF_USER / 2, COPIES_OF_USER / 2);
	copies_expect("there was room", "room-c", 10, 10);
	CHECK_INT_EQ("none is missed", late_loads(), late);

	copies_start(&d, "room-d", COPIES_OF_USER / 2 + 4);
	copies_expect("all unused ones made room", "room-a", 0, 0);
	copies_expect("used ones did not", "room-b", COPIES_OF_USER / 2, COPIES_OF_USER / 2);
	copies_expect("used ones did not", "room-c", 10, 10);
	copies_expect("the rest was turned away", "room-d", COPIES_OF_USER / 2 + 4, COPIES_OF_USER / 2 - 10);
	CHECK_INT_EQ("and is counted", late_loads() - late, 14);

	copies_end(&c);
	target_set_second(world.targets);
	scan("asked about again", d.pid, 0);
	copies_expect("as many as were let go", "room-d", COPIES_OF_USER / 2 + 4, COPIES_OF_USER / 2);
	copies_expect("those are gone", "room-c", 0, 0);
	copies_end(&b);
	copies_end(&d);
}

/* A process that was let go on before all was attached is late by the time since then, also when it is held again. */
static void let_go_check(void)
{
	const char *const argv[] = { path_of("libcudart.so.let-go"), NULL };
	struct target_load load = { .is_told = true, .is_held = true };
	const struct target_library *library;
	unsigned int before = world.n_done;
	struct subject subject;
	uint64_t let_go_ns;

	make("sample_runtime.so", "libcudart.so.let-go", SIZE_MAX);
	subject_start(&subject, argv);
	load.tgid = (uint32_t)subject.pid;
	load.base = subject.bases[0];
	load.time_ns = clock_now_ns();
	target_set_load(world.targets, &load, target_world_done, NULL);
	target_set_let_go(world.targets, load.tgid);
	let_go_ns = clock_now_ns();
	while (clock_now_ns() == let_go_ns)
		;
	target_set_let_go(world.targets, load.tgid); /* of another stop */
	while (world.n_done == before)
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	library = library_find("libcudart.so.let-go");
	CHECK("let go: attached", library && library->probes);
	if (library)
		CHECK("let go: late since the first time",
		      library->late_ns && library->attached_ns - library->late_ns <= let_go_ns);
	subject_end(&subject);
	target_set_forget(world.targets, load.tgid);
}

/* Scans under way when the set closes are told they are over, and the answer that comes late harms nobody. */
static void close_check(void)
{
	const char *const argv[] = { path_of("libcudart.so.late"), NULL };
	unsigned int before = world.n_done;
	struct subject subject;

	make("sample_runtime.so", "libcudart.so.late", SIZE_MAX);
	subject_start(&subject, argv);
	CHECK_INT_EQ("close", target_set_scan(world.targets, (uint32_t)subject.pid, 0, target_world_done, NULL), 0);
	CHECK_INT_EQ("close", world.n_done, before);
	target_set_close(world.targets);
	CHECK_INT_EQ("close", world.n_done, before + 1);
	subject_end(&subject);
}

static void cases(void)
{
	loader_check();
	gone_check();
	base_check();
	processes_check();
	room_check();
	let_go_check();
	close_check();
}

int main(int argc, char **argv)
{
	return target_world_main(argc, argv, cases);
}
