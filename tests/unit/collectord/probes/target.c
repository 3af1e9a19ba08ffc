// SPDX-License-Identifier: Apache-2.0
/*
 * Library files found through processes that map them, with real probes, the real parser
 * and files of every kind: renamed, linked, unlinked, replaced, touched, rewritten, in
 * memory, below overlays, damaged. This executable is the test, the parser child
 * (--child), and the processes that are looked at (subject.h).
 */
#include "probes/target.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child.h"
#include "clock.h"
#include "probes/target_process.h"
#include "tests/support/check.h"
#include "tests/unit/collectord/probes/subject.h"

enum { OP_FREE = 2, OP_LAUNCH = 3 }; /* ids of ops.def */

/* --- the daemon's parts --- */

struct found {
	char path[256];
	char reason[128];
	uint32_t n_symbols;
};

static struct {
	uv_loop_t loop;
	struct child *parser;
	struct probe_set *probes;
	struct target_set *targets;
	struct found found[64];
	size_t n_found;
	unsigned int n_done;
	char dir[PATH_MAX]; /* where the files are */
} world;

static void on_found(const struct target_library *library, void *data)
{
	struct found *f = &world.found[world.n_found++ % ARRAY_SIZE(world.found)];

	(void)data;
	(void)snprintf(f->path, sizeof(f->path), "%s", library->path);
	(void)snprintf(f->reason, sizeof(f->reason), "%s", library->reason);
	f->n_symbols = library->n_symbols;
}

static void on_done(uint32_t tgid, void *data)
{
	(void)tgid;
	(void)data;
	world.n_done++;
}

static void scan(const char *name, pid_t pid, uint64_t base)
{
	unsigned int before = world.n_done;

	CHECK_INT_EQ(name, target_set_scan(world.targets, (uint32_t)pid, base, on_done, NULL), 0);
	while (world.n_done == before)
		(void)uv_run(&world.loop, UV_RUN_ONCE);
	CHECK_INT_EQ(name, world.n_done, before + 1);
}

/* What was found last under this name, or NULL. */
static const struct target_library *library_find(const char *file)
{
	for (size_t i = target_set_count(world.targets); i-- > 0;) {
		const struct target_library *library = target_set_get(world.targets, i);
		const char *slash = strrchr(library->path, '/');

		if (slash && strcmp(slash + 1, file) == 0)
			return library;
	}
	return NULL;
}

static uint64_t calls_counted(pid_t pid, unsigned int op)
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

