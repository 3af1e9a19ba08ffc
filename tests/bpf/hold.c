// SPDX-License-Identifier: Apache-2.0
/* Programs that load a library: told of, and stopped for it where their user may let them go on. */
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grace.h"
#include "rig.h"
#include "tests/support/check.h"

#define USER 65534
#define STATUS_UNCHANGED 98 /* it could not become what its row says */

/* Of one row: what the kernel half told of its child. */
struct told {
	struct probe_set *set;
	pid_t pid;
	unsigned int n_libraries, n_held;
	bool has_base;
};

static char library_path[128];

static int on_life(void *context, void *data, size_t bytes)
{
	const struct life_record *life = data;
	struct told *told = context;

	probe_set_life_taken(told->set, life);
	if (bytes != sizeof(*life) || life->type != RECORD_LIBRARY || life->tgid != (uint32_t)told->pid)
		return 0;
	told->n_libraries++;
	told->has_base = life->library.base != 0;
	told->n_held += life->library.is_held;
	return 0;
}

/* ---- what a process can be; each as root, and in the child ---- */

static int stay_root(void)
{
	return 0;
}

static int root_hide(void)
{
	return prctl(PR_SET_DUMPABLE, 0);
}

static int be_user_hidden(void) /* as whoever was root remains */
{
	return setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER);
}

static int be_user(void)
{
	return be_user_hidden() || prctl(PR_SET_DUMPABLE, 1);
}

static int be_other(void)
{
	return setresuid(USER - 1, USER - 1, USER - 1) || prctl(PR_SET_DUMPABLE, 1);
}

static int keep_saved_uid(void)
{
	return setresuid(USER, USER, 0) || prctl(PR_SET_DUMPABLE, 1);
}

static int keep_real_uid(void) /* a set-user-ID program */
{
	return setresuid(USER, 0, 0) || prctl(PR_SET_DUMPABLE, 1);
}

static int keep_capabilities(void)
{
	return prctl(PR_SET_KEEPCAPS, 1) || be_user();
}

static int own_namespace(void)
{
	return be_user() || unshare(CLONE_NEWUSER);
}

static int others_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

/* ---- who is to let it go on; in the guardian, as root ---- */

static int be_no_subreaper(uid_t uid)
{
	return setresuid(uid, uid, uid) || prctl(PR_SET_PDEATHSIG, SIGCONT);
}

static int be_guardian(uid_t uid)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1) || be_no_subreaper(uid);
}

static int be_others(uid_t uid)
{
	return be_guardian(uid + 1);
}

static int be_given_up(uid_t uid)
{
	return be_guardian(uid) || prctl(PR_SET_PDEATHSIG, 0);
}

enum named { ITSELF, NOBODY, SOMEBODY_ELSE };

static const struct row {
	const char *name;
	int (*become)(void);
	uid_t of; /* whose wish it is */
	bool is_held;
	int (*guard)(uid_t uid);  /* NULL: be_guardian() */
	int (*second)(uid_t uid); /* the same of the guardian's parent */
	enum named named;	  /* as guardian */
	bool has_hidden_between;  /* a process between the two that is not the user's */
	bool is_withdrawn;	  /* the lease has ended: the process has its wish still, and no lease the guardian */
	bool loads_on;		  /* again and again */
} rows[] = {
	{ "root's", stay_root, .of = 0, .is_held = true },
	{ "root's, not dumpable", root_hide, .of = 0 },
	{ "a user's", be_user, .of = USER, .is_held = true },
	{ "a user's, not dumpable", be_user_hidden, .of = USER },
	{ "another user's", be_other, .of = USER },
	{ "a user's, who was another", keep_saved_uid, .of = USER },
	{ "set-user-ID root", keep_real_uid, .of = USER },
	{ "a user's, with capabilities", keep_capabilities, .of = USER },
	{ "a user's, in a namespace of his", own_namespace, .of = USER, .is_held = true },
	{ "a user's, for root", be_user, .of = 0 },
	{ "root's, in a namespace of its own", others_namespace, .of = 0, .is_held = true },
	{ "no guardian", be_user, .of = USER, .named = NOBODY },
	{ "a guardian that is no ancestor", be_user, .of = USER, .named = SOMEBODY_ELSE },
	{ "a guardian that orphans pass by", be_user, .of = USER, .guard = be_no_subreaper },
	{ "a guardian that has given up", be_user, .of = USER, .guard = be_given_up },
	{ "another user's guardian", be_user, .of = USER, .guard = be_others },
	{ "a second guardian that orphans pass by", be_user, .of = USER, .second = be_no_subreaper },
	{ "a second guardian that has given up", be_user, .of = USER, .second = be_given_up },
	{ "another user's second guardian", be_user, .of = USER, .second = be_others },
	{ "another user's process between", be_user, .of = USER, .has_hidden_between = true },
	{ "a guardian whose lease has ended", be_user, .of = USER, .is_withdrawn = true },
};

