// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero io` in the kernel: each call of bpf/io_calls.def is made, and every field compared, also of those that fail;
 * sums of many threads are exact; no path is wrong while names and descriptors change.
 *
 *   bpf_io calls | exact | storm [PATHS]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "files/file_path.h"
#include "io/io_calls.h"
#include "io_rig.h"
#include "tests/support/check.h"

#define MADE_MOST 512
#define PATH_BYTES 256
#define THREADS 32
#define ROUNDS 20000
#define STORM_FILES 8
#define STORM_PATHS 20000

/* A call that the child made. */
struct made {
	uint32_t call;
	int32_t fd;
	int64_t ret;
	char path[PATH_BYTES]; /* "": none */
};

static struct shared {
	uint32_t n;
	uint32_t stop;
	struct made made[MADE_MOST];
} * shared;

static const int numbers[IO_CALL_COUNT] = {
#if defined(__aarch64__)
#define IO_CALL(name, x86, arm64, ...) [IO_CALL_##name] = arm64,
#define IO_CALL_X86(name, ...) [IO_CALL_##name] = -1,
#else
#define IO_CALL(name, x86, ...) [IO_CALL_##name] = x86,
#endif
#include "bpf/io_calls.def"
};

static const struct row {
	uint8_t object, fd, path, bytes;
} rows[IO_CALL_COUNT] = {
#define IO_CALL(name, x86, arm64, object, fd, path, bytes) [IO_CALL_##name] = { object, fd, path, bytes },
#include "bpf/io_calls.def"
};

/* ---- the child ---- */

static const char *place = ""; /* the child's working directory */

/* What a call that names a path is told with: the path as it was passed, behind the directory that it begins at. */
static void name_expect(struct made *m, const long a[6])
{
	const struct row *row = &rows[m->call];
	const char *text = row->path < IO_NO_ARGUMENT ? (const char *)a[row->path] : NULL;

	if (!text || a[row->path] == -1 || (row->object == IO_OPENED && m->ret >= 0))
		return;
	if (*text == '/')
		(void)snprintf(m->path, sizeof(m->path), "%s", text);
	else if (*text)
		(void)snprintf(m->path, sizeof(m->path), "%s/%s", place, text);
}

static int64_t call_make(uint32_t call, const long a[6])
{
	struct made *m = &shared->made[shared->n];
	long r = syscall(numbers[call], a[0], a[1], a[2], a[3], a[4], a[5]);

	m->call = call;
	m->ret = r < 0 && r == -1 ? -errno : r;
	m->fd = -1;
	if (rows[call].object == IO_FILE)
		m->fd = (int32_t)a[rows[call].fd];
	else if (rows[call].object == IO_OPENED && m->ret >= 0)
		m->fd = (int32_t)m->ret;
	name_expect(m, a);
	shared->n++;
	return m->ret;
}

#define MAKE(name, ...) call_make(IO_CALL_##name, (const long[6]){ __VA_ARGS__ })
#define TEXT(text) (long)(text)

/* The path of the last call's file: what /proc says of a descriptor, by a call that is reported, too. */
static void path_expect(int fd)
{
	struct made *m = &shared->made[shared->n - 1];
	char link[64], path[PATH_BYTES];
	int64_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = MAKE(readlinkat, AT_FDCWD, TEXT(link), TEXT(path), sizeof(path) - 1);
	(void)snprintf(m->path, sizeof(m->path), "%.*s", (int)(n > 0 ? n : 0), path);
}

static int64_t call_on(uint32_t call, int fd, const long a[6])
{
	int64_t r = call_make(call, a);

	path_expect(fd);
	return r;
}

#define ON(name, at, ...) call_on(IO_CALL_##name, at, (const long[6]){ __VA_ARGS__ })

/* Every call with arguments that it refuses. */
static void refused_make(void)
{
	static const long none[6] = { -1, -1, -1, -1, -1, -1 };

	for (uint32_t call = 1; call < IO_CALL_COUNT; call++)
		if (numbers[call] >= 0)
			(void)call_make(call, none);
}

