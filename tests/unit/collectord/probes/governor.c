// SPDX-License-Identifier: Apache-2.0
/*
 * The budget is kept, and more is traced again when there is room: programs of invented call rates, on a clock that the
 * test moves.
 */
#include "probes/governor.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/support/check.h"

#define MS NSEC_PER_MSEC
#define SECONDS 40
#define MOMENT_NS MS /* step of the simulation */
#define FIRST_NS (50 * MS)
#define ONSET_NS (2 * NSEC_PER_SEC)
#define COST_NS 1000.0 /* of a traced call */
#define DECIDED 1.85   /* times as much, by which the governor decides */

/* A thread that is always on the CPU, but for `quiet_ns` after each `busy_ns`. */
struct program {
	double rates[PROBE_GROUP_COUNT]; /* calls per second of its own CPU time */
	double first[PROBE_GROUP_COUNT]; /* likewise in the first FIRST_NS: what it does once */
	uint64_t busy_ns, quiet_ns;	 /* 0: always busy */
	uint64_t begin_ns, end_ns;	 /* no calls before and after; end 0: calls until the end */
	bool is_driver_alone;
};

struct outcome {
	double loss;	   /* from ONSET_NS after the first call on */
	double worst_loss; /* of 10 s from there on */
	unsigned int n_changes;
	unsigned int most_changes; /* in 10 s, from ONSET_NS on */
	enum governor_rung rung;   /* at the end */
	uint64_t back_ns;	   /* from the last call to GOVERNOR_ALL; 0: not reached */
};

struct simulation {
	const struct program *program;
	struct governor governor;
	uint32_t groups;  /* attached */
	uint32_t trapped; /* their last trap is still to come */
	uint64_t trapped_until_ns;
	double probe_ns[PROBE_GROUP_COUNT], own_ns; /* since the last step */
	double lost_ns[SECONDS];		    /* by second */
	unsigned int changes[SECONDS];
};

static bool is_calling(const struct program *p, uint64_t now_ns)
{
	uint64_t period_ns = p->busy_ns + p->quiet_ns;

	if (now_ns < p->begin_ns || (p->end_ns && now_ns >= p->end_ns))
		return false;
	return !period_ns || (now_ns - p->begin_ns) % period_ns < p->busy_ns;
}

static void moment_pass(struct simulation *s, uint64_t now_ns)
{
	uint32_t groups = s->groups | (now_ns < s->trapped_until_ns ? s->trapped : 0);
	const double *rates = now_ns < FIRST_NS ? s->program->first : s->program->rates;
	double load = 0, loads[PROBE_GROUP_COUNT] = { 0 }, own_ns;

	if (!is_calling(s->program, now_ns))
		return; /* it sleeps, or has no call to make: no CPU time */
	for (int i = 0; i < PROBE_GROUP_COUNT; i++)
		if (groups & PROBE_GROUP_BIT(i))
			load += loads[i] = rates[i] * COST_NS / (double)NSEC_PER_SEC;
	own_ns = (double)MOMENT_NS / (1 + load);
	s->lost_ns[now_ns / NSEC_PER_SEC] += (double)MOMENT_NS - own_ns;
	s->own_ns += own_ns;
	for (int i = 0; i < PROBE_GROUP_COUNT; i++)
		s->probe_ns[i] += loads[i] * own_ns;
}

static struct governor_step step_take(struct simulation *s, uint64_t now_ns)
{
	struct governor_sample sample = { .now_ns = now_ns, .is_driver_alone = s->program->is_driver_alone };
	enum governor_rung before = s->governor.rung;
	struct governor_step step;

	for (int i = 0; i < PROBE_GROUP_COUNT; i++) {
		sample.load[i] = s->own_ns > 0 ? s->probe_ns[i] * DECIDED / s->own_ns : 0;
		s->probe_ns[i] = 0;
	}
	s->own_ns = 0;
	step = governor_step(&s->governor, &sample);
	s->trapped = s->groups & ~step.groups;
	s->trapped_until_ns = now_ns + s->governor.limits.lag_ns;
	s->groups = step.groups;
	s->changes[now_ns / NSEC_PER_SEC] += step.rung != before;
	return step;
}

static double busy_ns(const struct program *p, unsigned int from_s, unsigned int until_s)
{
	double ns = 0;

	for (uint64_t t = from_s * NSEC_PER_SEC; t < until_s * NSEC_PER_SEC; t += MOMENT_NS)
		ns += is_calling(p, t) ? (double)MOMENT_NS : 0;
	return ns;
}

static double loss_between(const struct simulation *s, unsigned int from_s, unsigned int until_s)
{
	double lost_ns = 0, all_ns = busy_ns(s->program, from_s, until_s);

	for (unsigned int i = from_s; i < until_s; i++)
		lost_ns += s->lost_ns[i];
	return all_ns > 0 ? lost_ns / all_ns : 0;
}

static unsigned int changes_between(const struct simulation *s, unsigned int from_s, unsigned int until_s)
{
	unsigned int n = 0;

	for (unsigned int i = from_s; i < until_s; i++)
		n += s->changes[i];
	return n;
}

