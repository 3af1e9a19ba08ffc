// SPDX-License-Identifier: Apache-2.0
/* Programs that stand still until what they loaded is attached: each way in which they go on, and that none stays. */
#include "probes/hold.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/record.h"
#include "probes/lease.h"
#include "probes/target.h"
#include "tests/support/check.h"

#define SECONDS_MAX 30
#define LIMIT_SECONDS 10
#define NOBODY 65534

/* A library that is being looked at. */
struct scan {
	target_done_func done; /* NULL once it was called */
	void *data;
	uint32_t tgid;
};

/* The daemon's other parts, as far as they are asked. */
static struct world {
	struct scan scans[4];
	size_t n_scans;
	bool is_attached_at_once;
	bool caller_answers;
	unsigned int n_let_go, n_asked, n_ignored;
	struct lease *lease; /* which holds it */
	/* Record that nobody has fetched yet; type 0: none. */
	struct life_record ring;
	struct hold *hold;
} world;

static void scan_end(size_t i)
{
	struct scan scan = world.scans[i];

	world.scans[i].done = NULL;
	if (scan.done)
		scan.done(scan.tgid, scan.data);
}

void target_set_load(struct target_set *targets, const struct target_load *load, target_done_func done, void *data)
{
	(void)targets;
	world.scans[world.n_scans++] = (struct scan){ done, data, load->tgid };
	if (world.is_attached_at_once)
		scan_end(world.n_scans - 1);
}

void target_set_let_go(struct target_set *targets, uint32_t tgid)
{
	(void)targets;
	(void)tgid;
	world.n_let_go++;
}

bool lease_holds(const struct lease *lease, uint32_t tgid)
{
	(void)tgid;
	return lease == world.lease;
}

static void identity_take(uid_t uid)
{
	CHECK_INT_EQ("identity", setresuid(uid, uid, 0), 0); /* root, kept aside, is what gives it back */
}

static bool caller_ask(uint32_t tgid, void *data)
{
	(void)data;
	world.n_asked++;
	if (!world.caller_answers)
		return false;
	if (world.n_asked <= world.n_ignored)
		return true; /* he is stopped himself, say */
	/* The caller has the right to. */
	identity_take(0);
	(void)kill((pid_t)tgid, SIGCONT);
	identity_take(NOBODY);
	return true;
}

static void source_drain(void *data)
{
	struct life_record life = world.ring;

	(void)data;
	world.ring.type = 0;
	if (life.type)
		hold_library(world.hold, &life);
}

static const struct hold_events events = { .ask = caller_ask, .drain = source_drain };

static pid_t stopped_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)setsid(); /* within one, anybody may */
		(void)raise(SIGSTOP);
		for (;;)
			(void)pause(); /* until it is killed: that it went on is forgotten once it ends */
	}
	(void)waitpid(pid, &status, WUNTRACED);
	return pid;
}

/* It went on, and stops once more. */
static void child_stop_again(pid_t pid)
{
	int status;

	(void)waitpid(pid, &status, WCONTINUED); /* of the first time */
	(void)kill(pid, SIGSTOP);
	(void)waitpid(pid, &status, WUNTRACED);
}