static void bytes_make(int fd)
{
	char buffer[4096] = "";
	struct iovec vectors[2] = { { buffer, 100 }, { buffer + 100, 200 } };
	long v = TEXT(vectors);

	ON(write, fd, fd, TEXT(buffer), 1000);
	ON(pwrite64, fd, fd, TEXT(buffer), 4096, 1000);
	ON(writev, fd, fd, v, 2);
	ON(pwritev, fd, fd, v, 2, 50);
	ON(pwritev2, fd, fd, v, 2, 50, 0, 0);
	ON(lseek, fd, fd, 10, SEEK_SET);
	ON(read, fd, fd, TEXT(buffer), 1000);
	ON(pread64, fd, fd, TEXT(buffer), 4096, 1000);
	ON(pread64, fd, fd, TEXT(buffer), 4096, 1 << 20); /* the end: 0 bytes */
	ON(pread64, fd, fd, -1, 4096, 0);
	ON(readv, fd, fd, v, 2);
	ON(preadv, fd, fd, v, 2, 50);
	ON(preadv2, fd, fd, v, 2, 50, 0, 0);
}

static void file_make(int fd)
{
	struct stat st;
	int64_t map;

	ON(fsync, fd, fd);
	ON(fdatasync, fd, fd);
	ON(syncfs, fd, fd);
	ON(sync_file_range, fd, fd, 0, 100, 0);
	ON(ftruncate, fd, fd, 9000);
	ON(fallocate, fd, fd, 0, 0, 10000);
	ON(fadvise64, fd, fd, 0, 100, 0);
	ON(readahead, fd, fd, 0, 100);
	ON(newfstat, fd, fd, TEXT(&st));
	ON(fchmod, fd, fd, 0600);
	ON(fchown, fd, fd, -1, -1);
	ON(flock, fd, fd, 2);
	ON(fcntl, fd, fd, F_GETFL);
	ON(ioctl, fd, fd, 0x5401, TEXT(&st));
	ON(dup3, fd, fd, 90, O_CLOEXEC);
	ON(close, fd, 90);
	map = ON(mmap, fd, 0, 4096, PROT_READ, MAP_SHARED, fd, 0);
	MAKE(msync, map, 4096, MS_SYNC);
	MAKE(munmap, map, 4096);
}

static void moves_make(int from, int to)
{
	int fds[2] = { -1, -1 }, more[2] = { -1, -1 };

	MAKE(pipe2, TEXT(fds), 0);
	MAKE(pipe2, TEXT(more), O_CLOEXEC);
	ON(sendfile64, from, to, from, 0, 500);
	ON(copy_file_range, from, from, 0, to, 0, 100, 0);
	ON(splice, from, from, 0, fds[1], 0, 300, 0);
	ON(tee, fds[0], fds[0], more[1], 200, 0);
	ON(splice, fds[0], fds[0], 0, to, 0, 300, 0);
	ON(read, more[0], more[0], TEXT(fds), 4);
}

/* Two paths that a hash without a key does not tell apart: what one bit of a word changes, two of the next take back.
 */
static void alike_make(void)
{
	char path[] = "/absent.one/of/two/names", buffer[1024];

	MAKE(newfstatat, AT_FDCWD, TEXT(path), TEXT(buffer), 0);
	path[7] = (char)(path[7] ^ 0x80);
	path[12] = (char)(path[12] ^ 0x04);
	path[15] = (char)(path[15] ^ 0x80);
	MAKE(newfstatat, AT_FDCWD, TEXT(path), TEXT(buffer), 0);
}

static void opened_make(const char *directory)
{
	struct open_how how = { .flags = O_RDONLY };
	char buffer[1024];
	int64_t fd;

	fd = MAKE(openat, AT_FDCWD, TEXT("data"), O_RDWR | O_CREAT, 0600);
	path_expect((int)fd);
	bytes_make((int)fd);
	file_make((int)fd);
	(void)snprintf(buffer, sizeof(buffer), "%s/other", directory);
	fd = MAKE(openat, AT_FDCWD, TEXT(buffer), O_RDWR | O_CREAT, 0600);
	path_expect((int)fd);
	moves_make((int)fd - 1, (int)fd);
	fd = MAKE(openat2, AT_FDCWD, TEXT("data"), TEXT(&how), sizeof(how));
	path_expect((int)fd);
	fd = MAKE(openat, AT_FDCWD, TEXT("."), O_RDONLY | O_DIRECTORY);
	path_expect((int)fd);
	ON(getdents64, (int)fd, fd, TEXT(buffer), sizeof(buffer));
	MAKE(openat, fd, TEXT("absent"), O_RDONLY);
	MAKE(openat, AT_FDCWD, TEXT("/absent/too"), O_RDONLY);
	MAKE(newfstatat, fd, TEXT("data"), TEXT(buffer), 0);
	MAKE(newfstatat, AT_FDCWD, TEXT("da/../data"), TEXT(buffer), 0);
	ON(newfstatat, (int)fd, fd, TEXT(""), TEXT(buffer), AT_EMPTY_PATH);
	MAKE(mkdirat, AT_FDCWD, TEXT("sub"), 0700);
	MAKE(symlinkat, TEXT("text"), AT_FDCWD, TEXT("link"));
	MAKE(unlinkat, fd, TEXT("link"), 0);
	MAKE(chdir, TEXT("sub"));
	MAKE(chdir, TEXT(".."));
	shared->made[shared->n - 1].path[0] = '\0'; /* it begins in the other directory */
	MAKE(unlinkat, AT_FDCWD, TEXT("sub"), AT_REMOVEDIR);
	fd = MAKE(memfd_create, TEXT("memory"), 0);
	path_expect((int)fd);
	ON(write, (int)fd, fd, TEXT("x"), 1);
	MAKE(unlinkat, AT_FDCWD, TEXT("other"), 0);
	MAKE(renameat2, AT_FDCWD, TEXT("data"), AT_FDCWD, TEXT("renamed"), 0);
}