static const char *path_of(const char *file)
{
	static char paths[16][PATH_MAX + 64];
	static size_t i;
	char *path = paths[i++ % ARRAY_SIZE(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", world.dir, file);
	return path;
}

static const char *load_of(const char *file)
{
	static char text[8][PATH_MAX + 128];
	static size_t i;
	char *to = text[i++ % ARRAY_SIZE(text)];

	(void)snprintf(to, sizeof(text[0]), "load:%s", path_of(file));
	return to;
}

/* A copy of a sample, or of its beginning, under a name. */
static void make(const char *sample, const char *file, size_t most_bytes)
{
	CLEANUP(closep) int fd = open(path_of(file), O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	if (fd < 0)
		abort();
	subject_copy(sample, fd, most_bytes);
}

/* --- cases --- */

/* One file: what is said of it. The name is what it is called; each is looked at in a process of its own. */
static const struct {
	const char *name;
	const char *sample;
	size_t most_bytes;
	const char *file;
	uint32_t n_symbols; /* attached; 0: refused, or passed over when there is no reason */
	const char *reason;
	enum op_layer layer;
	const char *soname;
} files[] = {
	{ "runtime", "sample_runtime.so", SIZE_MAX, "libcudart.so.12", 7, "", OP_LAYER_RUNTIME, "libcudart.so.12" },
	{ "driver", "sample_driver.so", SIZE_MAX, "libcuda.so.1", 5, "", OP_LAYER_DRIVER, "libcuda.so.1" },
	{ "renamed as wheels do", "sample_runtime_renamed.so", SIZE_MAX, "libcudart-80664282.so.10.2", 7, "",
	  OP_LAYER_RUNTIME, "libcudart-80664282.so.10.2" },
	{ "called anything", "sample_runtime_sysv.so", SIZE_MAX, "anything at all", 7, "", OP_LAYER_RUNTIME,
	  "libcudart.so.11.0" },
	{ "without soname", "sample_driver_nameless.so", SIZE_MAX, "nameless.so", 5, "", OP_LAYER_DRIVER, "" },
	{ "cut", "sample_runtime.so", 5000, "libcudart.so.cut", 0, "is damaged: it points outside itself", 0, "" },
	{ "only a header", "sample_runtime.so", 64, "libcuda.so.cut", 0, "is damaged: it points outside itself", 0,
	  "" },
	{ "text", "/etc/passwd", 300, "libcuda.so.txt", 0, "is no library of this machine", 0, "" },
	{ "exports nothing of interest", "sample_loader.so", SIZE_MAX, "libcuda.so.other", 0,
	  "exports none of the traced operations", 0, "ld-sample.so.2" },
	{ "is not meant", "sample_one.so", SIZE_MAX, "one.so", 0, NULL, 0, "" },
};

static void files_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct target_library *library;
		const char *const argv[] = { path_of(files[i].file), NULL };
		struct subject subject;
		size_t n_before = world.n_found;

		make(files[i].sample, files[i].file, files[i].most_bytes);
		subject_start(&subject, argv);
		scan(files[i].name, subject.pid, 0);
		library = library_find(files[i].file);
		CHECK_INT_EQ(files[i].name, library != NULL, files[i].reason != NULL);
		CHECK_INT_EQ(files[i].name, world.n_found - n_before, files[i].reason != NULL);
		if (library && files[i].reason) {
			CHECK_STR_EQ(files[i].name, library->reason, files[i].reason);
			CHECK_INT_EQ(files[i].name, library->n_symbols, files[i].n_symbols);
			CHECK_INT_EQ(files[i].name, library->probes != NULL, files[i].n_symbols != 0);
			CHECK_INT_EQ(files[i].name, library->owner_uid, getuid());
			CHECK_STR_EQ(files[i].name, library->soname, files[i].soname);
			CHECK_INT_EQ(files[i].name, library->layer, files[i].layer);
			if (files[i].n_symbols)
				CHECK_STR_EQ(files[i].name, library->build_id, "0123456789abcdef");
		}
		scan("again", subject.pid, 0);
		CHECK_INT_EQ("told once", world.n_found - n_before, files[i].reason != NULL);
		subject_end(&subject);
	}
}

/* Two processes, two names, one file: attached once, and each call counted once. */
static void links_check(void)
{
	const char *name = "two links";
	const char *const first[] = { load_of("libcudart.so.two"), NULL };
	const char *const second[] = { load_of("other.so"), NULL };
	struct subject a, b;
	size_t n_before;

	make("sample_runtime.so", "libcudart.so.two", SIZE_MAX);
	if (link(path_of("libcudart.so.two"), path_of("other.so")) < 0)
		abort();
	subject_start(&a, first);
	subject_start(&b, second);
	(void)probe_set_target_add(world.probes, (uint32_t)a.pid, (struct process_wish){});
	(void)probe_set_target_add(world.probes, (uint32_t)b.pid, (struct process_wish){});
	n_before = world.n_found;
	scan(name, a.pid, 0);
	scan(name, b.pid, 0);
	CHECK_INT_EQ(name, world.n_found - n_before, 1);
	subject_call(&a, 3);
	subject_call(&b, 5);
	CHECK_INT_EQ(name, calls_counted(a.pid, OP_FREE), 3);
	CHECK_INT_EQ(name, calls_counted(a.pid, OP_LAUNCH), 3);
	CHECK_INT_EQ(name, calls_counted(b.pid, OP_FREE), 5);
	CHECK_INT_EQ(name, calls_counted(b.pid, OP_LAUNCH), 5);

	/* Touched: another change time, the same places. Not attached again. */
	if (chmod(path_of("other.so"), 0700) < 0)
		abort();
	scan("touched", a.pid, 0);
	CHECK_INT_EQ("touched", world.n_found - n_before, 1);
	subject_call(&a, 7);
	CHECK_INT_EQ("touched", calls_counted(a.pid, OP_FREE), 10);

	/* Without a name. */
	(void)unlink(path_of("other.so"));
	(void)unlink(path_of("libcudart.so.two"));
	scan("unlinked", a.pid, 0);
	CHECK_INT_EQ("unlinked", world.n_found - n_before, 1);
	subject_call(&a, 1);
	CHECK_INT_EQ("unlinked", calls_counted(a.pid, OP_FREE), 11);
	subject_end(&a);
	subject_end(&b);
}

/* Gone from the directory, or never in one, before anybody looked. */
static void nameless_check(void)
{
	const char *const unlinked[] = { path_of("libcudart.so.gone"), NULL };
	const char *const in_memory[] = { "memory:sample_runtime.so", NULL };
	struct subject subject;
	size_t n_before = world.n_found;

	make("sample_runtime.so", "libcudart.so.gone", SIZE_MAX);
	subject_start(&subject, unlinked);
	(void)unlink(path_of("libcudart.so.gone"));
	scan("unlinked before", subject.pid, 0);
	CHECK_INT_EQ("unlinked before", world.n_found - n_before, 1);
	CHECK_INT_EQ("unlinked before", library_find("libcudart.so.gone")->n_symbols, 7);
	subject_end(&subject);

	subject_start(&subject, in_memory);
	scan("in memory", subject.pid, 0);
	CHECK_INT_EQ("in memory", world.n_found - n_before, 2);
	CHECK_INT_EQ("in memory", library_find("memfd:libcudart.so.12")->n_symbols, 7);
	subject_end(&subject);
}

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

/* The same inode with other contents: the old probes go, new ones come. */
static void rewritten_check(void)
{
	const char *const argv[] = { path_of("libcudart.so.rewritten"), NULL };
	const struct target_library *before, *after;
	struct subject subject;

	make("sample_runtime.so", "libcudart.so.rewritten", SIZE_MAX);
	subject_start(&subject, argv);
	scan("rewritten", subject.pid, 0);
	before = library_find("libcudart.so.rewritten");
	make("sample_driver.so", "libcudart.so.rewritten", SIZE_MAX);
	scan("rewritten", subject.pid, 0);
	after = library_find("libcudart.so.rewritten");
	CHECK("rewritten", before && after && before != after);
	if (!before || !after)
		return;
	CHECK("rewritten", before->probes == NULL && before->n_symbols == 0);
	CHECK_STR_EQ("rewritten", before->reason, "was changed since");
	CHECK_INT_EQ("rewritten", after->n_symbols, 5);
	subject_end(&subject);
}

/* Clocks of files stand still for some milliseconds: touches one of its own until the next time is another. */
static void file_clock_advance(void)
{
	CLEANUP(closep) int fd = open(path_of("clock"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct stat first, now;

	if (fd < 0 || futimens(fd, NULL) < 0 || fstat(fd, &first) < 0)
		abort();
	do {
		if (futimens(fd, NULL) < 0 || fstat(fd, &now) < 0)
			abort();
	} while (now.st_mtim.tv_sec == first.st_mtim.tv_sec && now.st_mtim.tv_nsec == first.st_mtim.tv_nsec);
}

static void become_rewritten(const char *file)
{
	make("sample_runtime.so", file, SIZE_MAX);
}

static void become_another(const char *file)
{
	make("sample_driver.so", "fresh", SIZE_MAX);
	if (rename(path_of("fresh"), path_of(file)) < 0)
		abort();
}

static void become_link(const char *file)
{
	(void)unlink(path_of(file));
	if (symlink("/etc/shadow", path_of(file)) < 0)
		abort();
}

static void become_fifo(const char *file)
{
	(void)unlink(path_of(file));
	if (mkfifo(path_of(file), 0600) < 0)
		abort();
}

/* What becomes of a file while the parser is asked about it: what is mapped counts, if it is still what was read. */
static const struct {
	const char *name;
	const char *file;
	void (*become)(const char *file);
	uint32_t n_symbols;
	const char *reason;
} between[] = {
	{ "written to between look and attach", "libcudart.so.written", become_rewritten, 0,
	  "was written to while it was looked at; it is looked at again" },
	{ "replaced between look and attach", "libcudart.so.replaced", become_another, 7, "" },
	{ "a link out between look and attach", "libcudart.so.link", become_link, 7, "" },
	{ "a FIFO between look and attach", "libcudart.so.fifo", become_fifo, 7, "" },
};

static void between_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(between); i++) {
		const char *name = between[i].name, *const argv[] = { path_of(between[i].file), NULL };
		const struct target_library *library;
		unsigned int before = world.n_done;
		struct subject subject;

		make("sample_runtime.so", between[i].file, SIZE_MAX);
		subject_start(&subject, argv);
		CHECK_INT_EQ(name, target_set_scan(world.targets, (uint32_t)subject.pid, 0, on_done, NULL), 0);
		CHECK_INT_EQ(name, world.n_done, before); /* the parser was asked, its answer not yet taken */
		file_clock_advance();
		between[i].become(between[i].file);
		while (world.n_done == before)
			(void)uv_run(&world.loop, UV_RUN_ONCE);
		library = library_find(between[i].file);
		CHECK(name, library);
		CHECK_STR_EQ(name, library ? library->reason : "", between[i].reason);
		CHECK_INT_EQ(name, library ? library->n_symbols : 0, between[i].n_symbols);

		target_set_second(world.targets); /* when what may pass is tried again */
		target_set_second(world.targets);
		while (!library_find(between[i].file) || !library_find(between[i].file)->probes)
			(void)uv_run(&world.loop, UV_RUN_ONCE);
		CHECK_INT_EQ(name, library_find(between[i].file)->n_symbols, 7);
		subject_end(&subject);
	}
}

/* Two containers on one lower file: two devices to look at, one place for probes. */
static void overlay_check(void)
{
	static const char *const dirs[] = { "lower", "upper1", "work1", "merged1", "upper2", "work2", "merged2" };
	const char *const first[] = { load_of("merged1/libcudart.so.12"), NULL };
	const char *const second[] = { load_of("merged2/libcudart.so.12"), NULL };
	char options[4 * PATH_MAX];
	const char *const left_behind[] = { path_of("merged2/libcuda.so.1"), NULL };
	const char *const below[] = { load_of("lower/libcudart.so.12"), NULL };
	struct subject a, b, host;
	size_t n_before = world.n_found;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		(void)mkdir(path_of(dirs[i]), 0755);
	make("sample_runtime.so", "lower/libcudart.so.12", SIZE_MAX);
	make("sample_driver.so", "lower/libcuda.so.1", SIZE_MAX);
	for (int i = 1; i <= 2; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "merged%d", i);
		(void)snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper%d,workdir=%s/work%d",
			       world.dir, world.dir, i, world.dir, i);
		if (mount("overlay", path_of(name), "overlay", 0, options) < 0) {
			fprintf(stderr, "overlay: left out, cannot mount: %s\n", strerror(errno));
			return;
		}
	}
	subject_start(&a, first);
	subject_start(&b, second);
	(void)probe_set_target_add(world.probes, (uint32_t)a.pid, (struct process_wish){});
	(void)probe_set_target_add(world.probes, (uint32_t)b.pid, (struct process_wish){});
	scan("overlay", a.pid, 0);
	scan("overlay", b.pid, 0);
	CHECK_INT_EQ("overlay", world.n_found - n_before, 1);
	subject_call(&a, 3);
	subject_call(&b, 4);
	CHECK_INT_EQ("overlay", calls_counted(a.pid, OP_FREE), 3);
	CHECK_INT_EQ("overlay", calls_counted(b.pid, OP_FREE), 4);

	/* The file below them itself, mapped outside of any container: still one place. */
	subject_start(&host, below);
	(void)probe_set_target_add(world.probes, (uint32_t)host.pid, (struct process_wish){});
	scan("below the overlays", host.pid, 0);
	CHECK_INT_EQ("below the overlays", world.n_found - n_before, 1);
	subject_call(&host, 6);
	CHECK_INT_EQ("below the overlays", calls_counted(host.pid, OP_FREE), 6);
	subject_call(&b, 1);
	CHECK_INT_EQ("overlay beside it", calls_counted(b.pid, OP_FREE), 5);
	subject_end(&host);
	subject_end(&a);

	/* Changed in one container: there it is a file of its own now. */
	if (chmod(path_of("merged1/libcudart.so.12"), 0700) < 0)
		abort();
	subject_start(&a, first);
	(void)probe_set_target_add(world.probes, (uint32_t)a.pid, (struct process_wish){});
	scan("copied up", a.pid, 0);
	CHECK_INT_EQ("copied up", world.n_found - n_before, 2);
	subject_call(&a, 5);
	subject_call(&b, 1);
	CHECK_INT_EQ("copied up", calls_counted(a.pid, OP_FREE), 5);
	CHECK_INT_EQ("copied up", calls_counted(b.pid, OP_FREE), 6);
	subject_end(&a);
	subject_end(&b);

	/* Changed before anybody looked: the name leads to the copy, and not to what is mapped. */
	subject_start(&a, left_behind);
	if (chmod(left_behind[0], 0700) < 0)
		abort();
	scan("left behind", a.pid, 0);
	CHECK_STR_EQ(
		"left behind", library_find("libcuda.so.1")->reason,
		"was changed in its container since it was loaded, and cannot be reached; start the program again");
	subject_end(&a);
	subject_start(&a, left_behind);
	scan("started again", a.pid, 0);
	CHECK_STR_EQ("started again", library_find("libcuda.so.1")->reason, "");
	subject_end(&a);
	/* Lazily: probes keep the mount they were attached through. */
	(void)umount2(path_of("merged1"), MNT_DETACH);
	(void)umount2(path_of("merged2"), MNT_DETACH);
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