static struct outcome play(const struct program *program, double budget)
{
	const struct governor_limits limits = { .budget = budget, .window_ns = 20 * MS, .lag_ns = 8 * MS };
	unsigned int from_s = (unsigned int)((program->begin_ns + ONSET_NS) / NSEC_PER_SEC);
	struct simulation s = { .program = program, .groups = PROBE_GROUPS_ALL };
	struct outcome outcome = { .rung = GOVERNOR_ALL };
	uint64_t next_ns = 0;

	governor_begin(&s.governor, &limits, 0);
	for (uint64_t t = 0; t < SECONDS * NSEC_PER_SEC; t += MOMENT_NS) {
		if (t >= next_ns) {
			struct governor_step step = step_take(&s, t);

			CHECK("a step takes time", step.after_ns > 0 || step.rung >= GOVERNOR_DUTY);
			CHECK("tier always is attached",
			      step.rung == GOVERNOR_DUTY_ALL || step.groups & PROBE_GROUP_BIT(PROBE_GROUP_ALWAYS));
			next_ns = t + step.after_ns;
			if (program->end_ns && t >= program->end_ns && step.rung == GOVERNOR_ALL && !outcome.back_ns)
				outcome.back_ns = t - program->end_ns + 1;
		}
		moment_pass(&s, t);
	}
	outcome.loss = loss_between(&s, from_s, SECONDS);
	for (unsigned int i = from_s; i + 10 <= SECONDS; i++) {
		outcome.worst_loss = fmax(outcome.worst_loss, loss_between(&s, i, i + 10));
		outcome.most_changes = MAX(outcome.most_changes, changes_between(&s, i, i + 10));
	}
	outcome.n_changes = changes_between(&s, 0, SECONDS);
	outcome.rung = s.governor.rung;
	return outcome;
}

#define LAUNCHES(rate)                                                                                                 \
	{                                                                                                              \
		0, rate, rate, 0                                                                                       \
	}
#define SYNCS(rate)                                                                                                    \
	{                                                                                                              \
		rate, 0, 0, 0                                                                                          \
	}
#define TRAINING(rate)                                                                                                 \
	{                                                                                                              \
		0.05 * rate, rate, rate, rate                                                                          \
	}

static const struct {
	const char *name;
	struct program program;
	double budget;
	enum governor_rung want;
	unsigned int most_changes;
} keeps[] = {
	{ "no call", { .rates = LAUNCHES(0) }, 0.02, GOVERNOR_ALL, 0 },
	{ "1 k launches/s at 2 %", { .rates = LAUNCHES(1e3) }, 0.02, GOVERNOR_ALL, 0 },
	{ "5 k launches/s at 2 %", { .rates = LAUNCHES(5e3) }, 0.02, GOVERNOR_NO_DRIVER, 0 },
	{ "10 k launches/s at 2 %", { .rates = LAUNCHES(1e4) }, 0.02, GOVERNOR_DUTY, 0 },
	{ "100 k launches/s at 2 %", { .rates = LAUNCHES(1e5) }, 0.02, GOVERNOR_DUTY, 0 },
	{ "500 k launches/s at 2 %", { .rates = LAUNCHES(5e5) }, 0.02, GOVERNOR_DUTY, 0 },
	{ "10 k launches/s at 10 %", { .rates = LAUNCHES(1e4) }, 0.10, GOVERNOR_ALL, 0 },
	{ "30 k launches/s at 10 %", { .rates = LAUNCHES(3e4) }, 0.10, GOVERNOR_NO_DRIVER, 0 },
	{ "500 k launches/s at 10 %", { .rates = LAUNCHES(5e5) }, 0.10, GOVERNOR_DUTY, 0 },
	{ "training at 2 %", { .rates = TRAINING(3.5e3) }, 0.02, GOVERNOR_NO_REQUEST, 0 },
	{ "training, faster, at 2 %", { .rates = TRAINING(4e4) }, 0.02, GOVERNOR_DUTY, 0 },
	{ "training, faster, at 10 %", { .rates = TRAINING(2e4) }, 0.10, GOVERNOR_NO_REQUEST, 0 },
	{ "beginning with calls that it never repeats",
	  { .rates = LAUNCHES(1e3), .first = { 1e3, 1e2, 1e2, 1e4 } },
	  0.02,
	  GOVERNOR_ALL,
	  1 },
	{ "from idle", { .rates = LAUNCHES(5e5), .begin_ns = 5 * NSEC_PER_SEC }, 0.02, GOVERNOR_DUTY, 0 },
	{ "busy each other second",
	  { .rates = LAUNCHES(5e5), .busy_ns = NSEC_PER_SEC, .quiet_ns = NSEC_PER_SEC },
	  0.02,
	  GOVERNOR_DUTY,
	  1 },
	{ "bursts of 2 ms",
	  { .rates = LAUNCHES(5e5), .busy_ns = 2 * MS, .quiet_ns = 18 * MS },
	  0.02,
	  GOVERNOR_DUTY,
	  1 },
	{ "synchronises, 4 k/s at 2 %", { .rates = SYNCS(4e3) }, 0.02, GOVERNOR_ALL, 0 },
	{ "synchronises, 20 k/s at 2 %", { .rates = SYNCS(2e4) }, 0.02, GOVERNOR_DUTY_ALL, 0 },
	{ "synchronises flat out at 2 %", { .rates = SYNCS(1e6) }, 0.02, GOVERNOR_DUTY_ALL, 0 },
	{ "synchronises flat out at 10 %", { .rates = SYNCS(1e6) }, 0.10, GOVERNOR_DUTY_ALL, 0 },
	{ "synchronises flat out each other second",
	  { .rates = SYNCS(5e5), .busy_ns = NSEC_PER_SEC, .quiet_ns = NSEC_PER_SEC },
	  0.02,
	  GOVERNOR_DUTY_ALL,
	  1 },
	{ "as many synchronises as launches", { .rates = { 1e5, 1e5, 1e5, 0 } }, 0.02, GOVERNOR_DUTY_ALL, 0 },
	{ "driver calls alone, 12 k/s at 2 %",
	  { .rates = { 0, 0, 12e3, 0 }, .is_driver_alone = true },
	  0.02,
	  GOVERNOR_DUTY,
	  0 },
	{ "driver calls alone leave no room for NO_DRIVER",
	  { .rates = LAUNCHES(5e3), .is_driver_alone = true },
	  0.02,
	  GOVERNOR_DUTY,
	  0 },
};

