// SPDX-License-Identifier: Apache-2.0
/*
 * Paths of files that threads wait for: as /proc/PID/fd has them, whatever the file is, and once for each name.
 *
 * A thread of the child waits for the lock of its file, which another thread of it holds and gives up.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "files/file_path.h"
#include "probes/probe_set_state.h"
#include "rig.h"
#include "tests/support/check.h"
#include "waits.h"

#define WAITS 4
#define RACE_WAITS 60
#define DEEP 240
#define TOO_DEEP 300
#define PLACE_BYTES 64

static struct shared {
	char path[FILE_PATH_TEXT_BYTES]; /* as the child's /proc/self/fd says */
	uint32_t is_impossible;
} * shared;

static char place[PLACE_BYTES]; /* a directory of this test's own */

static int fail(void)
{
	shared->is_impossible = 1;
	return -1;
}

static int create(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? fail() : fd;
}

/* ---- files ---- */

static int make_plain(void)
{
	return create("train.bin");
}

static int make_odd_names(void)
{
	if (mkdir("new\nline", 0700) < 0 || chdir("new\nline") < 0)
		return fail();
	return create("\xff\x1b[31m (deleted)");
}

static int make_long_name(void)
{
	char name[FILE_NAME_BYTES];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	return create(name);
}

static int make_below(int n)
{
	for (int i = 0; i < n; i++)
		if (mkdir("d", 0700) < 0 || chdir("d") < 0)
			return fail();
	return create("deep");
}

static int make_deep(void)
{
	return make_below(DEEP);
}

static int make_too_deep(void)
{
	return make_below(TOO_DEEP);
}

static int make_unlinked(void)
{
	int fd = create("gone");

	return unlink("gone") < 0 ? fail() : fd;
}

static int make_renamed(void)
{
	int fd = create("before");

	return rename("before", "after") < 0 ? fail() : fd;
}

static int make_hard_link(void)
{
	int fd = create("first");

	if (link("first", "second") < 0)
		return fail();
	(void)close(fd);
	return create("second");
}

static int make_temporary(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? fail() : fd;
}

static int make_memory(void)
{
	int fd = memfd_create("weights", MFD_CLOEXEC);

	return fd < 0 ? fail() : fd;
}

static int make_bound(void)
{
	if (mkdir("from", 0700) < 0 || mkdir("to", 0700) < 0 || mount("from", "to", NULL, MS_BIND, NULL) < 0)
		return fail();
	return create("to/train.bin");
}

static int make_on_tmpfs(void)
{
	if (mkdir("memory", 0700) < 0 || mount("none", "memory", "tmpfs", 0, NULL) < 0)
		return fail();
	return create("memory/train.bin");
}

static int make_on_overlay(void)
{
	if (mkdir("base", 0700) < 0 || mount("none", "base", "tmpfs", 0, NULL) < 0 || mkdir("base/low", 0700) < 0 ||
	    mkdir("base/up", 0700) < 0 || mkdir("base/work", 0700) < 0 || mkdir("merged", 0700) < 0)
		return fail();
	(void)close(create("base/low/train.bin"));
	if (mount("none", "merged", "overlay", 0, "lowerdir=base/low,upperdir=base/up,workdir=base/work") < 0)
		return fail();
	return create("merged/train.bin");
}

static int make_in_root(void)
{
	if (mkdir("root", 0700) < 0 || mkdir("root/data", 0700) < 0)
		return fail();
	return create("root/data/train.bin");
}

static int make_beside_root(void)
{
	return mkdir("root", 0700) < 0 ? fail() : create("train.bin");
}

static int make_directory(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? fail() : fd;
}