static void calls_child(const char *directory)
{
	place = directory;
	refused_make();
	alike_make();
	opened_make(directory);
}

/* ---- processes under trace ---- */

/* Starts a child that waits for a byte, and traces it. */
static pid_t child_begin(struct io_rig *rig, struct io_lease lease, int *ret_go)
{
	int go[2];
	pid_t pid;

	CHECK_INT_EQ("a pipe", pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		(void)close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		*ret_go = -1;
		return 0;
	}
	(void)close(go[0]);
	*ret_go = go[1];
	lease.uid = getuid();
	lease.flags |= IO_LEASE_READ;
	io_rig_trace(rig, pid, lease);
	return pid;
}

static void child_go(int go)
{
	CHECK_INT_EQ("the child starts", write(go, "x", 1), 1);
	(void)close(go);
}

static void child_end(pid_t pid)
{
	int status = -1;

	(void)waitpid(pid, &status, 0);
	CHECK_INT_EQ("the child ends well", status, 0);
}

/* ---- every call ---- */

static void call_check(const struct io_rig *rig, const struct made *m, const struct io_call_record *c)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s = %" PRId64, io_call_name(m->call), m->ret);
	CHECK_STR_EQ(name, io_call_name(c->call), io_call_name(m->call));
	CHECK_INT_EQ(name, c->ret, m->ret);
	CHECK_INT_EQ(name, c->fd, m->fd);
	if (*m->path)
		CHECK_STR_EQ(name, io_rig_path(rig, c->file), m->path);
	else if (m->fd < 0 && rows[m->call].path == IO_NO_ARGUMENT)
		CHECK_INT_EQ(name, c->file, 0);
	CHECK(name, c->duration_ns < 10 * NSEC_PER_SEC);
}

/* The sums are those of the single calls. */
static void sums_check(const struct io_rig *rig)
{
	for (size_t i = 0; i < rig->book.rows.n; i++) {
		const struct io_row *row = &rig->book.rows.items[i];
		struct io_sums want = { .count = 0 };

		for (size_t k = 0; k < rig->calls.n; k++) {
			const struct io_call_record *c = &rig->calls.items[k];

			if (c->call != row->call || c->file != row->file || c->process != row->process)
				continue;
			want.count++;
			want.errors += c->ret < 0;
			want.bytes += c->ret > 0 && rows[c->call].bytes != IO_NO_BYTES ? (uint64_t)c->ret : 0;
			want.total_ns += c->duration_ns;
			want.gap_ns += c->gap_ns;
			want.max_ns = MAX(want.max_ns, c->duration_ns);
		}
		CHECK_INT_EQ(io_call_name(row->call), row->sums.count, want.count);
		CHECK_INT_EQ(io_call_name(row->call), row->sums.errors, want.errors);
		CHECK_INT_EQ(io_call_name(row->call), row->sums.bytes, want.bytes);
		CHECK_INT_EQ(io_call_name(row->call), row->sums.total_ns, want.total_ns);
		CHECK_INT_EQ(io_call_name(row->call), row->sums.gap_ns, want.gap_ns);
		CHECK_INT_EQ(io_call_name(row->call), row->sums.max_ns, want.max_ns);
	}
}

