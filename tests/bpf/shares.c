// SPDX-License-Identifier: Apache-2.0
/*
 * Places for processes, operations, waits, wakers, accounts of ended threads, and records of calls and of process life
 * are shared between users: however many the threads and processes of one user take, there are some for those of
 * another user. What comes too late for a slot is told to nobody.
 */
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "probes/probe_set_state.h"
#include "rig.h"
#include "tests/support/check.h"

#define CROWD_UID 65534
#define THREADS 8
#define THREAD_STACK_BYTES (64 << 10)
#define RACES 16 /* places that threads on several CPUs may take at the same moment */
#define MOMENT_NS (2 * NSEC_PER_MSEC)

static const struct timespec moment = { .tv_nsec = MOMENT_NS };

/* Most that one user may take while no other user has any. */
#define WAITS_SHARE (WAITS_MAX * 3 / 4)
#define WAKERS_SHARE (WAKERS_MAX * 3 / 4)
#define ACCOUNTS_SHARE (ACCOUNTS_ENDED * 3 / 4)
#define LIVES_SHARE (LIVES_MAX * 3 / 4)
#define BEHIND_SHARE (BEHIND_ROWS_MAX * 3 / 4)
#define SLOTS_SHARE ((PROCESS_SLOTS - 2) * 3 / 4) /* but the one that is never used and the calibration's */
#define CELLS_SHARE ((PROCESS_CELLS - CELLS_SPARE - 1) * 3 / 4)
#define SPARES_SHARE (CELLS_SPARE * 3 / 4)

static const enum loss_reason lost_kinds[] = { LOSS_WAITS,     LOSS_WAKERS,	   LOSS_ACCOUNTS, LOSS_LIFE_FULL,
					       LOSS_RING_FULL, LOSS_PROCESS_SLOTS, LOSS_CELLS,	  LOSS_MEMORY };

/* ---- waits ---- */

#define RESOURCES 550 /* of each thread: more than there are rows for all threads together */
#define RESOURCES_FEW 50

static uint32_t words[THREADS * RESOURCES];

static void become(uint32_t uid)
{
	static const struct rlimit no_limit = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_NPROC, &no_limit);
	if (setresuid(uid, uid, uid) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
		_exit(1);
}

struct waiter {
	uint32_t *words;
	size_t n;
};

/* Each word is a resource of its own; a timer ends the wait. */
static void *words_await(void *data)
{
	const struct waiter *waiter = data;

	(void)subject_empty();
	for (size_t i = 0; i < waiter->n; i++)
		(void)syscall(SYS_futex, &waiter->words[i], FUTEX_WAIT, 0, &moment, NULL, 0);
	(void)subject_empty();
	return NULL;
}

struct crowd {
	uint32_t uid;
	size_t n_each;	/* resources that each thread waits for */
	bool is_hidden; /* from its own user: it belongs to nobody */
};

static int crowd_run(void *data)
{
	const struct crowd *crowd = data;
	struct waiter waiters[THREADS];
	pthread_t threads[THREADS];

	become(crowd->uid);
	if (crowd->is_hidden && prctl(PR_SET_DUMPABLE, 0) < 0)
		return 1;
	for (size_t i = 0; i < THREADS; i++) {
		waiters[i] = (struct waiter){ &words[i * RESOURCES], crowd->n_each };
		if (pthread_create(&threads[i], NULL, words_await, &waiters[i]))
			return 1;
	}
	for (size_t i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}

struct rows {
	const struct process_slot *slots;
	uint32_t uid;
	size_t n;
};

static void rows_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	struct rows *rows = data;

	rows->n += value->count && rows->slots[key->slot].uid == rows->uid && key->kind == RESOURCE_FUTEX &&
		   key->resource - (uintptr_t)words < sizeof(words);
}

static size_t rows_of(struct rig *rig, uint32_t uid)
{
	struct rows rows = { .slots = probe_set_slots(rig->set), .uid = uid };

	CHECK("read", probe_set_waits(rig->set, rows_add, &rows) >= 0);
	return rows.n;
}

/* Losses that concern one user alone. */
static uint64_t lost_by(const struct rig *rig, uint32_t uid, enum loss_reason reason)
{
	uint64_t losses[LOSS_COUNT] = { 0 };

	probe_set_user_losses(rig->set, uid, losses);
	return losses[reason];
}

static void taken_add(uint32_t uid, enum loss_reason reason, uint64_t n, void *data)
{
	uint64_t *sums = data;

	CHECK_INT_EQ("whose", uid, CROWD_UID);
	sums[reason] += n;
}

/* All losses are the crowd's, and are taken once. */
static void check_losses(struct rig *rig)
{
	uint64_t sums[LOSS_COUNT] = { 0 }, all[LOSS_COUNT];

	probe_set_losses(rig->set, all);
	for (int i = 0; i < 2; i++)
		probe_set_user_losses_take(rig->set, taken_add, sums);
	for (size_t i = 0; i < ARRAY_SIZE(lost_kinds); i++) {
		CHECK("some are lost", lost_by(rig, CROWD_UID, lost_kinds[i]) > 0);
		CHECK_INT_EQ("taken once", sums[lost_kinds[i]], lost_by(rig, CROWD_UID, lost_kinds[i]));
		CHECK_INT_EQ("none of another user", lost_by(rig, 0, lost_kinds[i]), 0);
		CHECK_INT_EQ("none of everybody", all[lost_kinds[i]], 0);
	}
}

