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
#include "rig.h"
#include "tests/support/check.h"

#define USER 65534
#define STATUS_UNCHANGED 98 /* it could not become what its row says */

/* Of one row: what the kernel half told of its child. */
struct told {
	pid_t pid;
	unsigned int n_libraries;
	bool has_base, is_held;
};

static char library_path[64];

static int on_life(void *context, void *data, size_t bytes)
{
	const struct life_record *life = data;
	struct told *told = context;

	if (bytes != sizeof(*life) || life->type != RECORD_LIBRARY || life->tgid != (uint32_t)told->pid)
		return 0;
	told->n_libraries++;
	told->has_base = life->library_base != 0;
	told->is_held = life->is_held;
	return 0;
}

/* What the loader's file says, as the parser child would find it. */
static bool loader_facts(int *ret_fd, uint64_t *ret_offset, int64_t *ret_delta)
{
	void *hook = dlsym(RTLD_DEFAULT, "_dl_debug_state");
	const ElfW(Dyn) *dynamic = _DYNAMIC;
	Dl_info info;

	if (!hook || !dladdr(hook, &info))
		return false;
	/* Where the loader told our program that its _r_debug is; that symbol here may be a copy. */
	while (dynamic->d_tag != DT_NULL && dynamic->d_tag != DT_DEBUG)
		dynamic++;
	if (dynamic->d_tag != DT_DEBUG)
		return false;
	*ret_fd = open(info.dli_fname, O_PATH | O_CLOEXEC);
	*ret_offset = rig_offset(hook);
	*ret_delta = (int64_t)(dynamic->d_un.d_ptr - (uintptr_t)hook);
	return *ret_fd >= 0;
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

static const struct row {
	const char *name;
	int (*become)(void);
	uid_t of; /* whose wish it is */
	bool is_held;
} rows[] = {
	{ "root's", stay_root, 0, true },
	{ "root's, not dumpable", root_hide, 0, false },
	{ "a user's", be_user, USER, true },
	{ "a user's, not dumpable", be_user_hidden, USER, false },
	{ "another user's", be_other, USER, false },
	{ "a user's, who was another", keep_saved_uid, USER, false },
	{ "set-user-ID root", keep_real_uid, USER, false },
	{ "a user's, with capabilities", keep_capabilities, USER, false },
	{ "a user's, in a namespace of his", own_namespace, USER, true },
	{ "a user's, for root", be_user, 0, false },
	{ "root's, in a namespace of its own", others_namespace, 0, true },
};

static int load(void)
{
	void *library = dlopen(library_path, RTLD_NOW);

	return library ? dlclose(library) : 1;
}

/* Return: wait(2) status of the child, which has waited for the go */
static int child_run(struct rig *rig, const struct row *row, const struct process_wish *wish, struct told *told,
		     struct ring_buffer *ring)
{
	int gate[2], status = -1;
	char byte = 1;

	*told = (struct told){ .pid = -1 };
	if (pipe2(gate, O_CLOEXEC) < 0)
		return -1;
	(void)fflush(NULL);
	told->pid = fork();
	if (told->pid == 0) {
		if (row->become())
			_exit(STATUS_UNCHANGED);
		if (read(gate[0], &byte, 1) != 1)
			_exit(99);
		_exit(load());
	}
	if (probe_set_target_add(rig->set, (uint32_t)told->pid, *wish) < 0 || write(gate[1], &byte, 1) != 1)
		(void)kill(told->pid, SIGKILL);
	(void)close(gate[0]);
	(void)close(gate[1]);
	(void)waitpid(told->pid, &status, WUNTRACED);
	(void)ring_buffer__consume(ring);
	return status;
}

static void check_row(struct rig *rig, const struct row *row, struct told *told, struct ring_buffer *ring)
{
	const struct process_wish wish = { .flags = WISH_HOLD, .hold_uid = row->of };
	int status = child_run(rig, row, &wish, told, ring);

	CHECK_INT_EQ(row->name, WIFSTOPPED(status), row->is_held);
	if (WIFSTOPPED(status)) {
		(void)kill(told->pid, SIGCONT);
		(void)waitpid(told->pid, &status, 0);
	}
	CHECK_INT_EQ(row->name, status, 0);
	CHECK_INT_EQ(row->name, told->n_libraries, 1);
	CHECK(row->name, told->has_base);
	CHECK_INT_EQ(row->name, told->is_held, row->is_held);
}

/* Everybody may read it there. */
static void library_copy(const char *from, char *directory)
{
	char command[512];

	CHECK("a directory", mkdtemp(directory) != NULL);
	(void)snprintf(library_path, sizeof(library_path), "%s/libcuda-of-a-test.so", directory);
	(void)snprintf(command, sizeof(command), "chmod 755 %s && install -m 755 '%s' %s", directory, from,
		       library_path);
	CHECK_INT_EQ("a copy of the library", system(command), 0); /* NOLINT(cert-env33-c): our own words */
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/ingero-hold-XXXXXX";
	struct probe_library *loader = NULL;
	CLEANUP(closep) int fd = -1;
	struct ring_buffer *ring;
	struct told told = {};
	int64_t delta = 0;
	uint64_t offset = 0;
	struct rig rig;

	if (argc < 3 || !loader_facts(&fd, &offset, &delta))
		CHECK_SKIP("this C library has no _dl_debug_state");
	rig_open_bare(&rig, rig_back_end(argc, argv), 0);
	library_copy(argv[2], directory);
	ring = ring_buffer__new(probe_set_life_fd(rig.set), on_life, &told, NULL);
	CHECK("ring", ring != NULL);
	CHECK_INT_EQ("loader", probe_set_attach_loader(rig.set, fd, offset, delta, &loader), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rig, &rows[i], &told, ring);
	ring_buffer__free(ring);
	probe_set_detach_library(rig.set, loader);
	rig_close(&rig);
	(void)unlink(library_path);
	(void)rmdir(directory);
	return check_result();
}