/* The kernel tells who reads the file: the parser does, we never do. */
static void reader_check(void)
{
	CLEANUP(closep)
	int watch_fd = fanotify_init(FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	const char *const argv[] = { path_of("libcudart.so.watched"), NULL };
	unsigned int n_ours = 0, n_others = 0;
	struct subject subject;
	char events[8192];
	ssize_t n;

	make("sample_runtime.so", "libcudart.so.watched", SIZE_MAX);
	if (watch_fd < 0 || fanotify_mark(watch_fd, FAN_MARK_ADD, FAN_ACCESS, AT_FDCWD, argv[0]) < 0) {
		fprintf(stderr, "who reads: left out, no fanotify: %s\n", strerror(errno));
		return;
	}
	subject_start(&subject, argv);
	scan("who reads", subject.pid, 0);
	CHECK_INT_EQ("who reads", library_find("libcudart.so.watched")->n_symbols, 7);
	while ((n = read(watch_fd, events, sizeof(events))) > 0) {
		struct fanotify_event_metadata *e = (struct fanotify_event_metadata *)events;

		for (; FAN_EVENT_OK(e, n); e = FAN_EVENT_NEXT(e, n)) {
			n_ours += e->pid == getpid();
			n_others += e->pid != getpid();
			(void)close(e->fd);
		}
	}
	CHECK_INT_EQ("read by the daemon", n_ours, 0);
	CHECK("read by the parser", n_others > 0);
	subject_end(&subject);
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
	target_set_load(world.targets, &load, on_done, NULL);
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
	CHECK_INT_EQ("close", target_set_scan(world.targets, (uint32_t)subject.pid, 0, on_done, NULL), 0);
	CHECK_INT_EQ("close", world.n_done, before);
	target_set_close(world.targets);
	CHECK_INT_EQ("close", world.n_done, before + 1);
	subject_end(&subject);
}

static void files_remove(void)
{
	char command[PATH_MAX + 16];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", world.dir);
	(void)!system(command);
}

int main(int argc, char **argv)
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
	loader_check();
	gone_check();
	files_check();
	links_check();
	nameless_check();
	base_check();
	rewritten_check();
	between_check();
	overlay_check();
	processes_check();
	reader_check();
	room_check();
	let_go_check();
	close_check();
	child_close(world.parser);
	probe_set_close(world.probes);
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ("close", uv_loop_close(&world.loop), 0);
	files_remove();
	return check_result();
}