static void account_pass(const struct account_record *record, void *data)
{
	(void)record;
	(void)data;
}

static void unread_slots_release(struct rig *rig)
{
	for (uint32_t i = 1; i < PROCESS_SLOTS; i++)
		if (probe_set_slots(rig->set)[i].state == PROCESS_SLOT_GONE)
			CHECK_INT_EQ("released", probe_set_slot_release(rig->set, i), 0);
}

static void behind_pass(const struct behind_key *key, const struct behind_value *value, void *data)
{
	(void)key;
	(void)value;
	(void)data;
}

static int life_pass(void *context, void *data, size_t bytes)
{
	(void)bytes;
	probe_set_life_taken(context, data);
	return 0;
}

static void lives_pass(struct rig *rig)
{
	struct ring_buffer *ring = ring_buffer__new(probe_set_life_fd(rig->set), life_pass, rig->set, NULL);

	CHECK("read", ring_buffer__consume(ring) >= 0);
	ring_buffer__free(ring);
}

static void slots_release(struct rig *rig)
{
	lives_pass(rig);
	CHECK("read", probe_set_accounts(rig->set, account_pass, NULL) >= 0);
	unread_slots_release(rig);
	CHECK("read", probe_set_behind(rig->set, behind_pass, NULL) >= 0);
}

/* Root's crowd of RESOURCES_FEW waits a thread: some waits end before the thread sleeps. */
static void check_few_told(const char *what, struct rig *rig)
{
	CHECK_INT_IN(what, rows_of(rig, 0), THREADS * RESOURCES_FEW * 9 / 10, THREADS * RESOURCES_FEW);
}

static void check_waits(struct rig *rig)
{
	static struct crowd many = { CROWD_UID, RESOURCES, false }, few = { CROWD_UID, RESOURCES_FEW, false },
			    others = { 0, RESOURCES_FEW, false };
	uint64_t lost;

	CHECK_INT_EQ("room for all", rig_loss(rig, LOSS_WAITS), 0);
	CHECK_INT_EQ("many", rig_child(rig, crowd_run, &many, NULL), 0);
	CHECK_INT_EQ("and once more", rig_child(rig, crowd_run, &few, NULL), 0);
	lost = rig_loss(rig, LOSS_WAITS);
	CHECK_INT_IN("a share of the rows", rows_of(rig, CROWD_UID), WAITS_SHARE / 2, WAITS_SHARE + RACES);
	CHECK_INT_IN("the rest is lost", lost, (THREADS * RESOURCES - WAITS_SHARE) / 2, 2 * THREADS * RESOURCES);

	CHECK_INT_EQ("another user's", rig_child(rig, crowd_run, &others, NULL), 0);
	check_few_told("each has a row", rig);
	CHECK_INT_EQ("none is lost", rig_loss(rig, LOSS_WAITS), lost);

	CHECK_INT_EQ("after a read", rig_child(rig, crowd_run, &few, NULL), 0);
	CHECK_INT_IN("no more than the share", rows_of(rig, CROWD_UID), 1, WAITS_SHARE + RACES);

	slots_release(rig);
	CHECK_INT_EQ("rows went with their slots", rows_of(rig, CROWD_UID), 0);
	lost = rig_loss(rig, LOSS_WAITS);
	CHECK_INT_EQ("room again", rig_child(rig, crowd_run, &few, NULL), 0);
	CHECK_INT_EQ("none is lost any more", rig_loss(rig, LOSS_WAITS), lost);
}

#define SUBORDINATE_UID 200000