static int load(void)
{
	void *library = dlopen(library_path, RTLD_NOW);

	return library ? dlclose(library) : 1;
}

/* Pipes of a row: its pids and the child's wait(2) statuses come up, the go goes down. */
struct pipes {
	int up[2], down[2];
};

struct pids {
	pid_t guardian, child;
};

__attribute__((noreturn)) static void child_main(const struct row *row, const struct pipes *pipes)
{
	struct pids pids = { .child = getpid() };
	char byte;
	int r;

	if (row->become())
		_exit(STATUS_UNCHANGED);
	if (write(pipes->up[1], &pids, sizeof(pids)) != sizeof(pids) || read(pipes->down[0], &byte, 1) != 1)
		_exit(99);
	do
		r = load();
	while (row->loads_on && r == 0);
	_exit(r);
}

/* Between the two stays root's. */
static pid_t child_start(const struct row *row, const struct pipes *pipes)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0 && row->has_hidden_between) {
		pid = fork();
		if (pid)
			_exit(waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 99);
	}
	if (pid == 0)
		child_main(row, pipes);
	return pid;
}

__attribute__((noreturn)) static void guardian_main(const struct row *row, const struct pipes *pipes)
{
	struct pids pids = { .guardian = getpid() };
	int status = 0;
	pid_t pid;

	pid = child_start(row, pipes);
	if ((row->guard ? row->guard : be_guardian)(row->of))
		_exit(STATUS_UNCHANGED);
	if (write(pipes->up[1], &pids, sizeof(pids)) != sizeof(pids))
		_exit(99);
	do {
		if (waitpid(pid, &status, WUNTRACED) != pid || write(pipes->up[1], &status, sizeof(status)) < 0)
			_exit(99);
	} while (WIFSTOPPED(status));
	_exit(0);
}

__attribute__((noreturn)) static void second_main(const struct row *row, const struct pipes *pipes)
{
	const struct pids pids = { 0 };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		guardian_main(row, pipes);
	if ((row->second ? row->second : be_guardian)(row->of))
		_exit(STATUS_UNCHANGED);
	if (write(pipes->up[1], &pids, sizeof(pids)) != sizeof(pids))
		_exit(99);
	_exit(waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 99);
}

/* All three say that they are ready, in any order. */
static struct pids pids_take(const struct pipes *pipes)
{
	struct pids pids = { 0 };

	for (int i = 0; i < 3; i++) {
		struct pids one = { 0 };

		CHECK_INT_EQ("a pid", read(pipes->up[0], &one, sizeof(one)), sizeof(one));
		pids.guardian += one.guardian;
		pids.child += one.child;
	}
	return pids;
}

static int status_take(const struct pipes *pipes)
{
	int status = -1;

	CHECK_INT_EQ("a status", read(pipes->up[0], &status, sizeof(status)), sizeof(status));
	return status;
}

/* The processes of a row, up to where the child waits for its go. */
struct tree {
	struct pipes pipes;
	struct pids pids;
	pid_t second;
};

static void tree_start(struct tree *tree, const struct row *row, struct told *told)
{
	if (pipe2(tree->pipes.up, O_CLOEXEC) < 0 || pipe2(tree->pipes.down, O_CLOEXEC) < 0)
		exit(1);
	(void)fflush(NULL);
	tree->second = fork();
	if (tree->second == 0)
		second_main(row, &tree->pipes);
	tree->pids = pids_take(&tree->pipes);
	*told = (struct told){ .set = told->set, .pid = tree->pids.child };
}

static void tree_end(struct tree *tree)
{
	(void)waitpid(tree->second, NULL, 0);
	for (int i = 0; i < 2; i++) {
		(void)close(tree->pipes.up[i]);
		(void)close(tree->pipes.down[i]);
	}
}

static void check_row(struct rig *rig, const struct row *row, struct told *told, struct ring_buffer *ring)
{
	struct process_wish wish = { .flags = WISH_HOLD, .hold_uid = row->of };
	struct tree tree;
	int status;

	tree_start(&tree, row, told);
	wish.guardian = row->named == NOBODY ? 0 : (uint32_t)(row->named == ITSELF ? tree.pids.guardian : getppid());
	CHECK_INT_EQ(row->name, probe_set_target_add(rig->set, (uint32_t)tree.pids.child, wish), 0);
	CHECK_INT_EQ(row->name, probe_set_guardian_add(rig->set, wish.guardian), 0);
	if (row->is_withdrawn)
		CHECK_INT_EQ(row->name, probe_set_guardian_remove(rig->set, wish.guardian), 0);
	CHECK_INT_EQ(row->name, write(tree.pipes.down[1], "", 1), 1);
	status = status_take(&tree.pipes);
	(void)ring_buffer__consume(ring);
	CHECK_INT_EQ(row->name, WIFSTOPPED(status), row->is_held);
	if (WIFSTOPPED(status)) {
		(void)kill(tree.pids.child, SIGCONT);
		status = status_take(&tree.pipes);
	}
	CHECK_INT_EQ(row->name, status, 0);
	CHECK_INT_EQ(row->name, told->n_libraries, 1);
	CHECK(row->name, told->has_base);
	CHECK_INT_EQ(row->name, told->n_held, row->is_held);
	tree_end(&tree);
}