static void test_calls(void)
{
	char directory[] = P_tmpdir "/bpf_io.XXXXXX";
	struct io_rig rig;
	pid_t pid;
	int go;

	CHECK("a directory", mkdtemp(directory));
	CHECK_INT_EQ("its own", chdir(directory), 0);
	io_rig_open(&rig);
	pid = child_begin(&rig, (struct io_lease){ .flags = IO_LEASE_EVENTS }, &go);
	if (pid == 0) {
		calls_child(directory);
		_exit(0);
	}
	child_go(go);
	child_end(pid);
	io_rig_read(&rig);
	/* Before them are a close and the read that the child waited in, if they began after the trace. */
	CHECK_INT_IN("as many", rig.calls.n, shared->n, shared->n + 2);
	for (uint32_t i = 0; i < shared->n && rig.calls.n >= shared->n; i++)
		call_check(&rig, &shared->made[i], &rig.calls.items[rig.calls.n - shared->n + i]);
	sums_check(&rig);
	for (enum io_loss i = 0; i < IO_LOSS_COUNT; i++)
		CHECK_INT_EQ("nothing is lost", io_set_lost(rig.set, i), 0);
	io_rig_close(&rig);
	(void)unlink("renamed");
	(void)!chdir("/");
	(void)rmdir(directory);
}

/* ---- many threads ---- */

static int exact_fd;

static void *exact_run(void *data)
{
	char buffer[16];

	(void)data;
	for (int i = 0; i < ROUNDS; i++) {
		if (pread(exact_fd, buffer, 8, 0) != 8 || close(-1) != -1)
			_exit(3);
	}
	return NULL;
}

static void exact_child(void)
{
	pthread_t threads[THREADS];

	exact_fd = memfd_create("exact", 0);
	if (write(exact_fd, "12345678", 8) != 8)
		_exit(3);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, exact_run, NULL))
			_exit(4);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

static struct io_sums sum_of(const struct io_rig *rig, uint32_t call)
{
	struct io_sums sums = { .count = 0 };

	for (size_t i = 0; i < rig->book.rows.n; i++)
		if (rig->book.rows.items[i].call == call)
			(void)io_sums_merge(&sums, &rig->book.rows.items[i].sums);
	return sums;
}

static void test_exact(void)
{
	struct io_rig rig;
	struct io_sums reads, closes;
	pid_t pid, ended = 0;
	int go, status = -1;

	io_rig_open(&rig);
	pid = child_begin(&rig, (struct io_lease){ .flags = 0 }, &go);
	if (pid == 0) {
		exact_child();
		_exit(0);
	}
	child_go(go);
	while (!ended) { /* readings while the calls are made */
		io_rig_read(&rig);
		ended = waitpid(pid, &status, WNOHANG);
	}
	CHECK_INT_EQ("the child ends well", status, 0);
	io_rig_read(&rig);
	io_rig_read(&rig);
	reads = sum_of(&rig, IO_CALL_pread64);
	closes = sum_of(&rig, IO_CALL_close);
	CHECK_INT_EQ("calls", reads.count, THREADS * ROUNDS);
	CHECK_INT_EQ("bytes", reads.bytes, 8 * THREADS * ROUNDS);
	CHECK_INT_EQ("histogram", reads.histogram.sum, THREADS * ROUNDS);
	CHECK_INT_EQ("no errors", reads.errors, 0);
	CHECK_INT_EQ("failed calls", closes.errors, THREADS * ROUNDS);
	io_sums_done(&reads);
	io_sums_done(&closes);
	for (enum io_loss i = 0; i < IO_LOSS_COUNT; i++)
		CHECK_INT_EQ("nothing is lost", io_set_lost(rig.set, i), 0);
	io_rig_close(&rig);
}

/* ---- names that change ---- */

static uint64_t storm_inodes[STORM_FILES];

/* Reads through descriptors while another thread puts other files behind them. */
static void *storm_read(void *data)
{
	char byte;

	(void)data;
	for (unsigned int i = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++)
		(void)!pread(100 + (int)(i % STORM_FILES), &byte, 1, 0);
	return NULL;
}

static void *storm_descriptors(void *data)
{
	(void)data;
	for (unsigned int i = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++) {
		unsigned int at = i % STORM_FILES;

		(void)dup2(200 + (int)((i * 7 + 1) % STORM_FILES), 100 + (int)at);
		if (i % 16 == 0)
			(void)close(100 + (int)at);
	}
	return NULL;
}