/* However many user ids a person has, all together have the share of one; so have processes that belong to nobody. */
static void check_many_ids(struct rig *rig)
{
	static struct crowd crowds[] = { { SUBORDINATE_UID, RESOURCES, false },
					 { SUBORDINATE_UID + 1, 2 * RESOURCES_FEW, false },
					 { SUBORDINATE_UID + 99, RESOURCES_FEW, false },
					 { CROWD_UID, RESOURCES_FEW, true } },
			    others = { 0, RESOURCES_FEW, false };
	size_t n = 0;

	slots_release(rig);
	CHECK_INT_EQ("none at first", rows_of(rig, CROWD_UID), 0);
	probe_set_subordinate(rig->set, SUBORDINATE_UID, 100);
	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++)
		CHECK_INT_EQ("one of many", rig_child(rig, crowd_run, &crowds[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++)
		n += rows_of(rig, crowds[i].uid);
	CHECK_INT_IN("one share for all", n, WAITS_SHARE / 2, WAITS_SHARE + RACES);
	for (size_t i = 1; i < ARRAY_SIZE(crowds); i++)
		CHECK("each is told of its own loss", lost_by(rig, crowds[i].uid, LOSS_WAITS) > 0);
	CHECK_INT_EQ("another user's", rig_child(rig, crowd_run, &others, NULL), 0);
	check_few_told("each has a row", rig);
	CHECK_INT_EQ("none of its are lost", lost_by(rig, 0, LOSS_WAITS), 0);
	probe_set_subordinate(rig->set, 0, 0);
	slots_release(rig);
}

/* ---- whose share ---- */

struct taken {
	uint32_t uid;
	uint64_t own, others;
};

static void taken_of(uint32_t uid, enum loss_reason reason, uint64_t n, void *data)
{
	struct taken *taken = data;

	if (reason == LOSS_WAITS)
		*(uid == taken->uid ? &taken->own : &taken->others) += n;
}

/* A crowd without room for all its waits beside a user with few of them: each has its own places and losses. */
static void check_pair(const char *what, struct rig *rig, uint32_t uid, uint32_t other_uid)
{
	struct crowd many = { uid, RESOURCES, false }, few = { other_uid, RESOURCES_FEW, false };
	uint64_t before = lost_by(rig, uid, LOSS_WAITS), other_before = lost_by(rig, other_uid, LOSS_WAITS),
		 all_before = rig_loss(rig, LOSS_WAITS);
	struct taken taken = { .uid = uid };

	CHECK_INT_EQ(what, rows_of(rig, other_uid), 0);
	probe_set_user_losses_take(rig->set, taken_of, &(struct taken){ .uid = uid });
	CHECK_INT_EQ(what, rig_child(rig, crowd_run, &many, NULL), 0);
	CHECK_INT_EQ(what, rig_child(rig, crowd_run, &few, NULL), 0);
	CHECK_INT_IN(what, rows_of(rig, other_uid), THREADS * RESOURCES_FEW * 9 / 10, THREADS * RESOURCES_FEW);
	CHECK(what, lost_by(rig, uid, LOSS_WAITS) > before);
	CHECK_INT_EQ(what, lost_by(rig, other_uid, LOSS_WAITS), other_before);
	probe_set_user_losses_take(rig->set, taken_of, &taken);
	CHECK_INT_EQ(what, taken.own, rig_loss(rig, LOSS_WAITS) - all_before);
	CHECK_INT_EQ(what, taken.others, 0);
	slots_release(rig);
}

/* 55345 and 54321 are equal modulo 1024, and so is 200753, which may be anybody's. */
static void check_whose(struct rig *rig)
{
	static const struct {
		const char *what;
		uint32_t uid, other_uid;
	} pairs[] = {
		{ "equal modulo 1024", 55345, 54321 },
		{ "the same, subordinate", 200753, 54321 },
		{ "beside a subordinate one", 54321, 200753 },
	};

	probe_set_subordinate(rig->set, SUBORDINATE_UID, 65536);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		check_pair(pairs[i].what, rig, pairs[i].uid, pairs[i].other_uid);
	probe_set_subordinate(rig->set, 0, 0);
}

/* Takes the free shares away. Return: how many */
static size_t free_shares_take(const struct rig *rig, uint32_t ret[USER_SHARES])
{
	size_t n = 0;

	while (n < USER_SHARES &&
	       bpf_map_lookup_and_delete_elem(bpf_map__fd(rig->set->bpf->maps.free_shares), NULL, &ret[n]) == 0)
		n++;
	return n;
}

static void free_shares_give(const struct rig *rig, const uint32_t shares[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK_INT_EQ(
			"given back",
			bpf_map_update_elem(bpf_map__fd(rig->set->bpf->maps.free_shares), NULL, &shares[i], BPF_ANY),
			0);
}

static size_t free_shares(const struct rig *rig)
{
	uint32_t shares[USER_SHARES];
	size_t n = free_shares_take(rig, shares);

	free_shares_give(rig, shares, n);
	return n;
}

static void losses_pass(struct rig *rig)
{
	for (int i = 0; i < 2; i++)
		probe_set_user_losses_take(rig->set, taken_of, &(struct taken){ .uid = 0 });
}

#define PASSING_UID 53000

/* A user has a share while there is a process of his; with losses it stays. */
static void check_freed(struct rig *rig)
{
	static const struct {
		const char *what;
		struct crowd crowd;
		size_t n_after; /* shares that it still has when its processes are gone */
	} rows[] = {
		{ "without a loss", { PASSING_UID, RESOURCES_FEW, false }, 0 },
		{ "with losses", { PASSING_UID, RESOURCES, false }, 1 },
	};

	losses_pass(rig); /* users of the checks before */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct crowd crowd = rows[i].crowd;
		size_t n = free_shares(rig);

		CHECK_INT_EQ(rows[i].what, rig_child(rig, crowd_run, &crowd, NULL), 0);
		losses_pass(rig);
		CHECK_INT_EQ(rows[i].what, free_shares(rig), n - 1);
		slots_release(rig);
		CHECK_INT_EQ(rows[i].what, rows_of(rig, PASSING_UID), 0);
		losses_pass(rig);
		CHECK_INT_EQ(rows[i].what, free_shares(rig), n - rows[i].n_after);
	}
}

/* Users for whom no share is left: what they lose is told as the machine's. */
static void check_none_left(struct rig *rig)
{
	static struct crowd late = { PASSING_UID + 1, RESOURCES, false };
	uint64_t before[LOSS_COUNT], after[LOSS_COUNT];
	uint32_t shares[USER_SHARES];
	size_t n = free_shares_take(rig, shares);

	probe_set_losses(rig->set, before);
	CHECK_INT_EQ("none left", rig_child(rig, crowd_run, &late, NULL), 0);
	probe_set_losses(rig->set, after);
	CHECK("lost by the machine", after[LOSS_WAITS] > before[LOSS_WAITS]);
	CHECK_INT_EQ("not by the user", lost_by(rig, PASSING_UID + 1, LOSS_WAITS), 0);
	free_shares_give(rig, shares, n);
	slots_release(rig);
}

/* ---- wakers ---- */

#define WAKERS_MANY (WAKERS_MAX + 100)
#define ROUNDS 20

static int ask[2], answer[2], ready[2];

/* Ends so many waits; lives until its process ends. */
static void *answers(void *data)
{
	for (size_t i = 0; i < (uintptr_t)data; i++) {
		rig_byte_take(ask[0]);
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
		rig_byte_give(answer[1]);
	}
	for (;;)
		(void)pause();
	return NULL;
}

/* @n_each: waits that each of the threads ends */
static void waits_ended_by(size_t n_threads, size_t n_each)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0 || pthread_attr_init(&attr) ||
	    pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES))
		_exit(1);
	for (size_t i = 0; i < n_threads; i++)
		if (pthread_create(&thread, &attr, answers, (void *)(uintptr_t)n_each))
			_exit(1);
	for (size_t i = 0; i < n_threads * n_each; i++) {
		(void)subject_empty();
		rig_byte_give(ask[1]);
		rig_byte_take(answer[0]);
	}
	(void)subject_empty();
}

