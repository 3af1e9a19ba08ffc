// SPDX-License-Identifier: Apache-2.0
/*
 * The rings on the loop, with a producer that is always faster: whoever reads them comes back, and the loop serves
 * others in between.
 */
#include "events/ring.h"

#include <sys/wait.h>
#include <unistd.h>

#include "probes/probe_stacks.h"
#include "rig.h"
#include "tests/support/check.h"

#define FEW 10
#define MANY 1600     /* records in the ring at first */
#define FAR_MORE 8000 /* than the ring has room for */
#define TURNS_FED 3
#define TURNS 100

struct reader {
	struct probe_set *set;
	size_t n_lives, n_fed;
	bool is_fed; /* another process begins and ends for each record */
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

	probe_set_life_taken(reader->set, life);
	reader->n_lives++;
	if (!reader->is_fed || reader->n_fed == FAR_MORE)
		return;
	reader->n_fed++;
	child_live();
}

static void call_seen(const struct call_record *call, void *data)
{
	(void)call;
	(void)data;
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
	*reader = (struct reader){ .set = reader->set, .is_fed = true };
	ring_drain(ring);
	CHECK_INT_EQ("drain: what was there", reader->n_lives, 2 * FEW);
	*reader = (struct reader){ .set = reader->set, .is_fed = false };
	ring_drain(ring);
	CHECK_INT_EQ("drain: and what came meanwhile", reader->n_lives, 4 * FEW);
}

/* The loop takes a part of the records in each turn, and all of them in the end. */
static void check_turns(uv_loop_t *loop, struct ring *ring, struct reader *reader)
{
	children_live(MANY / 2);
	*reader = (struct reader){ .set = reader->set, .is_fed = true };
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

int main(int argc, char **argv)
{
	static const struct ring_sinks sinks = { .on_call = call_seen, .on_life = life_seen, .on_drained = drained };
	struct reader reader = { .n_lives = 0 };
	struct ring_fds fds;
	struct ring *ring;
	uv_loop_t loop;
	struct rig rig;

	rig_open(&rig, rig_back_end(argc, argv), 0);
	reader.set = rig.set;
	CHECK_INT_EQ("loop", uv_loop_init(&loop), 0);
	fds = (struct ring_fds){ .calls = probe_set_calls_fd(rig.set),
				 .stacks = probe_set_stacks_fd(rig.set),
				 .life = probe_set_life_fd(rig.set) };
	CHECK_INT_EQ("ring", ring_open(&loop, &fds, 1 << 20, &sinks, &reader, &ring), 0);
	rig_target(&rig, 0, RIG_NO_CALL);
	check_drain(ring, &reader);
	check_turns(&loop, ring, &reader);
	ring_close(ring);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ("closed", uv_loop_close(&loop), 0);
	rig_close(&rig);
	return check_result();
}
