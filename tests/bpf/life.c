// SPDX-License-Identifier: Apache-2.0
/* Processes come and go: slots, calls in progress, life records. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/array.h"
#include "probes/calibrate.h"
#include "probes/hooks.h"
#include "rig.h"
#include "tests/support/check.h"

#define TIMES 3
#define LIFE_MAX 64

struct lives {
	struct life_record items[LIFE_MAX];
	unsigned int n;
};

static int on_life(void *context, void *data, size_t bytes)
{
	struct lives *lives = context;

	if (lives->n < LIFE_MAX && bytes == sizeof(lives->items[0]))
		memcpy(&lives->items[lives->n++], data, bytes);
	return 0;
}

static const struct life_record *life_find(const struct lives *lives, enum record_type type, pid_t pid)
{
	unsigned int i;

	for (i = 0; i < lives->n; i++)
		if (lives->items[i].type == type && lives->items[i].tgid == (uint32_t)pid)
			return &lives->items[i];
	return NULL;
}

/* A child that tells when it is inside, and goes on when told. */
static int to_child[2], to_parent[2];

static int func_inside(void *data)
{
	char byte = 1;

	(void)data;
	if (write(to_parent[1], &byte, 1) != 1)
		return 1;
	return read(to_child[0], &byte, 1) == 1 ? 0 : 2;
}

static int run_inside(void *data)
{
	(void)data;
	return subject_runtime(func_inside, NULL);
}

static pid_t child_start(int (*run)(void *data))
{
	char byte;
	pid_t pid;

	if (pipe2(to_child, O_CLOEXEC) < 0 || pipe2(to_parent, O_CLOEXEC) < 0)
		exit(1);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (read(to_child[0], &byte, 1) != 1)
			_exit(99);
		_exit(run(NULL));
	}
	return pid;
}

static void child_go(void)
{
	char byte = 1;

	CHECK_INT_EQ("the child is told", write(to_child[1], &byte, 1), 1);
}

static void child_wait_inside(void)
{
	char byte;

	CHECK_INT_EQ("the child says it", read(to_parent[0], &byte, 1), 1);
}

static void child_end(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		(void)close(to_child[i]);
		(void)close(to_parent[i]);
	}
}

static void check_in_flight(struct rig *rig)
{
	struct in_flight_record r[8];
	pid_t pid = child_start(run_inside);
	uint64_t begin = rig_now_ns();
	int n, i, status;

	rig_target(rig, pid, RIG_NO_CALL);
	CHECK_INT_EQ("in flight: nobody yet", probe_set_in_flight(rig->set, r, ARRAY_SIZE(r)), 0);
	child_go();
	child_wait_inside();
	/* It goes to sleep on the pipe now; what is seen before is as right as what is seen after. */
	n = probe_set_in_flight(rig->set, r, ARRAY_SIZE(r));
	CHECK_INT_EQ("in flight", n, 2);
	for (i = 0; i < n && i < (int)ARRAY_SIZE(r); i++) {
		CHECK_INT_EQ("in flight", r[i].op, i == 0 ? RIG_RUNTIME : RIG_DRIVER);
		CHECK_INT_EQ("in flight", r[i].depth, i);
		CHECK_INT_EQ("in flight", r[i].tgid, pid);
		CHECK_INT_EQ("in flight", r[i].slot, rig_slot(rig, pid));
		CHECK("in flight", r[i].start_ns >= begin && r[i].start_ns <= r[i].now_ns);
	}
	CHECK_INT_EQ("in flight: no room for all", probe_set_in_flight(rig->set, r, 1), 2);

	/* Until it is seen asleep: then all that it has waited must be there, though nothing is settled. */
	do
		n = probe_set_in_flight(rig->set, r, ARRAY_SIZE(r));
	while (n == 2 && !r[0].blame_ns[BLAME_OTHER]);
	CHECK_INT_EQ("in flight, blocked", n, 2);
	CHECK_INT_IN("in flight, blocked", r[0].blame_ns[BLAME_OTHER], 1, r[0].now_ns - r[0].start_ns);

	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	child_end();
	CHECK_INT_EQ("in flight: killed", probe_set_in_flight(rig->set, r, ARRAY_SIZE(r)), 0);
	CHECK_INT_EQ("in flight: never returned", rig_figures(rig, pid, RIG_RUNTIME).abandoned, 1);
	CHECK_INT_EQ("in flight: never returned", rig_figures(rig, pid, RIG_RUNTIME).count, 0);
}

static int run_once(void *data)
{
	(void)data;
	return subject_empty();
}