static void wakers_stay(void)
{
	become(CROWD_UID);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	waits_ended_by(WAKERS_MANY, 1);
	rig_byte_give(ready[1]);
	for (;;)
		(void)pause();
}

static int wakers_run(void *data)
{
	pid_t pid;

	(void)data;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		wakers_stay();
	(void)close(ready[1]);
	rig_byte_take(ready[0]);
	waits_ended_by(1, ROUNDS);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return 0;
}

struct meanwhile {
	uint32_t slot;
	uint64_t ns;
};

static void meanwhile_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	struct meanwhile *meanwhile = data;

	if (key->slot == meanwhile->slot && key->is_meanwhile)
		meanwhile->ns += value->ns;
}

static void check_wakers(struct rig *rig)
{
	uint64_t before = rig_loss(rig, LOSS_WAKERS), expected = WAKERS_MANY - WAKERS_SHARE;
	struct meanwhile meanwhile = {};
	pid_t pid;

	CHECK_INT_EQ("run", rig_child(rig, wakers_run, NULL, &pid), 0);
	meanwhile.slot = rig_slot(rig, pid);
	CHECK("read", probe_set_waits(rig->set, meanwhile_add, &meanwhile) >= 0);
	/* What the waker did is told from the second wait on. */
	CHECK_INT_IN("another user's waker has a place", meanwhile.ns, (ROUNDS - 1) * MOMENT_NS * 9 / 10,
		     NSEC_PER_SEC * ROUNDS);
	CHECK_INT_IN("the rest is lost", rig_loss(rig, LOSS_WAKERS) - before, expected / 2, expected + RACES);
	slots_release(rig);
}

/* ---- accounts of threads that end ---- */

#define ENDING (ACCOUNTS_ENDED + 100)
#define ENDING_FEW 50

struct ending {
	uint32_t uid;
	size_t n;
};

static void *call_once(void *data)
{
	(void)subject_empty();
	return data;
}

static int threads_end(void *data)
{
	const struct ending *ending = data;
	pthread_t thread;

	become(ending->uid);
	for (size_t i = 0; i < ending->n; i++)
		if (pthread_create(&thread, NULL, call_once, NULL) || pthread_join(thread, NULL))
			return 1;
	return 0;
}

struct accounts {
	const struct process_slot *slots;
	size_t of_crowd, of_others;
};

static void account_add(const struct account_record *record, void *data)
{
	struct accounts *accounts = data;

	if (accounts->slots[record->slot].uid == CROWD_UID)
		accounts->of_crowd++;
	else
		accounts->of_others++;
}

static void accounts_read(struct rig *rig, struct accounts *ret)
{
	*ret = (struct accounts){ .slots = probe_set_slots(rig->set) };
	CHECK("read", probe_set_accounts(rig->set, account_add, ret) >= 0);
}

static void check_accounts(struct rig *rig)
{
	static struct ending many = { CROWD_UID, ENDING }, few = { CROWD_UID, ENDING_FEW }, others = { 0, ENDING_FEW };
	uint64_t lost = lost_by(rig, CROWD_UID, LOSS_ACCOUNTS), n_lost;
	struct accounts accounts;

	accounts_read(rig, &accounts); /* of the checks before */
	CHECK_INT_EQ("many", rig_child(rig, threads_end, &many, NULL), 0);
	CHECK_INT_EQ("another user's", rig_child(rig, threads_end, &others, NULL), 0);
	accounts_read(rig, &accounts);
	CHECK_INT_IN("a share of the accounts", accounts.of_crowd, ACCOUNTS_SHARE, ACCOUNTS_SHARE + 1);
	CHECK_INT_EQ("each of the other user's is there", accounts.of_others, ENDING_FEW);
	n_lost = lost_by(rig, CROWD_UID, LOSS_ACCOUNTS);
	CHECK_INT_EQ("the rest is lost", n_lost - lost, ENDING - accounts.of_crowd);
	CHECK_INT_EQ("none of another user", lost_by(rig, 0, LOSS_ACCOUNTS), 0);

	CHECK_INT_EQ("after a reading", rig_child(rig, threads_end, &few, NULL), 0);
	unread_slots_release(rig);
	accounts_read(rig, &accounts);
	CHECK_INT_EQ("accounts went with their slots", accounts.of_crowd, 0);
	n_lost = lost_by(rig, CROWD_UID, LOSS_ACCOUNTS);
	for (int i = 0; i < 2; i++) {
		CHECK_INT_EQ("room again", rig_child(rig, threads_end, &few, NULL), 0);
		accounts_read(rig, &accounts);
		CHECK_INT_EQ("each is there", accounts.of_crowd, ENDING_FEW);
	}
	CHECK_INT_EQ("none is lost any more", lost_by(rig, CROWD_UID, LOSS_ACCOUNTS), n_lost);
	slots_release(rig);
}