static const struct scenario {
	const char *name;
	int (*make)(void);
	const char *root;   /* where the process changes its root then; NULL: nowhere */
	const char *inside; /* its path then */
	bool is_cut;
} scenarios[] = {
	{ "a file", make_plain, NULL, NULL, false },
	{ "odd names", make_odd_names, NULL, NULL, false },
	{ "a long name", make_long_name, NULL, NULL, false },
	{ "deep", make_deep, NULL, NULL, false },
	{ "too deep", make_too_deep, NULL, NULL, true },
	{ "unlinked", make_unlinked, NULL, NULL, false },
	{ "renamed", make_renamed, NULL, NULL, false },
	{ "a hard link", make_hard_link, NULL, NULL, false },
	{ "a file without a name", make_temporary, NULL, NULL, false },
	{ "memory", make_memory, NULL, NULL, false },
	{ "a bind mount", make_bound, NULL, NULL, false },
	{ "tmpfs", make_on_tmpfs, NULL, NULL, false },
	{ "overlay", make_on_overlay, NULL, NULL, false },
	{ "another root", make_in_root, "root", "/data/train.bin", false },
	{ "outside of its root", make_beside_root, "root", NULL, false },
	{ "a directory", make_directory, NULL, NULL, false },
};

/* ---- who waits, and who holds the lock ---- */

static int go[2], done[2], held_fd;

/* A byte each time: first it takes the lock, then it gives it up. */
static void *hold(void *data)
{
	char byte;

	(void)data;
	while (read(go[0], &byte, 1) == 1) {
		if (flock(held_fd, LOCK_EX) < 0 || write(done[1], "", 1) != 1)
			break;
		wait_sleep();
		(void)flock(held_fd, LOCK_UN);
	}
	return NULL;
}

static int reopen(int fd)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, O_RDONLY | O_CLOEXEC);
}

static int wait_once(int fd)
{
	char byte;

	(void)subject_empty();
	if (write(go[1], "", 1) != 1 || read(done[0], &byte, 1) != 1 || flock(fd, LOCK_EX) < 0)
		return -1;
	(void)flock(fd, LOCK_UN);
	(void)subject_empty();
	return 0;
}

static int waits_begin(int fd, pthread_t *ret_thread)
{
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(done, O_CLOEXEC) < 0)
		return -1;
	held_fd = reopen(fd);
	return held_fd < 0 || pthread_create(ret_thread, NULL, hold, NULL) ? -1 : 0;
}

static int waits_end(pthread_t thread)
{
	(void)close(go[1]);
	return pthread_join(thread, NULL) ? 1 : 0;
}

static int place_enter(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return fail();
	return chdir(place) < 0 ? fail() : 0;
}

static int run(void *data)
{
	const struct scenario *s = data;
	char link[64];
	pthread_t thread;
	ssize_t n;
	int fd;

	if (place_enter() < 0)
		return 0;
	fd = s->make();
	if (fd < 0)
		return 0;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, shared->path, sizeof(shared->path) - 1);
	if (waits_begin(fd, &thread) < 0)
		return 1;
	if (s->root && chroot(s->root) < 0)
		return 1;
	if (s->inside)
		(void)snprintf(shared->path, sizeof(shared->path), "%s", s->inside);
	else if (n < 0 && !s->is_cut)
		return 1;
	for (int i = 0; i < WAITS; i++)
		if (wait_once(fd) < 0)
			return 1;
	return waits_end(thread);
}

/* ---- what was sent ---- */

struct sent {
	uint32_t tgid;
	unsigned int n, n_wrong;
	uint32_t flags;
	char path[FILE_PATH_TEXT_BYTES];
	bool (*is_right)(const char *path);
};

static int on_record(void *context, void *data, size_t bytes)
{
	const struct file_record *record = data;
	struct sent *sent = context;

	if (bytes < FILE_RECORD_HEAD || record->type != RECORD_FILE || record->tgid != sent->tgid)
		return 0;
	sent->n++;
	sent->flags = record->path_flags;
	file_path_format(record, sent->path);
	if (sent->is_right && !sent->is_right(sent->path)) {
		fprintf(stderr, "sent: %s\n", sent->path);
		sent->n_wrong++;
	}
	return 0;
}

static struct sent sent_take(const struct rig *rig, pid_t pid, bool (*is_right)(const char *path))
{
	struct sent sent = { .tgid = (uint32_t)pid, .is_right = is_right };
	struct ring_buffer *ring = ring_buffer__new(probe_set_calls_fd(rig->set), on_record, &sent, NULL);

	CHECK("ring", ring != NULL);
	if (ring)
		(void)ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return sent;
}

static void place_make(void)
{
	(void)snprintf(place, sizeof(place), "%s", "paths.XXXXXX");
	CHECK("a directory", mkdtemp(place) != NULL);
}