static int run_exec_false(void *data)
{
	(void)data;
	if (subject_empty() != 0)
		return 1;
	execl("/bin/false", "false", (char *)NULL);
	return 2;
}

static int run_fork_once(void *data)
{
	pid_t pid = fork();
	int status;

	(void)data;
	if (pid == 0)
		_exit(subject_empty());
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 3;
}

static void check_life(struct rig *rig, struct ring_buffer *ring, struct lives *lives)
{
	const struct process_slot *slots = probe_set_slots(rig->set);
	const struct life_record *r;
	uint32_t slot;
	pid_t pid;
	int status;

	lives->n = 0;
	status = rig_child(rig, run_exec_false, NULL, &pid);
	(void)ring_buffer__consume(ring);
	CHECK_INT_EQ("exec", WEXITSTATUS(status), 1);
	r = life_find(lives, RECORD_EXEC, pid);
	slot = rig_slot(rig, pid);
	CHECK("exec", r != NULL);
	if (r) {
		CHECK_STR_EQ("exec", r->comm, "false");
		CHECK_INT_EQ("exec", r->exec_gen, 1);
		CHECK_INT_EQ("exec: slot of the one before", r->slot, slot);
		CHECK_INT_EQ("exec", r->start_boot_ns, slots[slot].start_boot_ns);
	}
	CHECK_INT_EQ("exec", slots[slot].state, PROCESS_SLOT_GONE);
	r = life_find(lives, RECORD_EXIT, pid);
	CHECK("exit after exec", r != NULL);
	if (r) {
		CHECK_INT_EQ("exit after exec", r->exit.code, 1 << 8);
		CHECK_INT_EQ("exit after exec", r->slot, 0); /* false makes no traced call */
		CHECK_INT_EQ("exit after exec", r->exec_gen, 1);
	}

	lives->n = 0;
	status = rig_child(rig, run_fork_once, NULL, &pid);
	(void)ring_buffer__consume(ring);
	CHECK_INT_EQ("fork", status, 0);
	r = life_find(lives, RECORD_FORK, pid);
	CHECK("fork", r != NULL);
	if (r) {
		CHECK_INT_EQ("fork: the child is traced too", rig_figures(rig, (pid_t)r->fork.child, RIG_EMPTY).count,
			     1);
		CHECK("fork: end of the child", life_find(lives, RECORD_EXIT, (pid_t)r->fork.child) != NULL);
	}
	CHECK("fork: end of the parent", life_find(lives, RECORD_EXIT, pid) != NULL);
	CHECK_INT_EQ("life", rig_loss(rig, LOSS_LIFE_FULL), 0);
}

/* A slot is given back and used again, and shows nothing of the process before. */
static void check_slots(struct rig *rig)
{
	struct process_slot *slots = (struct process_slot *)probe_set_slots(rig->set);
	unsigned int i, n_used = 0;
	uint32_t slot = 0, cells_before, k;
	pid_t pid;

	CHECK_INT_EQ("release: none", probe_set_slot_release(rig->set, 0), -EINVAL);
	CHECK_INT_EQ("release: beyond", probe_set_slot_release(rig->set, PROCESS_SLOTS), -EINVAL);
	for (k = 1; k < PROCESS_SLOTS; k++)
		if (slots[k].state == PROCESS_SLOT_GONE)
			CHECK_INT_EQ("release", probe_set_slot_release(rig->set, k), 0);
	cells_before = probe_set_cells_used(rig->set);
	for (i = 0; i < PROCESS_SLOTS + TIMES; i++) {
		if (rig_child(rig, run_once, NULL, &pid) != 0)
			break;
		slot = rig_slot(rig, pid);
		if (!slot || rig_figures(rig, pid, RIG_EMPTY).count != 1 || rig_figures(rig, 0, RIG_EMPTY).count != 1)
			break;
		if (probe_set_slot_release(rig->set, slot) != 0)
			break;
		n_used++;
	}
	CHECK_INT_EQ("slots used again", n_used, PROCESS_SLOTS + TIMES);
	CHECK_INT_EQ("cells used again", probe_set_cells_used(rig->set), cells_before);
	CHECK_INT_EQ("slots", rig_loss(rig, LOSS_PROCESS_SLOTS), 0);
	CHECK_INT_EQ("released twice", probe_set_slot_release(rig->set, slot), -EBUSY);
}