/* ---- records of process life ---- */

#define LIVES_MANY 2500 /* processes, of each a fork and an exit: more than there is room for */
#define LIVES_FEW 50

struct family {
	uint32_t uid;
	size_t n_children;
	bool calls; /* at the end */
};

static int family_run(void *data)
{
	const struct family *family = data;

	become(family->uid);
	for (volatile size_t i = 0; i < family->n_children; i++) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(0);
		(void)waitpid(pid, NULL, 0);
	}
	return family->calls ? subject_empty() : 0;
}

struct lives {
	struct probe_set *set;
	size_t of_crowd;
	size_t forks, exits; /* of others */
	uint32_t caller;     /* the last process that had made a call and ended */
};

static int life_note(void *context, void *data, size_t bytes)
{
	struct lives *lives = context;
	const struct life_record *life = data;

	(void)bytes;
	probe_set_life_taken(lives->set, life);
	lives->of_crowd += life->uid == CROWD_UID;
	lives->forks += life->uid != CROWD_UID && life->type == RECORD_FORK;
	lives->exits += life->uid != CROWD_UID && life->type == RECORD_EXIT;
	if (life->type == RECORD_EXIT && life->slot)
		lives->caller = life->tgid;
	return 0;
}

static void lives_read(struct ring_buffer *ring, struct lives *lives)
{
	*lives = (struct lives){ .set = lives->set };
	(void)ring_buffer__consume(ring);
}

static void check_lives(struct rig *rig)
{
	static struct family many = { CROWD_UID, LIVES_MANY, false }, few = { CROWD_UID, LIVES_FEW, false },
			     caller = { CROWD_UID, 0, true }, others = { 0, LIVES_FEW, false };
	uint64_t lost = lost_by(rig, CROWD_UID, LOSS_LIFE_FULL), lost_of_others = lost_by(rig, 0, LOSS_LIFE_FULL);
	struct lives lives = { .set = rig->set };
	struct ring_buffer *ring = ring_buffer__new(probe_set_life_fd(rig->set), life_note, &lives, NULL);
	pid_t pid;

	lives_read(ring, &lives); /* of the checks before */
	CHECK_INT_EQ("many", rig_child(rig, family_run, &many, NULL), 0);
	CHECK_INT_EQ("another user's", rig_child(rig, family_run, &others, NULL), 0);
	CHECK_INT_EQ("one that called", rig_child(rig, family_run, &caller, &pid), 0);
	lives_read(ring, &lives);
	CHECK_INT_IN("a share of the records", lives.of_crowd, LIVES_SHARE, LIVES_SHARE + RACES);
	CHECK_INT_EQ("the rest is lost", lost_by(rig, CROWD_UID, LOSS_LIFE_FULL) - lost,
		     2 * LIVES_MANY + 2 - lives.of_crowd);
	CHECK_INT_EQ("each fork of the other user's is there", lives.forks, LIVES_FEW);
	CHECK_INT_EQ("and each exit", lives.exits, LIVES_FEW + 1);
	CHECK_INT_EQ("none is lost", lost_by(rig, 0, LOSS_LIFE_FULL), lost_of_others);
	CHECK_INT_EQ("the end of one that called is there", lives.caller, pid);

	lost = lost_by(rig, CROWD_UID, LOSS_LIFE_FULL);
	CHECK_INT_EQ("after a reading", rig_child(rig, family_run, &few, NULL), 0);
	lives_read(ring, &lives);
	CHECK_INT_EQ("each is there", lives.of_crowd, 2 * LIVES_FEW + 1);
	CHECK_INT_EQ("none is lost any more", lost_by(rig, CROWD_UID, LOSS_LIFE_FULL), lost);
	ring_buffer__free(ring);
	slots_release(rig);
}

/* ---- records of calls ---- */

#define CALLS_MANY 20000 /* more than there is room for */
#define CALLS_FEW 200

struct callers {
	uint32_t uid;
	size_t n_calls;
};

static int callers_run(void *data)
{
	const struct callers *callers = data;

	become(callers->uid);
	for (size_t i = 0; i < callers->n_calls; i++)
		(void)subject_empty();
	return 0;
}

struct calls {
	size_t of_crowd, of_others, bytes;
};

static int call_note(void *context, void *data, size_t bytes)
{
	const struct call_record *call = data;
	struct calls *calls = context;

	if (call->type != RECORD_CALL)
		return 0;
	calls->bytes += bytes + BPF_RINGBUF_HDR_SZ;
	calls->of_crowd += call->uid == CROWD_UID;
	calls->of_others += call->uid != CROWD_UID;
	return 0;
}

static struct calls calls_read(struct ring_buffer *ring, struct calls *calls)
{
	*calls = (struct calls){ .bytes = 0 };
	CHECK("read", ring_buffer__consume(ring) >= 0);
	return *calls;
}