/* ---- the end of a lease ---- */

#define ENDS 100
#define LOADS 2 /* after each end, which nobody stops */

/* Lets the child go on from its next stop, which is told of by then. */
static void stop_pass(const struct tree *tree, struct ring_buffer *ring)
{
	CHECK("a stop", WIFSTOPPED(status_take(&tree->pipes)));
	(void)ring_buffer__consume(ring);
	(void)kill(tree->pids.child, SIGCONT);
}

/*
 * The lease ends at any moment of a load; its stop, if any, is on the ring by then. Return: number of stops that are
 * told of later: 31 of 20 000 without the wait (Linux 6.18, 2 CPUs, uprobe_multi)
 */
static unsigned int stops_late(struct rig *rig, const struct tree *tree, struct told *told, struct ring_buffer *ring)
{
	unsigned int n_held, late;

	CHECK_INT_EQ("guardian", probe_set_guardian_remove(rig->set, (uint32_t)tree->pids.guardian), 0);
	(void)grace_wait();
	n_held = told->n_held;
	(void)ring_buffer__consume(ring);
	if (told->n_held > n_held)
		stop_pass(tree, ring);
	n_held = told->n_held;
	told->n_libraries = 0;
	while (told->n_libraries < LOADS && told->n_held == n_held)
		(void)ring_buffer__poll(ring, -1);
	late = told->n_held - n_held;
	if (late)
		stop_pass(tree, ring);
	return late;
}

static void check_ends(struct rig *rig, struct told *told, struct ring_buffer *ring)
{
	static const struct row row = { "the end of a lease", stay_root, .of = 0, .loads_on = true };
	struct process_wish wish = { .flags = WISH_HOLD };
	unsigned int late = 0;
	struct tree tree;

	tree_start(&tree, &row, told);
	wish.guardian = (uint32_t)tree.pids.guardian;
	CHECK_INT_EQ(row.name, probe_set_target_add(rig->set, (uint32_t)tree.pids.child, wish), 0);
	CHECK_INT_EQ(row.name, write(tree.pipes.down[1], "", 1), 1);
	for (unsigned int i = 0; i < ENDS; i++) {
		uint64_t until_ns;

		CHECK_INT_EQ(row.name, probe_set_guardian_add(rig->set, wish.guardian), 0);
		stop_pass(&tree, ring);
		until_ns = rig_now_ns() + i % 100 * 1000; /* a load takes about 100 us */
		while (rig_now_ns() < until_ns)
			;
		late += stops_late(rig, &tree, told, ring);
	}
	CHECK_INT_EQ(row.name, late, 0);
	(void)kill(tree.pids.child, SIGKILL);
	while (WIFSTOPPED(status_take(&tree.pipes)))
		;
	tree_end(&tree);
}

/* Everybody may read it there. */
static void library_copy(const char *from, char *directory, size_t room)
{
	const char *place = getenv("TMPDIR");
	char command[512];

	(void)snprintf(directory, room, "%s/ingero-hold-XXXXXX", place && *place ? place : "/tmp");
	CHECK("a directory", mkdtemp(directory) != NULL);
	(void)snprintf(library_path, sizeof(library_path), "%s/libcuda-of-a-test.so", directory);
	(void)snprintf(command, sizeof(command), "chmod 755 %s && install -m 755 '%s' %s", directory, from,
		       library_path);
	CHECK_INT_EQ("a copy of the library", system(command), 0); /* NOLINT(cert-env33-c): our own words */
}

int main(int argc, char **argv)
{
	char directory[64];
	struct probe_library *loader = NULL;
	CLEANUP(closep) int fd = -1;
	struct ring_buffer *ring;
	struct told told = {};
	int64_t delta = 0;
	uint64_t offset = 0;
	struct rig rig;

	if (argc < 3 || !rig_loader(&fd, &offset, &delta))
		CHECK_SKIP("this C library has no _dl_debug_state");
	rig_open_bare(&rig, rig_back_end(argc, argv), 0);
	library_copy(argv[2], directory, sizeof(directory));
	told.set = rig.set;
	ring = ring_buffer__new(probe_set_life_fd(rig.set), on_life, &told, NULL);
	CHECK("ring", ring != NULL);
	CHECK_INT_EQ("loader", probe_set_attach_loader(rig.set, fd, offset, delta, &loader), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rig, &rows[i], &told, ring);
	check_ends(&rig, &told, ring);
	ring_buffer__free(ring);
	probe_set_detach_library(rig.set, loader);
	rig_close(&rig);
	(void)unlink(library_path);
	(void)rmdir(directory);
	return check_result();
}