static void keeps_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(keeps); i++) {
		struct outcome o = play(&keeps[i].program, keeps[i].budget);

		if (o.loss > keeps[i].budget || o.worst_loss > keeps[i].budget)
			fprintf(stderr, "%s: loses %.4f, in the worst 10 s %.4f\n", keeps[i].name, o.loss,
				o.worst_loss);
		CHECK(keeps[i].name, o.loss <= keeps[i].budget);
		CHECK(keeps[i].name, o.worst_loss <= keeps[i].budget);
		CHECK_INT_EQ(keeps[i].name, o.rung, keeps[i].want);
		CHECK_INT_IN(keeps[i].name, o.most_changes, 0, keeps[i].most_changes);
	}
}

/* The rate falls: everything is attached again within 3 s. */
static void back_test(void)
{
	static const struct {
		const char *name;
		double rates[PROBE_GROUP_COUNT];
		double budget;
	} rows[] = {
		{ "after 5 k launches/s", LAUNCHES(5e3), 0.02 },
		{ "after 100 k launches/s", LAUNCHES(1e5), 0.02 },
		{ "after 500 k launches/s at 10 %", LAUNCHES(5e5), 0.10 },
		{ "after training", TRAINING(3.5e3), 0.02 },
		{ "after synchronises", SYNCS(2e4), 0.02 },
		{ "after synchronises flat out", SYNCS(1e6), 0.10 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct program program = { .end_ns = 20 * NSEC_PER_SEC };
		struct outcome o;

		memcpy(program.rates, rows[i].rates, sizeof(program.rates));
		o = play(&program, rows[i].budget);
		CHECK_INT_EQ(rows[i].name, o.rung, GOVERNOR_ALL);
		CHECK_INT_IN(rows[i].name, o.back_ns, 1, 3 * NSEC_PER_SEC);
		CHECK_INT_EQ(rows[i].name, o.n_changes, 2);
	}
}

/* Bursts that end just before a rise is taken back make the next rise wait twice as long, to a minute. */
static void waits_test(void)
{
	const struct governor_limits limits = { .budget = 0.02, .window_ns = 20 * MS, .lag_ns = 8 * MS };
	const struct governor_sample busy = { .load = { [PROBE_GROUP_REQUEST] = 1 } };
	uint64_t now_ns = NSEC_PER_SEC, fell_ns, wait_ns = 2 * NSEC_PER_SEC;
	struct governor_sample sample;
	struct governor_step step;
	struct governor g;

	governor_begin(&g, &limits, now_ns);
	for (int i = 0; i < 8; i++) {
		sample = busy;
		sample.now_ns = fell_ns = now_ns;
		step = governor_step(&g, &sample);
		CHECK_INT_EQ("down at once", step.rung, GOVERNOR_NO_REQUEST);
		while (step.rung != GOVERNOR_ALL && now_ns < fell_ns + 100 * NSEC_PER_SEC) {
			now_ns += step.after_ns;
			sample = (struct governor_sample){ .now_ns = now_ns };
			step = governor_step(&g, &sample);
		}
		CHECK_INT_IN("waits", now_ns - fell_ns, wait_ns, wait_ns + 300 * MS);
		wait_ns = MIN(2 * wait_ns, 60 * NSEC_PER_SEC);
		now_ns += step.after_ns;
	}
	/* A rise that lasts starts anew. */
	now_ns += 11 * NSEC_PER_SEC;
	sample = busy;
	sample.now_ns = now_ns;
	(void)governor_step(&g, &sample);
	CHECK_INT_EQ("a rise that lasted", g.wait_ns, 2 * NSEC_PER_SEC);
}

int main(void)
{
	keeps_test();
	back_test();
	waits_test();
	return check_result();
}