/* Nobody reads the ring while one user calls without end; then another one does. */
static void check_calls(struct rig *rig)
{
	static struct callers many = { CROWD_UID, CALLS_MANY }, few = { CROWD_UID, CALLS_FEW },
			      others = { 0, CALLS_FEW };
	uint64_t lost = lost_by(rig, CROWD_UID, LOSS_RING_FULL), lost_of_others = lost_by(rig, 0, LOSS_RING_FULL);
	struct calls calls;
	struct ring_buffer *ring = ring_buffer__new(probe_set_calls_fd(rig->set), call_note, &calls, NULL);

	(void)calls_read(ring, &calls); /* of the checks before */
	rig->wish = RIG_EVERY_CALL;
	for (int i = 0; i < 2; i++) {
		CHECK_INT_EQ("many", rig_child(rig, callers_run, &many, NULL), 0);
		CHECK_INT_EQ("another user's", rig_child(rig, callers_run, &others, NULL), 0);
		(void)calls_read(ring, &calls);
		CHECK_INT_EQ("each call of the other user is there", calls.of_others, CALLS_FEW);
		CHECK_INT_IN("most of the ring was the crowd's", calls.bytes, PROBE_RING_BYTES * 3 / 4,
			     PROBE_RING_BYTES * 7 / 8);
		lost += CALLS_MANY - calls.of_crowd;
		CHECK_INT_EQ("the rest is lost", lost_by(rig, CROWD_UID, LOSS_RING_FULL), lost);
	}
	CHECK_INT_EQ("none of the other user", lost_by(rig, 0, LOSS_RING_FULL), lost_of_others);
	CHECK_INT_EQ("after a reading", rig_child(rig, callers_run, &few, NULL), 0);
	(void)calls_read(ring, &calls);
	CHECK_INT_EQ("each is there", calls.of_crowd, CALLS_FEW);
	CHECK_INT_EQ("none is lost any more", lost_by(rig, CROWD_UID, LOSS_RING_FULL), lost);
	rig->wish = RIG_NO_CALL;
	ring_buffer__free(ring);
	slots_release(rig);
}

/* While no other user's process makes calls, one has the whole ring; another one's first call changes that. */
static void check_calls_alone(struct rig *rig)
{
	static struct callers many = { CROWD_UID, CALLS_MANY }, few = { CROWD_UID, 1 }, others = { 0, 1 };
	static const struct {
		const char *what;
		struct callers *before;
		size_t least, most; /* bytes on the ring */
	} rows[] = {
		{ "alone", &few, PROBE_RING_BYTES * 15 / 16, PROBE_RING_BYTES },
		{ "beside another user", &others, PROBE_RING_BYTES * 3 / 4, PROBE_RING_BYTES * 7 / 8 },
	};
	struct calls calls;
	struct ring_buffer *ring = ring_buffer__new(probe_set_calls_fd(rig->set), call_note, &calls, NULL);

	CHECK_INT_EQ("first call", rig_child(rig, callers_run, &few, NULL), 0);
	losses_pass(rig); /* the daemon sees who is there */
	rig->wish = RIG_EVERY_CALL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_INT_EQ(rows[i].what, rig_child(rig, callers_run, rows[i].before, NULL), 0);
		CHECK_INT_EQ(rows[i].what, rig_child(rig, callers_run, &many, NULL), 0);
		(void)calls_read(ring, &calls);
		CHECK_INT_IN(rows[i].what, calls.bytes, rows[i].least, rows[i].most);
	}
	rig->wish = RIG_NO_CALL;
	ring_buffer__free(ring);
	slots_release(rig);
}

/* ---- slots of processes, and cells of their operations ---- */

#define PROCESSES_MANY (PROCESS_SLOTS + 100) /* more than there are slots */
#define PROCESSES_MIDDLE 700 /* not too many for a share of the slots, but of the cells and spare cells */
#define PROCESSES_MOST 240   /* of another user beside these: not too many for his share of the slots */
#define PROCESSES_FEW 50
#define OPS 5

static const unsigned int ops[OPS] = { RIG_EMPTY, RIG_JUMP_HEAD, RIG_FAIL, RIG_COPY, RIG_DRIVER };

struct processes {
	uint32_t uid;
	size_t n, n_ops;
};

static int op_call(size_t i)
{
	switch (ops[i]) {
	case RIG_EMPTY:
		return subject_empty();
	case RIG_JUMP_HEAD:
		return subject_jump_head();
	case RIG_FAIL:
		return subject_fail(0);
	case RIG_COPY:
		return subject_arguments(NULL, 1, 1);
	default:
		return subject_driver(NULL, NULL);
	}
}

/* Each process calls each of its operations once, and ends; its slot stays until it is released. */
static int processes_run(void *data)
{
	const struct processes *processes = data;

	become(processes->uid);
	for (size_t i = 0; i < processes->n; i++) {
		pid_t pid = fork();
		int status = -1;

		for (size_t k = 0; pid == 0 && k < processes->n_ops; k++)
			if (op_call(k))
				_exit(1);
		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
	}
	return 0;
}

static size_t slots_of(const struct rig *rig, uint32_t uid)
{
	size_t n = 0;

	for (uint32_t i = 1; i < PROCESS_SLOTS - 1; i++)
		n += probe_set_slots(rig->set)[i].state != PROCESS_SLOT_FREE && probe_set_slots(rig->set)[i].uid == uid;
	return n;
}