static void check_policy(struct rig *rig)
{
	uint64_t before;
	pid_t pid;

	/* A tracer is in no figure, whoever asks for it. */
	CHECK_INT_EQ("tracer", probe_set_tracer_add(rig->set, (uint32_t)getpid()), 0);
	rig_target(rig, 0, RIG_NO_CALL);
	probe_set_everyone_add(rig->set, RIG_NO_CALL);
	before = probe_set_bystander_calls(rig->set);
	(void)subject_empty();
	CHECK_INT_EQ("tracer", rig_figures(rig, getpid(), RIG_EMPTY).count, 0);
	CHECK_INT_EQ("tracer", probe_set_bystander_calls(rig->set) - before, 1);
	CHECK_INT_EQ("tracer", probe_set_tracer_remove(rig->set, (uint32_t)getpid()), 0);
	(void)subject_empty();
	CHECK_INT_EQ("tracer no more", rig_figures(rig, getpid(), RIG_EMPTY).count, 1);
	probe_set_everyone_remove(rig->set);
	CHECK_INT_EQ("target no more", probe_set_target_remove(rig->set, (uint32_t)getpid()), 0);
	(void)subject_empty();
	CHECK_INT_EQ("target no more", rig_figures(rig, getpid(), RIG_EMPTY).count, 1);

	CHECK_INT_EQ("user", probe_set_user_add(rig->set, getuid(), RIG_NO_CALL), 0);
	(void)subject_empty();
	CHECK_INT_EQ("user", rig_figures(rig, getpid(), RIG_EMPTY).count, 2);
	CHECK_INT_EQ("user", probe_set_user_remove(rig->set, getuid()), 0);
	CHECK_INT_EQ("another user", probe_set_user_add(rig->set, getuid() + 1, RIG_NO_CALL), 0);
	(void)subject_empty();
	CHECK_INT_EQ("another user", rig_figures(rig, getpid(), RIG_EMPTY).count, 2);
	CHECK_INT_EQ("another user", probe_set_user_remove(rig->set, getuid() + 1), 0);

	probe_set_everyone_add(rig->set, RIG_NO_CALL);
	pid = fork();
	if (pid == 0)
		_exit(subject_empty());
	(void)waitpid(pid, NULL, 0);
	CHECK_INT_EQ("all", rig_figures(rig, pid, RIG_EMPTY).count, 1);
	probe_set_everyone_remove(rig->set);
}

int main(int argc, char **argv)
{
	struct probe_family_state families[8];
	struct probe_cost cost;
	struct ring_buffer *ring;
	struct lives lives = {};
	struct rig rig;
	size_t i, n;

	rig_open(&rig, rig_back_end(argc, argv), 0);
	ring = ring_buffer__new(probe_set_life_fd(rig.set), on_life, &lives, NULL);
	CHECK("ring", ring != NULL);
	check_in_flight(&rig);
	check_life(&rig, ring, &lives);
	ring_buffer__free(ring);
	check_slots(&rig);
	check_policy(&rig);

	n = probe_set_families(rig.set, families, ARRAY_SIZE(families));
	CHECK_INT_EQ("families", n, HOOK_FAMILY_COUNT);
	for (i = 0; i < n; i++)
		if (strcmp(families[i].name, "loader") != 0) /* never there */
			CHECK_STR_EQ(families[i].name, families[i].state, "on");
	probe_set_cost(rig.set, &cost);
	/* How they compare is for the bench: a busy machine may say anything. */
	CHECK("cost of calls that find nothing in the caches",
	      calibrate_added_most_ns(CALL_HEAD_PLAIN) > calibrate_added_ns(CALL_HEAD_PLAIN) &&
		      calibrate_added_most_ns(CALL_HEAD_PLAIN) < 10 * calibrate_added_ns(CALL_HEAD_PLAIN));
	CHECK("cost", cost.per_call_ns > 0 && cost.share_ns > 0 && cost.nested_ns > 0 && cost.bystander_ns > 0);
	/* Tables of unwinding have 24 MiB of it, the ring of stacks 8. */
	CHECK_INT_IN("kernel memory", probe_set_kernel_bytes(rig.set), 40 << 20, 64 << 20);
	fprintf(stderr,
		"per call %ju ns, of it in the duration %ju (spread %ju), nested %ju, bystander %ju; kernel memory "
		"%ju\n",
		(uintmax_t)cost.per_call_ns, (uintmax_t)cost.share_ns, (uintmax_t)cost.share_spread_ns,
		(uintmax_t)cost.nested_ns, (uintmax_t)cost.bystander_ns, (uintmax_t)probe_set_kernel_bytes(rig.set));
	rig_close(&rig);
	return check_result();
}
