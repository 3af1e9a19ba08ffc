// SPDX-License-Identifier: Apache-2.0
/*
 * Library files of every kind, found through processes that map them: renamed, linked, unlinked, replaced, touched,
 * rewritten, in memory, below overlays, damaged.
 */
#include "probes/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "events/op.h"
#include "tests/support/check.h"
#include "tests/unit/collectord/probes/subject.h"
#include "tests/unit/collectord/probes/target_world.h"

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
	{ "cut", "sample_runtime.so", 5000, "libcudart.so.cut", 0, "is damaged: its tables point outside the file", 0,
	  "" },
	{ "only a header", "sample_runtime.so", 64, "libcuda.so.cut", 0,
	  "is damaged: its tables point outside the file", 0, "" },
	{ "text", "/etc/passwd", 300, "libcuda.so.txt", 0, "is no library of this machine", 0, "" },
	{ "exports nothing of interest", "sample_loader.so", SIZE_MAX, "libcuda.so.other", 0,
	  "exports none of the traced operations", 0, "ld-sample.so.2" },
	{ "is not meant", "sample_one.so", SIZE_MAX, "one.so", 0, NULL, 0, "" },
	{ "a plugin of a library", "sample_one.so", SIZE_MAX, "libcudart-plugin.so", 0, NULL, 0, "" },
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
			CHECK_INT_EQ(files[i].name, library->owner.uid, getuid());
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

static void start_traced(struct subject *subject, const char *const *argv)
{
	subject_start(subject, argv);
	(void)probe_set_target_add(world.probes, (uint32_t)subject->pid, (struct process_wish){});
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
	start_traced(&a, first);
	start_traced(&b, second);
	n_before = world.n_found;
	scan(name, a.pid, 0);
	scan(name, b.pid, 0);
	CHECK_INT_EQ(name, world.n_found - n_before, 1);
	subject_call(&a, 3);
	subject_call(&b, 5);
	CHECK_INT_EQ(name, calls_counted(a.pid, ID_FREE), 3);
	CHECK_INT_EQ(name, calls_counted(a.pid, ID_LAUNCH), 3);
	CHECK_INT_EQ(name, calls_counted(b.pid, ID_FREE), 5);
	CHECK_INT_EQ(name, calls_counted(b.pid, ID_LAUNCH), 5);

	/* Touched: another change time, the same places. Not attached again. */
	if (chmod(path_of("other.so"), 0700) < 0)
		abort();
	scan("touched", a.pid, 0);
	CHECK_INT_EQ("touched", world.n_found - n_before, 1);
	subject_call(&a, 7);
	CHECK_INT_EQ("touched", calls_counted(a.pid, ID_FREE), 10);

	/* Without a name. */
	(void)unlink(path_of("other.so"));
	(void)unlink(path_of("libcudart.so.two"));
	scan("unlinked", a.pid, 0);
	CHECK_INT_EQ("unlinked", world.n_found - n_before, 1);
	subject_call(&a, 1);
	CHECK_INT_EQ("unlinked", calls_counted(a.pid, ID_FREE), 11);
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
	  "was written to while it was read; it is read again" },
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
		CHECK_INT_EQ(name, target_set_scan(world.targets, (uint32_t)subject.pid, 0, target_world_done, NULL),
			     0);
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
	start_traced(&a, first);
	start_traced(&b, second);
	scan("overlay", a.pid, 0);
	scan("overlay", b.pid, 0);
	CHECK_INT_EQ("overlay", world.n_found - n_before, 1);
	subject_call(&a, 3);
	subject_call(&b, 4);
	CHECK_INT_EQ("overlay", calls_counted(a.pid, ID_FREE), 3);
	CHECK_INT_EQ("overlay", calls_counted(b.pid, ID_FREE), 4);

	/* The file below them itself, mapped outside of any container: still one place. */
	start_traced(&host, below);
	scan("below the overlays", host.pid, 0);
	CHECK_INT_EQ("below the overlays", world.n_found - n_before, 1);
	subject_call(&host, 6);
	CHECK_INT_EQ("below the overlays", calls_counted(host.pid, ID_FREE), 6);
	subject_call(&b, 1);
	CHECK_INT_EQ("overlay beside it", calls_counted(b.pid, ID_FREE), 5);
	subject_end(&host);
	subject_end(&a);

	/* Changed in one container: there it is a file of its own now. */
	if (chmod(path_of("merged1/libcudart.so.12"), 0700) < 0)
		abort();
	start_traced(&a, first);
	scan("copied up", a.pid, 0);
	CHECK_INT_EQ("copied up", world.n_found - n_before, 2);
	subject_call(&a, 5);
	subject_call(&b, 1);
	CHECK_INT_EQ("copied up", calls_counted(a.pid, ID_FREE), 5);
	CHECK_INT_EQ("copied up", calls_counted(b.pid, ID_FREE), 6);
	subject_end(&a);
	subject_end(&b);

	/* Changed before anybody looked: the name leads to the copy, and not to what is mapped. */
	subject_start(&a, left_behind);
	if (chmod(left_behind[0], 0700) < 0)
		abort();
	scan("left behind", a.pid, 0);
	CHECK_STR_EQ("left behind", library_find("libcuda.so.1")->reason,
		     "was changed in its container since it was loaded, and cannot be opened; start the program again");
	subject_end(&a);
	subject_start(&a, left_behind);
	scan("started again", a.pid, 0);
	CHECK_STR_EQ("started again", library_find("libcuda.so.1")->reason, "");
	subject_end(&a);
	/* Lazily: probes keep the mount they were attached through. */
	(void)umount2(path_of("merged1"), MNT_DETACH);
	(void)umount2(path_of("merged2"), MNT_DETACH);
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

/* Function names of a library of root count against no user's share. A user without any share left changes nothing. */
static void shares_check(void)
{
	static const struct {
		const char *file;
		uid_t uid;
		mode_t mode;
		uint32_t n_left_out;
	} rows[] = {
		{ "libnccl.so.theirs", 65534, 0755, 2 },
		{ "libnccl.so.group", 0, 0775, 2 },
		{ "libnccl.so.root", 0, 0755, 0 },
		{ "libnccl.so.after", 65534, 0755, 2 },
	};
	char name[OP_NAME_BYTES];
	uint32_t n = 0;

	if (probe_set_back_end(world.probes) == PROBE_BACK_END_PERF)
		return; /* which counts none of them */
	do
		(void)snprintf(name, sizeof(name), "ncclUsed%u", n++);
	while (op_give(name, getuid()));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *path = path_of(rows[i].file);
		const char *const argv[] = { path, NULL };
		const struct target_library *library;
		struct subject subject;

		make("sample_collectives.so", rows[i].file, SIZE_MAX);
		if (chown(path, rows[i].uid, 0) < 0 || chmod(path, rows[i].mode) < 0)
			abort();
		subject_start(&subject, argv);
		scan(rows[i].file, subject.pid, 0);
		library = library_find(rows[i].file);
		CHECK(rows[i].file, library != NULL);
		if (library) {
			CHECK_STR_EQ(rows[i].file, library->reason, "");
			CHECK_INT_EQ(rows[i].file, library->n_left_out, rows[i].n_left_out);
		}
		subject_end(&subject);
	}
}

static void cases(void)
{
	files_check();
	links_check();
	nameless_check();
	rewritten_check();
	between_check();
	overlay_check();
	reader_check();
	shares_check();
}

int main(int argc, char **argv)
{
	return target_world_main(argc, argv, cases);
}