static void check_slots(struct rig *rig)
{
	static struct processes many = { CROWD_UID, PROCESSES_MANY, 1 }, few = { CROWD_UID, PROCESSES_FEW, 1 },
				others = { 0, PROCESSES_FEW, 1 };
	uint64_t lost = lost_by(rig, CROWD_UID, LOSS_PROCESS_SLOTS);

	slots_release(rig); /* of the checks before */
	for (int i = 0; i < 2; i++) {
		CHECK_INT_EQ("many", rig_child(rig, processes_run, &many, NULL), 0);
		lives_pass(rig);
		CHECK_INT_IN("a share of the slots", slots_of(rig, CROWD_UID), SLOTS_SHARE, SLOTS_SHARE + 1);
		lost += PROCESSES_MANY - slots_of(rig, CROWD_UID);
		CHECK_INT_EQ("calls of the rest are lost", lost_by(rig, CROWD_UID, LOSS_PROCESS_SLOTS), lost);
		CHECK_INT_EQ("another user's", rig_child(rig, processes_run, &others, NULL), 0);
		CHECK_INT_EQ("each has a slot", slots_of(rig, 0), PROCESSES_FEW);
		CHECK_INT_EQ("no call is lost", lost_by(rig, 0, LOSS_PROCESS_SLOTS), 0);
		slots_release(rig);
		CHECK_INT_EQ("room again", rig_child(rig, processes_run, &few, NULL), 0);
		CHECK_INT_EQ("each has a slot again", slots_of(rig, CROWD_UID), PROCESSES_FEW);
		slots_release(rig);
	}
}

struct cells {
	size_t own, together;		    /* of an operation; overflow cells */
	uint64_t own_calls, together_calls; /* that are counted in them */
};

static struct cells cells_of(struct rig *rig, uint32_t uid)
{
	const struct figure_cell *cells = probe_set_cells(rig->set);
	const struct process_slot *slots = probe_set_slots(rig->set);
	struct cells sum = { .own = 0 };

	for (uint32_t i = 1, n = probe_set_cells_used(rig->set); i < n; i++) {
		const struct figure_cell *cell = &cells[i];
		uint64_t calls = cell->untimed;
		bool is_call = false;

		if (!cell->slot || slots[cell->slot].uid != uid)
			continue;
		for (size_t k = 0; k < HISTOGRAM_BUCKETS; k++)
			calls += cell->buckets[k];
		for (size_t k = 0; k < OPS; k++)
			is_call |= cell->op == ops[k];
		sum.own += is_call;
		sum.own_calls += is_call ? calls : 0;
		sum.together += !cell->op;
		sum.together_calls += cell->op ? 0 : calls;
	}
	return sum;
}

static void check_cells(struct rig *rig)
{
	static struct processes many = { CROWD_UID, PROCESSES_MIDDLE, OPS }, others = { 0, PROCESSES_FEW, OPS };
	struct cells cells;

	for (int i = 0; i < 2; i++) {
		uint64_t lost = lost_by(rig, CROWD_UID, LOSS_CELLS), lost_of_others = lost_by(rig, 0, LOSS_CELLS);

		CHECK_INT_EQ("many", rig_child(rig, processes_run, &many, NULL), 0);
		lives_pass(rig);
		cells = cells_of(rig, CROWD_UID);
		CHECK_INT_IN("a share of the cells", cells.own, CELLS_SHARE * 3 / 4, CELLS_SHARE + 1);
		CHECK_INT_EQ("a share of the overflow cells", cells.together, SPARES_SHARE);
		CHECK_INT_EQ("without an operation, or not counted",
			     lost_by(rig, CROWD_UID, LOSS_CELLS) - lost + cells.own_calls, PROCESSES_MIDDLE * OPS);

		CHECK_INT_EQ("another user's", rig_child(rig, processes_run, &others, NULL), 0);
		cells = cells_of(rig, 0);
		CHECK_INT_EQ("each operation has a cell", cells.own, PROCESSES_FEW * OPS);
		CHECK_INT_EQ("each call is counted", cells.own_calls, PROCESSES_FEW * OPS);
		CHECK_INT_EQ("no call is lost", lost_by(rig, 0, LOSS_CELLS), lost_of_others);
		slots_release(rig);
		CHECK_INT_EQ("cells went with their slots", cells_of(rig, CROWD_UID).own, 0);
	}
}

/* Beside the crowd another user has more than his share of cells: his calls are counted, without their operation. */
static void check_spares(struct rig *rig)
{
	static struct processes many = { CROWD_UID, PROCESSES_MIDDLE, OPS }, others = { 0, 1, OPS };
	uint64_t lost = lost_by(rig, 0, LOSS_CELLS);
	struct cells cells = { .own = 0 };
	size_t n = 0;

	CHECK_INT_EQ("many", rig_child(rig, processes_run, &many, NULL), 0);
	lives_pass(rig);
	for (; n < PROCESSES_MOST && cells.together < 2; n++) {
		CHECK_INT_EQ("another user's", rig_child(rig, processes_run, &others, NULL), 0);
		cells = cells_of(rig, 0);
	}
	CHECK_INT_EQ("overflow cells are left", cells.together, 2);
	CHECK_INT_EQ("each call is counted", cells.own_calls + cells.together_calls, n * OPS);
	CHECK_INT_EQ("he is told", lost_by(rig, 0, LOSS_CELLS) - lost, cells.together_calls);
	slots_release(rig);
}

/* ---- who ran meanwhile ---- */

#define CROWD_CPU 0
#define BREEDER_UID 65533
#define BRED 6000 /* processes that run for a moment each: more than there are rows */
#define BRED_FEW 50
#define BRED_NS 100000
#define BRED_AT_ONCE 64 /* so that the victim waits for no more switches than are remembered */

static void crowd_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(CROWD_CPU, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		_exit(1);
}