static bool is_stopped(pid_t pid)
{
	siginfo_t info = { 0 };

	/* WNOWAIT: the stop stays there to be seen until it goes on. */
	return waitid(P_PID, (id_t)pid, &info, WCONTINUED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

enum happening { LATER, NEVER, LEASE_ENDS, OTHER_LEASE_ENDS, RELEASED, RELEASED_UNREAD };

static const struct row {
	const char *name;
	bool is_attached_at_once;
	bool is_service;	 /* without the right to signal */
	unsigned int n_refusals; /* of its caller, before it lets the program go on */
	enum happening happening;
	unsigned int seconds;	  /* after which it goes on; where its caller refuses at first, at most */
	unsigned int n_let_go;	  /* told that it goes on before all is attached */
	unsigned int n_asked_min; /* its caller */
	unsigned int n_ignored;	  /* by its caller, who says that he was asked and lets nobody go on */
} rows[] = {
	{ "attached at once", true, false, 0, NEVER, 0, 0, 0, 0 },
	{ "attached later", false, false, 0, LATER, 0, 0, 0, 0 },
	{ "never attached", false, false, 0, NEVER, 10, 1, 0, 0 },
	{ "its lease ends", false, false, 0, LEASE_ENDS, 0, 0, 0, 0 },
	{ "another lease ends", false, false, 0, OTHER_LEASE_ENDS, 10, 1, 0, 0 },
	{ "the daemon ends", false, false, 0, RELEASED, 0, 0, 0, 0 },
	{ "the daemon ends before it has read of it", false, false, 0, RELEASED_UNREAD, 0, 0, 0, 0 },
	{ "by its caller", true, true, 0, NEVER, 0, 0, 1, 0 },
	{ "by its caller, who has no room at first", true, true, 3, NEVER, 3, 0, 4, 0 },
	{ "by its caller, never attached", false, true, 0, NEVER, 10, 1, 1, 0 },
	{ "by its caller, who does nothing at first", true, true, 0, NEVER, 3, 0, 4, 3 },
};

static void make_happen(struct hold *hold, enum happening happening)
{
	switch (happening) {
	case LATER:
		scan_end(0);
		break;
	case LEASE_ENDS:
		(void)hold_end(hold, world.lease);
		break;
	case OTHER_LEASE_ENDS:
		(void)hold_end(hold, NULL);
		break;
	case RELEASED:
	case RELEASED_UNREAD:
		hold_release(hold);
		break;
	case NEVER:
		break;
	}
}

static void loop_settle(const struct hold *hold, uv_loop_t *loop)
{
	while (uv_is_active((uv_handle_t *)&hold->timer))
		(void)uv_run(loop, UV_RUN_NOWAIT);
}

/* As at the daemon's end: looks that are under way are told that they are done. */
static void world_end(struct hold *hold, uv_loop_t *loop, pid_t pid)
{
	hold_release(hold);
	for (size_t i = 0; i < world.n_scans; i++)
		scan_end(i);
	(void)uv_run(loop, UV_RUN_DEFAULT);
	hold_done(hold);
	identity_take(0);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void check_row(const struct row *row, uv_loop_t *loop, struct lease *lease)
{
	struct hold hold = { .targets = NULL };
	struct life_record life = { .type = RECORD_LIBRARY, .library.is_held = true };
	unsigned int seconds = 0;
	pid_t pid = stopped_child();

	world = (struct world){ .is_attached_at_once = row->is_attached_at_once,
				.caller_answers = row->n_refusals == 0,
				.n_ignored = row->n_ignored,
				.lease = lease };
	if (row->is_service)
		identity_take(NOBODY);
	life.tgid = (uint32_t)pid;
	hold_open(&hold, loop, NULL, &events, NULL);
	world.hold = &hold;
	if (row->happening == RELEASED_UNREAD)
		world.ring = life;
	else
		hold_library(&hold, &life);
	make_happen(&hold, row->happening);
	loop_settle(&hold, loop);
	while (is_stopped(pid) && seconds < SECONDS_MAX) {
		world.caller_answers = world.n_asked >= row->n_refusals;
		hold_second(&hold);
		loop_settle(&hold, loop);
		seconds++;
	}
	loop_settle(&hold, loop);
	if (row->n_refusals || row->n_ignored) /* how often the caller is asked in a second is the machine's affair */
		CHECK(row->name, seconds <= row->seconds);
	else
		CHECK_INT_EQ(row->name, seconds, row->seconds);
	CHECK_INT_EQ(row->name, world.n_let_go, row->n_let_go);
	CHECK(row->name, world.n_asked >= row->n_asked_min);
	CHECK_INT_EQ(row->name, hold.held.n, 0);
	world_end(&hold, loop, pid);
}

/*
 * A program is held, its library is looked at for longer than the limit, it goes on, and stops at another library.
 * Looks end in any order: what was looked at for the first stop lets nobody go on from the second.
 */
enum { FIRST_STOP, SECOND_STOP, N_STOPS };

static const struct again_row {
	const char *name;
	bool is_service;	 /* nobody can let it go on at the limit: somebody else does, later */
	unsigned int n_ends;	 /* looks that end, */
	size_t ends[N_STOPS];	 /* in this order */
	unsigned int n_to_go_on; /* of these, until it goes on; 0: at the limit */
} again_rows[] = {
	{ "again: the earlier look ends first", false, 2, { FIRST_STOP, SECOND_STOP }, 2 },
	{ "again: the later look ends first", false, 2, { SECOND_STOP, FIRST_STOP }, 1 },
	{ "again: only the earlier look ends", false, 1, { FIRST_STOP }, 0 },
	{ "again by others: the earlier look ends first", true, 2, { FIRST_STOP, SECOND_STOP }, 2 },
	{ "again by others: the later look ends first", true, 2, { SECOND_STOP, FIRST_STOP }, 1 },
	{ "again by others: only the earlier look ends", true, 1, { FIRST_STOP }, 0 },
};

/* The process stops, and nothing lets it go on before the limit. */
static void hold_to_the_limit(struct hold *hold, const struct life_record *life)
{
	hold_library(hold, life);
	for (unsigned int i = 0; i < LIMIT_SECONDS; i++)
		hold_second(hold);
}

static void check_again(const struct again_row *row, uv_loop_t *loop)
{
	struct hold hold = { .targets = NULL };
	struct life_record life = { .type = RECORD_LIBRARY, .library.is_held = true };
	unsigned int n = 0, seconds = 0;
	pid_t pid = stopped_child();

	world = (struct world){ .lease = NULL };
	if (row->is_service)
		identity_take(NOBODY);
	life.tgid = (uint32_t)pid;
	hold_open(&hold, loop, NULL, &events, NULL);
	hold_to_the_limit(&hold, &life);
	CHECK_INT_EQ(row->name, world.n_let_go, 1);
	identity_take(0);
	if (row->is_service)
		(void)kill(pid, SIGCONT);
	child_stop_again(pid);

	hold_library(&hold, &life);
	while (n < row->n_ends && is_stopped(pid)) {
		scan_end(row->ends[n++]);
		loop_settle(&hold, loop);
	}
	CHECK_INT_EQ(row->name, is_stopped(pid), row->n_to_go_on == 0);
	CHECK_INT_EQ(row->name, n, row->n_to_go_on ? row->n_to_go_on : row->n_ends);
	while (is_stopped(pid) && seconds++ < SECONDS_MAX)
		hold_second(&hold);
	loop_settle(&hold, loop);
	CHECK_INT_EQ(row->name, seconds, row->n_to_go_on ? 0 : LIMIT_SECONDS);
	CHECK_INT_EQ(row->name, world.n_let_go, row->n_to_go_on ? 1 : 2);
	CHECK_INT_EQ(row->name, hold.held.n, 0);
	world_end(&hold, loop, pid);
}

/* It ended while it was held, and its number is another's by now: who is stopped by somebody else stays so. */
static void check_other(uv_loop_t *loop)
{
	struct hold hold = { .targets = NULL };
	struct life_record life = { .type = RECORD_LIBRARY, .library.is_held = true, .start_boot_ns = NSEC_PER_SEC };
	pid_t pid = stopped_child();

	world = (struct world){ .is_attached_at_once = true };
	life.tgid = (uint32_t)pid; /* which did not start in the first second */
	hold_open(&hold, loop, NULL, &events, NULL);
	hold_library(&hold, &life);
	loop_settle(&hold, loop);
	hold_second(&hold);
	loop_settle(&hold, loop);
	CHECK("another process with its number", is_stopped(pid));
	CHECK_INT_EQ("another process with its number", hold.held.n, 0);
	world_end(&hold, loop, pid);
}

/* It has gone on and stopped at another library, of which nobody has read: the second that comes lets it stay. */
static void check_stop_unread(uv_loop_t *loop)
{
	struct hold hold = { .targets = NULL };
	struct life_record life = { .type = RECORD_LIBRARY, .library.is_held = true };
	pid_t pid = stopped_child();

	world = (struct world){ .is_attached_at_once = true, .hold = &hold };
	life.tgid = (uint32_t)pid;
	hold_open(&hold, loop, NULL, &events, NULL);
	hold_library(&hold, &life);
	while (is_stopped(pid))
		(void)uv_run(loop, UV_RUN_NOWAIT);
	CHECK_INT_EQ("unread stop: goes on, which nobody has looked at yet", hold.held.n, 1);
	child_stop_again(pid);
	world.ring = life;
	world.is_attached_at_once = false;
	hold_second(&hold);
	CHECK("unread stop: stays", is_stopped(pid));
	CHECK_INT_EQ("unread stop: is read", world.n_scans, 2);
	loop_settle(&hold, loop);
	CHECK("unread stop: stays until it is attached", is_stopped(pid));
	scan_end(1);
	loop_settle(&hold, loop);
	CHECK("unread stop: goes on", !is_stopped(pid));
	world_end(&hold, loop, pid);
}

/* The lease waits for its end until its caller was asked, once, to let each go on. */
static void check_lease_end(uv_loop_t *loop, struct lease *lease)
{
	struct hold hold = { .targets = NULL };
	struct life_record life = { .type = RECORD_LIBRARY, .library.is_held = true };
	pid_t pid = stopped_child();

	world = (struct world){ .lease = lease, .n_ignored = 2 };
	identity_take(NOBODY);
	life.tgid = (uint32_t)pid;
	hold_open(&hold, loop, NULL, &events, NULL);
	CHECK("lease ends: nobody is held", hold_end(&hold, lease));
	hold_library(&hold, &life);
	CHECK("lease ends: no room to ask", !hold_end(&hold, lease));
	world.caller_answers = true;
	CHECK("lease ends: asked", hold_end(&hold, lease));
	CHECK("lease ends: was asked", hold_end(&hold, lease));
	CHECK_INT_EQ("lease ends: asked once", world.n_asked, 2);
	world_end(&hold, loop, pid);
}

int main(void)
{
	struct lease *lease = (struct lease *)&world; /* never looked into */
	uv_loop_t loop;

	if (geteuid() != 0)
		CHECK_SKIP("needs root, who can do without its rights");
	CHECK_INT_EQ("loop", uv_loop_init(&loop), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i], &loop, lease);
	for (size_t i = 0; i < ARRAY_SIZE(again_rows); i++)
		check_again(&again_rows[i], &loop);
	check_other(&loop);
	check_stop_unread(&loop);
	check_lease_end(&loop, lease);
	CHECK_INT_EQ("loop", uv_loop_close(&loop), 0);
	return check_result();
}
