// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel does to processes, and for them: each exec, fork, exit and kill is told once, by process and not by
 * thread, whatever else is going on; pages and reclaim are the process's.
 */
#include <bpf/libbpf.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"
#include "tests/support/memory_group.h"

#define MIB (1ul << 20)
#define STORM 307 /* processes, beside a thread that calls flat out */
#define CALLS_RING_BYTES 4096
#define GROUP_BYTES (48 * MIB)
#define TOUCHED_BYTES (64 * MIB)
#define PAGES_SLACK (16 * MIB)	    /* page tables, stacks, the program itself */
#define INHERITED_BYTES (512 * MIB) /* a child of this program begins with its pages, and a sanitizer's */

/* What came, since it was last asked. */
struct told {
	unsigned int execs, forks, exits, ooms;
	uint32_t status; /* of the process that was looked at */
	uint32_t pid;
	struct life_record oom;
};

static struct told told;

static int on_life(void *context, void *data, size_t bytes)
{
	const struct life_record *r = data;

	(void)context;
	if (bytes != sizeof(*r))
		return 0;
	told.execs += r->type == RECORD_EXEC;
	told.forks += r->type == RECORD_FORK;
	told.exits += r->type == RECORD_EXIT;
	told.ooms += r->type == RECORD_OOM;
	if (r->type == RECORD_OOM)
		told.oom = *r;
	if (r->type == RECORD_EXIT && r->tgid == told.pid)
		told.status = r->exit.code;
	return 0;
}

/* ---- lives ---- */

static void *nothing(void *data)
{
	return data;
}

static int run_threads(void *data)
{
	pthread_t threads[5];

	(void)data;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, nothing, NULL))
			return 1;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		(void)pthread_join(threads[i], NULL);
	return subject_empty();
}

static void *exec_true(void *data)
{
	(void)data;
	(void)execl("/bin/true", "true", (char *)NULL);
	_exit(9);
}

static int run_exec_in_thread(void *data)
{
	pthread_t thread;

	(void)data;
	if (subject_empty() != 0 || pthread_create(&thread, NULL, exec_true, NULL))
		return 1;
	(void)pthread_join(thread, NULL);
	return 2;
}

static void *leave_last(void *data)
{
	(void)data;
	_exit(3);
}

static int run_leader_first(void *data)
{
	pthread_t thread;

	(void)data;
	if (pthread_create(&thread, NULL, leave_last, NULL))
		return 1;
	pthread_exit(NULL); /* the process ends with its last thread */
}

static int wait_for(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int run_vfork(void *data)
{
	pid_t pid = vfork();

	(void)data;
	if (pid == 0) {
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	return wait_for(pid);
}

static int run_double_fork(void *data)
{
	pid_t pid = fork();

	(void)data;
	if (pid == 0) {
		pid = fork();
		_exit(pid == 0 ? 0 : wait_for(pid));
	}
	return wait_for(pid);
}

static int run_killed(void *data)
{
	(void)data;
	(void)kill(getpid(), SIGKILL);
	return 1;
}

static int func_die(void *data)
{
	(void)data;
	(void)kill(getpid(), SIGTERM);
	return 1;
}

static int run_killed_inside(void *data)
{
	(void)data;
	return subject_runtime(func_die, NULL);
}

static int run_exec_twice(void *data)
{
	(void)data;
	(void)execl("/bin/sh", "sh", "-c", "exec /bin/true", (char *)NULL);
	return 1;
}

static const struct {
	const char *name;
	int (*run)(void *data);
	unsigned int execs, forks, exits;
	int status; /* as wait(2) encodes it */
} lives[] = {
	{ "threads begin and end", run_threads, 0, 0, 1, 0 },
	{ "exec by a thread that is not the first", run_exec_in_thread, 1, 0, 1, 0 },
	{ "the first thread ends first", run_leader_first, 0, 0, 1, 3 << 8 },
	{ "vfork and exec", run_vfork, 1, 1, 2, 0 },
	{ "a child of a child", run_double_fork, 0, 2, 3, 0 },
	{ "killed", run_killed, 0, 0, 1, SIGKILL },
	{ "killed inside a call", run_killed_inside, 0, 0, 1, SIGTERM },
	{ "exec, and exec again", run_exec_twice, 2, 0, 1, 0 },
};

static void told_begin(struct ring_buffer *ring)
{
	(void)ring_buffer__consume(ring);
	told = (struct told){ .execs = 0 };
}

/* The child's exit is told from inside it, before its parent can see it: nothing is waited for. */
static void check_lives(struct rig *rig, struct ring_buffer *ring)
{
	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		pid_t pid;
		int status;

		told_begin(ring);
		status = rig_child(rig, lives[i].run, NULL, &pid);
		told.pid = (uint32_t)pid;
		(void)ring_buffer__consume(ring);
		CHECK_INT_EQ(lives[i].name, status, lives[i].status);
		CHECK_INT_EQ(lives[i].name, told.status, lives[i].status);
		CHECK_INT_EQ(lives[i].name, told.execs, lives[i].execs);
		CHECK_INT_EQ(lives[i].name, told.forks, lives[i].forks);
		CHECK_INT_EQ(lives[i].name, told.exits, lives[i].exits);
		CHECK_INT_EQ(lives[i].name, told.ooms, 0);
	}
}

/* ---- a storm ---- */

static volatile bool is_over;

static void *call_flat_out(void *data)
{
	while (!is_over)
		(void)subject_empty();
	return data;
}

static pid_t program_start(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	return pid;
}

static int run_storm(void *data)
{
	pthread_t thread;
	int bad = 0;

	(void)data;
	if (pthread_create(&thread, NULL, call_flat_out, NULL))
		return 1;
	for (int i = 0; i < STORM; i++)
		bad += wait_for(program_start()) != 0;
	is_over = true;
	(void)pthread_join(thread, NULL);
	return bad;
}

/* Nobody reads meanwhile: the ring of calls is full all the time, that of life has room for much more than this. */
static void check_storm(struct rig *rig, struct ring_buffer *ring)
{
	uint64_t lost_before = rig_loss(rig, LOSS_RING_FULL);
	int status;

	told_begin(ring);
	rig->wish = RIG_EVERY_CALL;
	status = rig_child(rig, run_storm, NULL, NULL);
	(void)ring_buffer__consume(ring);
	CHECK_INT_EQ("storm", status, 0);
	CHECK_INT_EQ("storm", told.execs, STORM);
	CHECK_INT_EQ("storm", told.forks, STORM);
	CHECK_INT_EQ("storm", told.exits, STORM + 1);
	CHECK("storm: calls found no room", rig_loss(rig, LOSS_RING_FULL) > lost_before);
	CHECK_INT_EQ("storm", rig_loss(rig, LOSS_LIFE_FULL), 0);
}

/* ---- memory ---- */

static void *touch(void *data)
{
	char *memory = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < TOUCHED_BYTES; i += 4096)
		memory[i] = 1;
	return data;
}