static void breed(size_t n)
{
	rig_byte_take(ask[0]);
	for (size_t i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			for (uint64_t until_ns = rig_now_ns() + BRED_NS; rig_now_ns() < until_ns;)
				;
			_exit(0);
		}
		(void)waitpid(pid, NULL, 0);
		if (i % BRED_AT_ONCE == 0)
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
	}
	rig_byte_give(answer[1]);
	_exit(0);
}

/* Always ready to run. */
static int await_bred(void *data)
{
	struct pollfd bred = { .fd = answer[0], .events = POLLIN };

	(void)data;
	rig_byte_give(ask[1]);
	while (poll(&bred, 1, 0) == 0)
		;
	return 0;
}

static int victim_run(void *data)
{
	const uint32_t *uid = data;

	crowd_cpu();
	become(*uid);
	(void)subject_call(await_bred, NULL);
	(void)subject_empty();
	return 0;
}

struct meanwhiles {
	uint32_t slot;
	size_t n;
	uint64_t ns, of_breeder_ns;
};

/* Waits for a CPU that were longer than what is remembered: of all users. */
static uint64_t too_long(const struct rig *rig)
{
	uint64_t losses[LOSS_COUNT];

	probe_set_losses(rig->set, losses);
	return losses[LOSS_BEHIND];
}

static void behind_add(const struct behind_key *key, const struct behind_value *value, void *data)
{
	struct meanwhiles *sum = data;

	if (key->slot != sum->slot)
		return;
	sum->n++;
	sum->ns += value->ns;
	sum->of_breeder_ns += value->uid == BREEDER_UID ? value->ns : 0;
}

/* Nobody is left out, however many run: without room for each of them their user is told. */
static void check_behind(struct rig *rig)
{
	static const struct {
		const char *what;
		uint32_t uid;
		size_t n;
	} rows[] = {
		{ "a crowd runs", CROWD_UID, BRED },
		{ "some run beside another user", CROWD_UID - 1, BRED_FEW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct meanwhiles sum = { .n = 0 };
		uint32_t uid = rows[i].uid;
		uint64_t long_before = too_long(rig), runnable_ns;
		pid_t pid, breeder;

		if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0)
			CHECK_SKIP("no pipes");
		breeder = fork();
		if (breeder == 0) {
			crowd_cpu();
			become(BREEDER_UID);
			breed(rows[i].n);
		}
		CHECK_INT_EQ(rows[i].what, rig_child(rig, victim_run, &uid, &pid), 0);
		(void)waitpid(breeder, NULL, 0);
		runnable_ns = rig_figures(rig, pid, RIG_CALL).blame_ns[BLAME_RUNNABLE] +
			      rig_figures(rig, pid, OP_EVENT_wait_main).blame_ns[BLAME_RUNNABLE];
		sum.slot = rig_slot(rig, pid);
		CHECK("read", probe_set_behind(rig->set, behind_add, &sum) >= 0);
		CHECK_INT_IN(rows[i].what, sum.ns, too_long(rig) == long_before ? runnable_ns - runnable_ns / 50 : 0,
			     runnable_ns);
		CHECK_INT_IN(rows[i].what, sum.of_breeder_ns, rows[i].n * BRED_NS / 2, runnable_ns);
		CHECK_INT_IN(rows[i].what, sum.n, MIN(rows[i].n, (size_t)BEHIND_SHARE) / 2, BEHIND_SHARE + RACES);
		CHECK_INT_EQ(rows[i].what, lost_by(rig, uid, LOSS_BEHIND), 0);
		for (size_t k = 0; k < 2; k++) {
			(void)close(ask[k]);
			(void)close(answer[k]);
		}
	}
	slots_release(rig);
}

/* ---- a slot that belongs to another process by now ---- */

static struct rig *the_rig;

/* As if the slot had been released and taken by process 1 while the thread waited. */
static int waits_late(void *data)
{
	struct process_slot *slot;

	(void)data;
	(void)subject_empty();
	slot = &the_rig->set->slots[rig_slot(the_rig, getpid())];
	__atomic_store_n(&slot->tgid, 1, __ATOMIC_SEQ_CST);
	(void)syscall(SYS_futex, &words[0], FUTEX_WAIT, 0, &moment, NULL, 0);
	(void)subject_empty();
	return 0;
}

static void check_late(struct rig *rig)
{
	static struct crowd few = { 0, RESOURCES_FEW, false };

	the_rig = rig;
	slots_release(rig);
	CHECK_INT_EQ("in time", rig_child(rig, crowd_run, &few, NULL), 0);
	check_few_told("told", rig);
	slots_release(rig);
	CHECK_INT_EQ("late", rig_child(rig, waits_late, NULL, NULL), 0);
	CHECK_INT_EQ("not told to the next one in its slot", rows_of(rig, 0), 0);
	slots_release(rig);
}

int main(int argc, char **argv)
{
	struct rig rig;

	rig_open(&rig, rig_back_end(argc, argv), 0);
	if (!probe_set_measures(rig.set, BLAME_RUNNABLE))
		CHECK_SKIP("this kernel does not tell of task switches");
	check_wakers(&rig);
	check_wakers(&rig); /* the places of those that ended are free again */
	check_waits(&rig);
	check_accounts(&rig);
	check_lives(&rig);
	check_calls(&rig);
	check_slots(&rig);
	check_cells(&rig);
	check_losses(&rig);
	check_spares(&rig);
	check_many_ids(&rig);
	check_behind(&rig);
	check_whose(&rig);
	check_freed(&rig);
	check_calls_alone(&rig);
	check_none_left(&rig);
	check_late(&rig);
	rig_close(&rig);
	return check_result();
}
