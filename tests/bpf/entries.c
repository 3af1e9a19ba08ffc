// SPDX-License-Identifier: Apache-2.0
/*
 * Entries of processes, and of those that a lease names or that descend from one, are shared between users: however
 * many processes one user starts, those of another user are traced.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "probes/probe_set_state.h"
#include "rig.h"
#include "tests/support/check.h"

#define CROWD_UID 65534
#define OTHER_UID 65531
#define SUBORDINATE_UID 200000
#define ENTRIES 16384
#define SHARE (ENTRIES * 3 / 4) /* most that one user may take while no other user has any */
#define MANY (ENTRIES + 100)
#define FEW 50
#define RACES 4 /* entries that processes on several CPUs may take at the same moment */
#define STACK_BYTES 8192

struct crowd {
	uint32_t uid;
	size_t n;
	bool loads; /* each member calls what the dynamic loader calls after it has loaded a library */
};

static void (*loader_hook)(void);
static int ready[2];

/* Its memory is the crowd's: thousands of them fit a small machine. */
static int member_run(void *data)
{
	const struct crowd *crowd = data;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	if (crowd->loads)
		loader_hook();
	rig_byte_give(ready[1]);
	for (;;)
		(void)pause();
	return 0;
}

static void crowd_run(const struct crowd *crowd)
{
	static const struct rlimit no_limit = { RLIM_INFINITY, RLIM_INFINITY };
	char *stacks = crowd->n ? mmap(NULL, crowd->n * STACK_BYTES, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
				: NULL;

	(void)setrlimit(RLIMIT_NPROC, &no_limit);
	if (stacks == MAP_FAILED || setresuid(crowd->uid, crowd->uid, crowd->uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	for (size_t i = 0; i < crowd->n; i++)
		if (clone(member_run, stacks + (i + 1) * STACK_BYTES, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
			  (void *)(uintptr_t)crowd) < 0)
			_exit(1);
	rig_byte_give(ready[1]);
	for (;;)
		(void)pause();
}

/* Return: the process that started the crowd, when each member is there */
static pid_t crowd_start(struct rig *rig, const struct crowd *crowd, bool is_target)
{
	int gate[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
		CHECK_SKIP("no pipes");
	pid = fork();
	if (pid == 0) {
		(void)close(gate[1]);
		(void)close(ready[0]);
		rig_byte_take(gate[0]);
		crowd_run(crowd);
	}
	if (is_target)
		rig_target(rig, pid, RIG_NO_CALL);
	rig_byte_give(gate[1]);
	(void)close(ready[1]);
	for (size_t i = 0; i <= crowd->n; i++)
		rig_byte_take(ready[0]);
	(void)close(ready[0]);
	(void)close(gate[0]);
	(void)close(gate[1]);
	return pid;
}

/* Members end with the process that started them. */
static void crowds_end(const pid_t pids[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)kill(pids[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static size_t entries(const struct bpf_map *map)
{
	uint32_t key, last, *previous = NULL;
	size_t n = 0;

	while (bpf_map_get_next_key(bpf_map__fd(map), previous, &key) == 0) {
		last = key;
		previous = &last;
		n++;
	}
	return n;
}

/* Processes that were not traced, of one user alone. */
static uint64_t lost_by(const struct rig *rig, uint32_t uid)
{
	uint64_t losses[LOSS_COUNT] = { 0 };

	probe_set_user_losses(rig->set, uid, losses);
	return losses[LOSS_PROCESS_SLOTS];
}

/* Starts of processes that the kernel half told of, by whether the new one inherits its parent's wish. */
struct forks {
	struct probe_set *set;
	size_t of_others, of_others_named, of_crowd, of_crowd_named;
};

static int life_note(void *context, void *data, size_t bytes)
{
	const struct life_record *life = data;
	struct forks *forks = context;
	bool is_named = life->flags & LIFE_NAMED;

	(void)bytes;
	probe_set_life_taken(forks->set, life);
	if (life->type == RECORD_FORK && life->uid == OTHER_UID) {
		forks->of_others++;
		forks->of_others_named += is_named;
	} else if (life->type == RECORD_FORK) {
		forks->of_crowd++;
		forks->of_crowd_named += is_named;
	}
	return 0;
}

static struct forks forks_read(struct rig *rig)
{
	struct forks forks = { .set = rig->set };
	struct ring_buffer *ring = ring_buffer__new(probe_set_life_fd(rig->set), life_note, &forks, NULL);

	CHECK("read", ring && ring_buffer__consume(ring) >= 0);
	ring_buffer__free(ring);
	return forks;
}

static void loss_pass(uint32_t uid, enum loss_reason reason, uint64_t n, void *data)
{
	(void)uid;
	(void)reason;
	(void)n;
	(void)data;
}

/* Whether a user has a share of his own when the daemon has freed those that nobody needs. */
static bool has_share(struct rig *rig, uint32_t uid)
{
	uint32_t share;

	for (int i = 0; i < 2; i++)
		probe_set_user_losses_take(rig->set, loss_pass, NULL);
	return bpf_map_lookup_elem(bpf_map__fd(rig->set->bpf->maps.user_shares), &uid, &share) == 0;
}

struct row {
	const char *what;
	bool is_target; /* the processes that start the crowds are named, and these inherit it; else their users are */
	struct crowd crowds[2];
	struct crowd others;
};

static const struct row rows[] = {
	{ "started by a named process", true, { { CROWD_UID, MANY, false } }, { OTHER_UID, FEW, false } },
	{ "load a library", false, { { CROWD_UID, MANY, true } }, { OTHER_UID, FEW, true } },
	{ "of subordinate ids",
	  true,
	  { { SUBORDINATE_UID, MANY / 2, false }, { SUBORDINATE_UID + 1, MANY / 2, false } },
	  { OTHER_UID, FEW, false } },
};

/* Who has no room is not told of as one that inherits. */
static void check_forks(const char *what, struct rig *rig, const struct row *row)
{
	const struct crowd more = { row->crowds[0].uid, FEW, false };
	struct forks forks = forks_read(rig);
	pid_t pid;

	CHECK_INT_EQ(what, forks.of_others, FEW);
	CHECK_INT_EQ(what, forks.of_others_named, FEW);
	pid = crowd_start(rig, &more, true);
	forks = forks_read(rig);
	CHECK_INT_EQ(what, forks.of_crowd, FEW);
	CHECK_INT_EQ(what, forks.of_crowd_named, 0);
	(void)kill(pid, SIGKILL);
}

/* What a lease names later: a process of a user whose share is full has no entry, another user's has one. */
static void check_named(const char *what, struct rig *rig, const struct row *row)
{
	const struct crowd full = { row->crowds[0].uid, 0, false }, other = { OTHER_UID, 0, false };
	uint32_t pids[] = { (uint32_t)crowd_start(rig, &full, false), (uint32_t)crowd_start(rig, &other, false) };

	CHECK_INT_EQ(what, probe_set_target_add(rig->set, pids[0], RIG_NO_CALL), -ENOSPC);
	for (int i = 0; i < 2; i++) /* the second time it is changed */
		CHECK_INT_EQ(what, probe_set_target_add(rig->set, pids[1], RIG_NO_CALL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_INT_EQ(what, probe_set_target_remove(rig->set, pids[1]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		(void)kill((pid_t)pids[i], SIGKILL);
		(void)waitpid((pid_t)pids[i], NULL, 0);
	}
}

static void check_row(struct rig *rig, const struct row *row)
{
	const struct bpf_map *map = row->is_target ? rig->set->bpf->maps.targets : rig->set->bpf->maps.processes;
	size_t before = entries(map), n_own, n_named = 0, n_crowds = 0, n_members = 0;
	uint64_t lost_before = lost_by(rig, UINT32_MAX), lost;
	pid_t pids[ARRAY_SIZE(row->crowds) + 1];

	for (; n_crowds < ARRAY_SIZE(row->crowds) && row->crowds[n_crowds].n; n_crowds++) {
		pids[n_crowds] = crowd_start(rig, &row->crowds[n_crowds], row->is_target);
		n_members += row->crowds[n_crowds].n;
		n_named += row->is_target;
	}
	n_own = entries(map) - before - n_named;
	CHECK_INT_IN(row->what, n_own, SHARE - n_named, SHARE + RACES);
	lost = lost_by(rig, UINT32_MAX);
	CHECK_INT_EQ(row->what, lost - lost_before, n_members - n_own);
	(void)forks_read(rig); /* of the crowds, as far as there was room */

	pids[n_crowds] = crowd_start(rig, &row->others, row->is_target);
	n_named += row->is_target;
	CHECK_INT_EQ(row->what, entries(map) - before - n_named, n_own + FEW);
	CHECK_INT_EQ(row->what, lost_by(rig, UINT32_MAX), lost);
	CHECK_INT_EQ(row->what, lost_by(rig, OTHER_UID), 0);
	if (row->is_target) {
		check_forks(row->what, rig, row);
		check_named(row->what, rig, row);
	}
	(void)forks_read(rig);
	CHECK(row->what, has_share(rig, OTHER_UID));
	crowds_end(pids, n_crowds + 1);
	CHECK_INT_EQ(row->what, entries(map), before);
	(void)forks_read(rig);
	CHECK(row->what, !has_share(rig, OTHER_UID));
}

/* What is given back serves again, however often. */
static void check_again(struct rig *rig, const struct row *row)
{
	const struct bpf_map *map = row->is_target ? rig->set->bpf->maps.targets : rig->set->bpf->maps.processes;
	const struct crowd few = { row->crowds[0].uid, FEW, row->crowds[0].loads };
	uint64_t lost = lost_by(rig, UINT32_MAX);
	size_t before = entries(map);

	for (int i = 0; i < 2; i++) {
		pid_t pid = crowd_start(rig, &few, row->is_target);

		CHECK_INT_EQ(row->what, entries(map) - before, FEW + row->is_target);
		crowds_end(&pid, 1);
		CHECK_INT_EQ(row->what, entries(map), before);
	}
	CHECK_INT_EQ(row->what, lost_by(rig, UINT32_MAX), lost);
}

int main(int argc, char **argv)
{
	struct probe_library *loader = NULL;
	CLEANUP(closep) int fd = -1;
	int64_t delta = 0;
	uint64_t offset = 0;
	struct rig rig;

	if (!rig_loader(&fd, &offset, &delta))
		CHECK_SKIP("this C library has no _dl_debug_state");
	loader_hook = (void (*)(void))dlsym(RTLD_DEFAULT, "_dl_debug_state");
	rig_open_bare(&rig, rig_back_end(argc, argv), 0);
	CHECK_INT_EQ("ends of members", prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	CHECK_INT_EQ("loader", probe_set_attach_loader(rig.set, fd, offset, delta, &loader), 0);
	CHECK_INT_EQ("user", probe_set_user_add(rig.set, CROWD_UID, RIG_NO_CALL), 0);
	CHECK_INT_EQ("user", probe_set_user_add(rig.set, OTHER_UID, RIG_NO_CALL), 0);
	probe_set_subordinate(rig.set, SUBORDINATE_UID, 100);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_row(&rig, &rows[i]);
		check_again(&rig, &rows[i]);
	}
	probe_set_detach_library(rig.set, loader);
	rig_close(&rig);
	return check_result();
}