/* By a thread that never calls. */
static int run_touch(void *data)
{
	pthread_t thread;
	void *done = NULL;

	if (data && subject_empty() != 0)
		return 1;
	if (pthread_create(&thread, NULL, touch, (void *)"touched") || pthread_join(thread, &done))
		return 2;
	return done ? 0 : 3;
}

static void check_pages(struct rig *rig)
{
	struct rig_figures f;
	pid_t pid;

	CHECK_INT_EQ("pages", rig_child(rig, run_touch, rig, &pid), 0);
	f = rig_figures(rig, pid, OP_EVENT_mm_page_alloc);
	CHECK_INT_IN("pages: bytes", f.bytes, TOUCHED_BYTES, TOUCHED_BYTES + PAGES_SLACK);
	CHECK("pages: allocations", f.count > 0 && f.count <= f.bytes / 4096);
	CHECK_INT_EQ("pages: not timed", f.untimed, f.count);
	CHECK_INT_EQ("pages: that process called", rig_figures(rig, pid, RIG_EMPTY).count, 1);
	CHECK_INT_EQ("pages: one that did not", rig_child(rig, run_touch, NULL, &pid), 0);
	CHECK_INT_EQ("pages: one that did not", rig_figures(rig, pid, OP_EVENT_mm_page_alloc).count, 0);
}

static int func_eat(void *data)
{
	for (;;) {
		char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return data != NULL;
		memset(memory, 1, MIB);
	}
}

static void *stay(void *data)
{
	for (;;)
		(void)pause();
	return data;
}

static int run_eat(void *data)
{
	pthread_t thread;

	if (!memory_group_enter(data) || pthread_create(&thread, NULL, stay, NULL))
		return 1;
	return subject_runtime(func_eat, NULL);
}

static void check_kill(struct rig *rig, struct ring_buffer *ring)
{
	CLEANUP(freep) struct memory_group *group = calloc(1, sizeof(*group));
	struct rig_figures reclaim;
	pid_t pid;
	int status;

	if (!group || !memory_group_open(group, GROUP_BYTES)) {
		fprintf(stderr, "skipped: no control group with a limit of memory can be made here\n");
		return;
	}
	told_begin(ring);
	status = rig_child(rig, run_eat, group, &pid);
	memory_group_close(group);
	(void)ring_buffer__consume(ring);
	CHECK_INT_EQ("kill", status, SIGKILL);
	CHECK_INT_EQ("kill: told once", told.ooms, 1);
	CHECK_INT_EQ("kill", told.exits, 1);
	CHECK_INT_EQ("kill", told.oom.tgid, pid);
	CHECK_INT_EQ("kill", told.oom.uid, getuid());
	CHECK_INT_EQ("kill: scope", told.oom.oom.scope, OOM_SCOPE_GROUP);
	CHECK_INT_EQ("kill: by itself", told.oom.oom.by_tgid, 0);
	CHECK_INT_IN("kill: held", told.oom.oom.rss_bytes, GROUP_BYTES / 2, INHERITED_BYTES + GROUP_BYTES);
	CHECK_INT_EQ("kill: slot", told.oom.slot, rig_slot(rig, pid));
	CHECK_INT_EQ("kill: the call never returned", rig_figures(rig, pid, RIG_RUNTIME).abandoned, 1);
	reclaim = rig_figures(rig, pid, OP_EVENT_mm_reclaim);
	CHECK("kill: the kernel tried", reclaim.timed > 0 && reclaim.total_ns > 0);
	CHECK_INT_EQ("kill: each was seen to begin", rig_loss(rig, LOSS_MEMORY), 0);
}

int main(int argc, char **argv)
{
	struct ring_buffer *ring;
	struct rig rig;

	rig_open(&rig, rig_back_end(argc, argv), CALLS_RING_BYTES);
	ring = ring_buffer__new(probe_set_life_fd(rig.set), on_life, NULL, NULL);
	CHECK("ring", ring != NULL);
	check_lives(&rig, ring);
	check_storm(&rig, ring);
	check_pages(&rig);
	check_kill(&rig, ring);
	ring_buffer__free(ring);
	rig_close(&rig);
	return check_result();
}