/* File K is always named f<K>.<anything>, in one of two directories, which are renamed, too; some names are removed. */
static void storm_names(void)
{
	for (unsigned int i = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++) {
		unsigned int file = i % STORM_FILES, turn = i / STORM_FILES;
		char from[64], to[64];

		(void)snprintf(from, sizeof(from), "%c/f%u.%u", "ab"[turn % 2], file, turn);
		(void)snprintf(to, sizeof(to), "%c/f%u.%u", "ab"[(turn + 1) % 2], file, turn + 1);
		if (turn % 8 == 3) {
			int fd = -1;

			if (link(from, to) == 0)
				fd = open(to, O_RDONLY | O_CLOEXEC);
			(void)unlink(from);
			if (fd >= 0 && dup2(fd, 200 + (int)file) >= 0)
				(void)close(fd);
		} else {
			(void)rename(from, to);
		}
		if (i % 64 == 0) {
			(void)rename("a", "c");
			(void)rename("c", "a");
		}
	}
}

static void storm_child(void)
{
	pthread_t reader, changer;

	(void)mkdir("a", 0700);
	(void)mkdir("b", 0700);
	for (int i = 0; i < STORM_FILES; i++) {
		char name[64];
		int fd;

		(void)snprintf(name, sizeof(name), "a/f%d.0", i);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || dup2(fd, 100 + i) < 0 || dup2(fd, 200 + i) < 0)
			_exit(3);
	}
	if (pthread_create(&reader, NULL, storm_read, NULL) || pthread_create(&changer, NULL, storm_descriptors, NULL))
		_exit(4);
	storm_names();
	(void)pthread_join(reader, NULL);
	(void)pthread_join(changer, NULL);
}

struct storm {
	char directory[64];
	uint64_t n, wrong;
};

static unsigned int storm_number(uint64_t inode)
{
	for (unsigned int i = 0; i < STORM_FILES; i++)
		if (storm_inodes[i] == inode)
			return i;
	return STORM_FILES;
}

/* The first path of an inode tells its number: all others have the same. */
static void storm_look(const struct file_record *file, void *data)
{
	struct storm *storm = data;
	char path[FILE_PATH_TEXT_BYTES], where[FILE_PATH_TEXT_BYTES];
	unsigned int number, turn, want;
	char directory = 0;
	int end = 0;

	file_path_format(file, path);
	(void)snprintf(where, sizeof(where), "%s/%%c/f%%u.%%u%%n", storm->directory);
	if (strncmp(path, storm->directory, strlen(storm->directory)) != 0 || strcmp(path, storm->directory) == 0)
		return; /* not of the storm */
	storm->n++;
	if (sscanf(path + strlen(storm->directory), "/%c/f%u.%u%n", &directory, &number, &turn, &end) != 3 ||
	    number >= STORM_FILES || !strchr("abc", directory)) {
		storm->wrong++;
		fprintf(stderr, "wrong: %s\n", path);
		return;
	}
	want = storm_number(file->key.inode);
	if (want == STORM_FILES && !storm_inodes[number])
		storm_inodes[number] = file->key.inode;
	else if (want != number) {
		storm->wrong++;
		fprintf(stderr, "wrong: %s is file %u\n", path, want);
	}
}

static void test_storm(uint64_t paths)
{
	struct storm storm = { .directory = P_tmpdir "/bpf_io.XXXXXX" };
	char command[128];
	struct io_rig rig;
	pid_t pid;
	int go;

	CHECK("a directory", mkdtemp(storm.directory));
	CHECK_INT_EQ("its own", chdir(storm.directory), 0);
	io_rig_open(&rig);
	rig.on_file = storm_look;
	rig.data = &storm;
	pid = child_begin(&rig, (struct io_lease){ .calls = { 1ull << IO_CALL_pread64 } }, &go);
	if (pid == 0) {
		storm_child();
		_exit(0);
	}
	child_go(go);
	while (storm.n < paths && waitpid(pid, NULL, WNOHANG) == 0) {
		io_rig_records(&rig);
		(void)sched_yield();
	}
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	child_end(pid);
	printf("%" PRIu64 " paths, %" PRIu64 " discarded\n", storm.n, io_set_lost(rig.set, IO_LOSS_PATHS));
	CHECK("enough paths", storm.n >= paths);
	CHECK_INT_EQ("wrong paths", storm.wrong, 0);
	io_rig_close(&rig);
	(void)!chdir("/");
	(void)snprintf(command, sizeof(command), "rm -r %s", storm.directory);
	(void)!system(command);
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	if (strcmp(which, "calls") == 0)
		test_calls();
	else if (strcmp(which, "exact") == 0)
		test_exact();
	else if (strcmp(which, "storm") == 0)
		test_storm(argc > 2 ? strtoull(argv[2], NULL, 10) : STORM_PATHS);
	return check_result();
}