static void place_remove(void)
{
	char command[PLACE_BYTES + 16];

	(void)snprintf(command, sizeof(command), "rm -rf %s", place);
	CHECK_INT_EQ("removed", system(command), 0);
}

static void check_scenario(struct rig *rig, const struct scenario *s)
{
	uint64_t lost = rig_loss(rig, LOSS_PATHS);
	struct sent sent;
	pid_t pid;

	*shared = (struct shared){ .is_impossible = 0 };
	place_make();
	CHECK_INT_EQ(s->name, rig_child(rig, run, (void *)(uintptr_t)s, &pid), 0);
	sent = sent_take(rig, pid, NULL);
	place_remove();
	if (shared->is_impossible) {
		fprintf(stderr, "[%s] cannot be made here\n", s->name);
		return;
	}
	CHECK_INT_EQ(s->name, sent.n, 1);
	CHECK_INT_EQ(s->name, (sent.flags & FILE_CUT) != 0, s->is_cut);
	if (s->is_cut)
		CHECK(s->name, strncmp(sent.path, ".../d/d/", 8) == 0 && strcmp(strrchr(sent.path, '/'), "/deep") == 0);
	else
		CHECK_STR_EQ(s->name, sent.path, shared->path);
	CHECK_INT_EQ(s->name, rig_loss(rig, LOSS_PATHS), lost);
}

/* ---- a file that gets other names all the while ---- */

static const char *const race_names[] = { "one", "two", "sub/one", "sub/deeper/three" };
static int race_is_over;

static void *rename_always(void *data)
{
	size_t at = 0;

	while (!__atomic_load_n(&race_is_over, __ATOMIC_RELAXED)) {
		size_t next = (at + 1) % ARRAY_SIZE(race_names);

		if (rename(race_names[at], race_names[next]) == 0)
			at = next;
	}
	return data;
}

static int race(void *data)
{
	pthread_t holder, renamer;
	int fd, r = 0;

	(void)data;
	if (place_enter() < 0 || mkdir("sub", 0700) < 0 || mkdir("sub/deeper", 0700) < 0)
		return 1;
	fd = create(race_names[0]);
	if (fd < 0 || waits_begin(fd, &holder) < 0 || pthread_create(&renamer, NULL, rename_always, NULL))
		return 1;
	for (int i = 0; i < RACE_WAITS && r == 0; i++)
		r = wait_once(fd);
	__atomic_store_n(&race_is_over, 1, __ATOMIC_RELAXED);
	(void)pthread_join(renamer, NULL);
	return r < 0 ? 1 : waits_end(holder);
}

static bool is_a_race_name(const char *path)
{
	const char *name = strstr(path, place);

	for (size_t i = 0; name && i < ARRAY_SIZE(race_names); i++)
		if (strcmp(name + strlen(place) + 1, race_names[i]) == 0)
			return true;
	return false;
}

static void check_race(struct rig *rig)
{
	uint64_t lost = rig_loss(rig, LOSS_PATHS);
	struct sent sent;
	pid_t pid;

	place_make();
	CHECK_INT_EQ("race", rig_child(rig, race, NULL, &pid), 0);
	sent = sent_take(rig, pid, is_a_race_name);
	place_remove();
	CHECK_INT_EQ("paths that the file never had", sent.n_wrong, 0);
	CHECK_INT_IN("sent, or counted as not read", sent.n + rig_loss(rig, LOSS_PATHS) - lost, 1, RACE_WAITS);
}

/* ---- a directory above it gets another name ---- */

static const struct rig *the_rig;

#define AGED_MOST 64

/*
 * As if all paths had been sent long ago. The keys are read first: a map that changes meanwhile may show one again.
 * Return: number of paths
 */
static int sent_age(void)
{
	int fd = bpf_map__fd(the_rig->set->bpf->maps.files_sent), n = 0;
	struct file_key keys[AGED_MOST];
	uint32_t second;

	while (n < AGED_MOST && bpf_map_get_next_key(fd, n ? &keys[n - 1] : NULL, &keys[n]) == 0)
		n++;
	for (int i = 0; i < n; i++) {
		if (bpf_map_lookup_elem(fd, &keys[i], &second) < 0)
			continue;
		second -= 3600;
		if (bpf_map_update_elem(fd, &keys[i], &second, 0) < 0)
			return 0;
	}
	return n;
}

