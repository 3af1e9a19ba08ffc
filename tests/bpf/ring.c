// SPDX-License-Identifier: Apache-2.0
/*
 * The rings on the loop, with a producer that is always faster: whoever reads them comes back, and the loop serves
 * others in between.
 */
#include "events/ring.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "clock.h"
#include "probes/probe_stacks.h"
#include "rig.h"
#include "tests/support/check.h"

#define FEW 10
#define MANY 1600     /* records in the ring at first */
#define FAR_MORE 8000 /* than the ring has room for */
#define TURNS_FED 3
#define TURNS 100
#define CALL_NS NSEC_PER_MSEC /* that each call takes the loop */
#define CALLS_FED 300	      /* one after the other: more than there is time for in a turn */
#define TURN_CALLS_MOST 50    /* 20 ms, and what came before */

struct reader {
	struct rig *rig;
	size_t n_lives, n_fed;
	bool is_fed; /* another process begins and ends for each record */
	size_t n_calls;
	size_t n_calls_fed; /* so many of them make another one */
};

static void child_live(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
}

static void life_seen(const struct life_record *life, void *data)
{
	struct reader *reader = data;

	probe_set_life_taken(reader->rig->set, life);
	reader->n_lives++;
	if (!reader->is_fed || reader->n_fed == FAR_MORE)
		return;
	reader->n_fed++;
	child_live();
}

static void one_call(void)
{
	void *p;

	(void)subject_alloc(&p, 1);
}

static void call_seen(const struct call_record *call, void *data)
{
	const uint64_t from_ns = clock_now_ns();
	struct reader *reader = data;

	(void)call;
	while (clock_now_ns() - from_ns < CALL_NS)
		continue;
	if (++reader->n_calls <= reader->n_calls_fed)
		one_call();
}

static void drained(void *data)
{
	(void)data;
}

static void children_live(size_t n)
{
	for (size_t i = 0; i < n; i++)
		child_live();
}

static void check_drain(struct ring *ring, struct reader *reader)
{
	children_live(FEW);
	*reader = (struct reader){ .rig = reader->rig, .is_fed = true };
	ring_drain(ring);
	CHECK_INT_EQ("drain: what was there", reader->n_lives, 2 * FEW);
	*reader = (struct reader){ .rig = reader->rig, .is_fed = false };
	ring_drain(ring);
	CHECK_INT_EQ("drain: and what came meanwhile", reader->n_lives, 4 * FEW);
}

/* The loop takes a part of the records in each turn, and all of them in the end. */
static void check_turns(uv_loop_t *loop, struct ring *ring, struct reader *reader)
{
	children_live(MANY / 2);
	*reader = (struct reader){ .rig = reader->rig, .is_fed = true };
	for (size_t i = 0; i < TURNS_FED; i++) {
		size_t before = reader->n_lives;

		(void)uv_run(loop, UV_RUN_ONCE);
		CHECK_INT_IN("turn: a part", reader->n_lives - before, 1, MANY / 2);
	}
	reader->is_fed = false;
	for (size_t i = 0; i < TURNS && reader->n_lives < MANY + 2 * reader->n_fed; i++)
		(void)uv_run(loop, UV_RUN_NOWAIT);
	CHECK_INT_EQ("turn: each in the end", reader->n_lives, MANY + 2 * reader->n_fed);
	ring_drain(ring);
	CHECK_INT_EQ("turn: nothing is left", reader->n_lives, MANY + 2 * reader->n_fed);
}

/* Each call takes long, and another one comes meanwhile. */
static void check_time(uv_loop_t *loop, struct ring *ring, struct reader *reader)
{
	rig_target(reader->rig, 0, RIG_EVERY_CALL);
	one_call();
	*reader = (struct reader){ .rig = reader->rig, .n_calls_fed = CALLS_FED };
	for (size_t i = 0; i < TURNS_FED; i++) {
		size_t before = reader->n_calls;

		for (size_t k = 0; k < TURNS && reader->n_calls == before; k++)
			(void)uv_run(loop, UV_RUN_ONCE);
		CHECK_INT_IN("time: a part", reader->n_calls - before, 1, TURN_CALLS_MOST);
	}
	reader->n_calls_fed = 0;
	ring_drain(ring);
	ring_drain(ring);
}

int main(int argc, char **argv)
{
	static const struct ring_sinks sinks = { .on_call = call_seen, .on_life = life_seen, .on_drained = drained };
	struct ring_fds fds;
	struct ring *ring;
	uv_loop_t loop;
	struct rig rig;
	struct reader reader = { .rig = &rig };

	rig_open(&rig, rig_back_end(argc, argv), 0);
	CHECK_INT_EQ("loop", uv_loop_init(&loop), 0);
	fds = (struct ring_fds){ .calls = probe_set_calls_fd(rig.set),
				 .stacks = probe_set_stacks_fd(rig.set),
				 .life = probe_set_life_fd(rig.set) };
	CHECK_INT_EQ("ring", ring_open(&loop, &fds, 1 << 20, &sinks, &reader, &ring), 0);
	rig_target(&rig, 0, RIG_NO_CALL);
	check_drain(ring, &reader);
	check_turns(&loop, ring, &reader);
	check_time(&loop, ring, &reader);
	ring_close(ring);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ("closed", uv_loop_close(&loop), 0);
	rig_close(&rig);
	return check_result();
}