static int move_above(void *data)
{
	pthread_t holder;
	int fd;

	(void)data;
	if (place_enter() < 0 || mkdir("before", 0700) < 0)
		return 1;
	fd = create("before/train.bin");
	if (fd < 0 || waits_begin(fd, &holder) < 0 || wait_once(fd) < 0)
		return 1;
	if (rename("before", "after") < 0 || wait_once(fd) < 0 || !sent_age() || wait_once(fd) < 0)
		return 1;
	return waits_end(holder);
}

static void check_moved(struct rig *rig)
{
	char path[PLACE_BYTES + 32];
	struct sent sent;
	const char *end;
	pid_t pid;

	place_make();
	CHECK_INT_EQ("moved", rig_child(rig, move_above, NULL, &pid), 0);
	sent = sent_take(rig, pid, NULL);
	place_remove();
	(void)snprintf(path, sizeof(path), "%s/after/train.bin", place);
	end = strstr(sent.path, place);
	CHECK_INT_EQ("once, and again when that is long ago", sent.n, 2);
	CHECK_STR_EQ("as it is now", end ? end : sent.path, path);
}

/* ---- a file that gets another long path for each wait ---- */

#define FLOOD_WAITS 400
#define FLOOD_DEPTH 15 /* of names as long as can be: nearly FILE_PATH_BYTES */
#define FLOOD_BYTES (FLOOD_DEPTH * (FILE_NAME_BYTES - 2))

static int flood(void *data)
{
	char name[FILE_NAME_BYTES], next[FILE_NAME_BYTES];
	pthread_t holder;
	int fd, r = 0;

	(void)data;
	memset(name, 'd', sizeof(name));
	name[sizeof(name) - 2] = '\0';
	if (place_enter() < 0)
		return 1;
	for (int i = 0; i < FLOOD_DEPTH; i++)
		if (mkdir(name, 0700) < 0 || chdir(name) < 0)
			return 1;
	(void)strcpy(name, "0");
	fd = create(name);
	if (fd < 0 || waits_begin(fd, &holder) < 0)
		return 1;
	for (int i = 1; i <= FLOOD_WAITS && r == 0; i++) {
		r = wait_once(fd);
		(void)snprintf(next, sizeof(next), "%d", i);
		if (rename(name, next) < 0)
			return 1;
		(void)strcpy(name, next);
	}
	return r < 0 ? 1 : waits_end(holder);
}

static void check_flood(struct rig *rig)
{
	uint64_t own[LOSS_COUNT] = { 0 }, before[LOSS_COUNT] = { 0 }, all[LOSS_COUNT], began, seconds;
	struct sent sent;
	pid_t pid;

	(void)sent_take(rig, 0, NULL); /* an empty ring */
	probe_set_user_losses(rig->set, 0, before);
	place_make();
	began = rig_now_ns();
	CHECK_INT_EQ("flood", rig_child(rig, flood, NULL, &pid), 0);
	seconds = (rig_now_ns() - began) / NSEC_PER_SEC + 2; /* that it was in, at most */
	sent = sent_take(rig, pid, NULL);
	place_remove();
	probe_set_user_losses(rig->set, 0, own);
	probe_set_losses(rig->set, all);
	CHECK_INT_IN("no more than one user may send", (uint64_t)sent.n * FLOOD_BYTES, FLOOD_BYTES,
		     seconds * (FILE_BYTES_PER_S + FILE_PATH_BYTES));
	CHECK_INT_EQ("the rest is the user's own loss", own[LOSS_PATHS] - before[LOSS_PATHS], FLOOD_WAITS - sent.n);
	CHECK_INT_EQ("nobody else's", all[LOSS_PATHS], 0);
}

int main(int argc, char **argv)
{
	struct rig rig;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		CHECK_SKIP("no memory");
	rig_open(&rig, rig_back_end(argc, argv), 0);
	if (!probe_set_measures(rig.set, BLAME_RUNNABLE))
		CHECK_SKIP("this kernel does not tell of task switches");
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		check_scenario(&rig, &scenarios[i]);
	check_race(&rig);
	the_rig = &rig;
	check_moved(&rig);
	check_flood(&rig);
	rig_close(&rig);
	return check_result();
}
