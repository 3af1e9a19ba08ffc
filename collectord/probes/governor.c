// SPDX-License-Identifier: Apache-2.0
#include "probes/governor.h"

#include "base/array.h"
#include "base/cleanup.h"

/* Down above, up below these parts of the budget: the prediction is one of calibrated costs. */
#define DOWN_ABOVE 0.8
#define UP_BELOW 0.5
#define DUTY_TARGET 0.4 /* a program with rests pays 1.5 times the cost of a swept call, and records besides */
/* At least this part of the budget is left for windows, when the other operations take all of it. */
#define DUTY_LEAST 0.15

#define STEP_NS (100 * NSEC_PER_MSEC)
#define STEP_FAST_NS (25 * NSEC_PER_MSEC) /* 25 ms of the highest loss are 2 % of a second */
#define FAST_NS (2 * NSEC_PER_SEC)
#define WAIT_LEAST_NS (2 * NSEC_PER_SEC)
#define WAIT_MOST_NS (60 * NSEC_PER_SEC)
#define TAKEN_BACK_NS (10 * NSEC_PER_SEC) /* a rise that is taken back sooner makes the next one wait longer */
#define PERIOD_SPREAD 0.4		  /* the time between windows is up to this part of it shorter or longer */
#define PERIOD_LEAST_NS (300 * NSEC_PER_MSEC)
#define PERIOD_MOST_NS (10 * NSEC_PER_SEC)
/* Above the lowest rung, windows only look: the first one soon, since a program begins with calls that it never
 * repeats. */
#define LOOK_LEAST_NS NSEC_PER_SEC
#define LOOK_BUDGET 0.1
#define LOOK_WINDOWS 4 /* on the lowest rung one of so many windows is a look at everything */
#define ALONE_NS (60 * NSEC_PER_SEC)

/* Groups of a rung, between windows. */
static const uint32_t rung_groups[GOVERNOR_RUNG_COUNT] = {
	[GOVERNOR_ALL] = PROBE_GROUPS_ALL,
	[GOVERNOR_NO_REQUEST] = PROBE_GROUPS_ALL & ~PROBE_GROUP_BIT(PROBE_GROUP_REQUEST),
	[GOVERNOR_NO_DRIVER] = PROBE_GROUP_BIT(PROBE_GROUP_ALWAYS) | PROBE_GROUP_BIT(PROBE_GROUP_RUNTIME),
	[GOVERNOR_DUTY] = PROBE_GROUP_BIT(PROBE_GROUP_ALWAYS),
	[GOVERNOR_DUTY_ALL] = 0,
};

void governor_begin(struct governor *g, const struct governor_limits *limits, uint64_t now_ns)
{
	*g = (struct governor){ .limits = *limits,
				.rung = GOVERNOR_ALL,
				.groups = PROBE_GROUPS_ALL,
				.wait_ns = WAIT_LEAST_NS,
				.fast_until_ns = now_ns + FAST_NS,
				.random = now_ns | 1,
				.stretch = 1 };
}

static bool is_attached(const struct governor *g, enum probe_group group)
{
	return g->groups & PROBE_GROUP_BIT(group);
}

/*
 * A group that is not attached has its last ratio to the runtime's calls, for instance one driver call in each. Without
 * a ratio it counts as idle: if it is not, the next rise waits longer.
 */
static double load_of(const struct governor *g, enum probe_group group)
{
	if (is_attached(g, group) || group == PROBE_GROUP_RUNTIME || group == PROBE_GROUP_ALWAYS)
		return g->load[group];
	return g->ratio[group] * g->load[PROBE_GROUP_RUNTIME];
}

static double groups_loss(const struct governor *g, uint32_t groups)
{
	double load = 0;

	for (int i = 0; i < PROBE_GROUP_COUNT; i++)
		if (groups & PROBE_GROUP_BIT(i))
			load += load_of(g, (enum probe_group)i);
	return load / (1 + load);
}

double governor_loss(const struct governor *g, enum governor_rung rung)
{
	return groups_loss(g, rung_groups[rung]);
}

static void loads_take(struct governor *g, const struct governor_sample *sample)
{
	for (int i = 0; i < PROBE_GROUP_COUNT; i++)
		if (is_attached(g, (enum probe_group)i))
			g->load[i] = sample->load[i];
	for (int i = 0; i < PROBE_GROUP_COUNT; i++)
		if (is_attached(g, (enum probe_group)i) && is_attached(g, PROBE_GROUP_RUNTIME))
			g->ratio[i] = g->load[PROBE_GROUP_RUNTIME] > 0 ? g->load[i] / g->load[PROBE_GROUP_RUNTIME] : 0;
	if (sample->is_driver_alone)
		g->alone_until_ns = sample->now_ns + ALONE_NS;
}

double governor_share_kept(const struct governor *g)
{
	return governor_loss(g, GOVERNOR_DUTY) / DOWN_ABOVE;
}

/* The first rung, from the top, whose loss is at most that part of the budget; the last one if none is. */
static enum governor_rung rung_find(const struct governor *g, uint64_t now_ns, double part)
{
	for (int i = GOVERNOR_ALL; i < GOVERNOR_DUTY_ALL; i++) {
		if (i == GOVERNOR_NO_DRIVER && now_ns < g->alone_until_ns)
			continue;
		if (governor_loss(g, (enum governor_rung)i) <= part * g->limits.budget)
			return (enum governor_rung)i;
	}
	return GOVERNOR_DUTY_ALL;
}

/* Draws by how much the time to the next window differs (xorshift64). */
static void stretch_draw(struct governor *g)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	g->stretch = 1 + PERIOD_SPREAD * (2 * (double)(g->random >> 40) / (1 << 24) - 1);
}

/*
 * Groups of the next window. On the lowest rung most windows are a sample of what the program calls itself, which
 * disturb it least and tell most of its rate: the driver's calls inside follow from the looks at everything between
 * them.
 */
static uint32_t window_groups(const struct governor *g, uint64_t now_ns)
{
	uint32_t sample = rung_groups[now_ns < g->alone_until_ns ? GOVERNOR_NO_REQUEST : GOVERNOR_NO_DRIVER];

	return g->rung < GOVERNOR_DUTY || g->n_windows % LOOK_WINDOWS == 0 ? PROBE_GROUPS_ALL : sample;
}

/* Time from the end of a window to the begin of the next one. */
static uint64_t period_ns(const struct governor *g, uint64_t now_ns)
{
	double budget = g->limits.budget, left = LOOK_BUDGET * budget, ns;
	uint64_t least_ns = g->look_ns;

	if (g->rung >= GOVERNOR_DUTY) {
		left = MAX(DUTY_TARGET * budget - governor_loss(g, g->rung), DUTY_LEAST * budget);
		least_ns = PERIOD_LEAST_NS;
	}
	ns = (double)(g->limits.window_ns + g->limits.lag_ns) * groups_loss(g, window_groups(g, now_ns)) / left;
	return (uint64_t)(MIN(MAX(ns, (double)least_ns), (double)PERIOD_MOST_NS) * g->stretch);
}

static void rung_set(struct governor *g, enum governor_rung rung, uint64_t now_ns)
{
	bool is_rise = rung < g->rung;

	if (!is_rise) {
		bool is_taken_back = g->raised_ns && now_ns - g->raised_ns < TAKEN_BACK_NS;

		g->wait_ns = is_taken_back ? MIN(2 * g->wait_ns, WAIT_MOST_NS) : WAIT_LEAST_NS;
	}
	g->raised_ns = is_rise ? now_ns : g->raised_ns;
	g->fast_until_ns = is_rise ? now_ns + FAST_NS : g->fast_until_ns;
	g->room_since_ns = 0;
	g->rung = rung;
	g->groups = rung_groups[rung];
	g->is_window = false;
	g->window_ns = now_ns;
	g->look_ns = LOOK_LEAST_NS;
	g->n_windows = 0;
}

/* Between windows nothing new is known of a higher rung, but that it would still fit. */
static void rise_consider(struct governor *g, uint64_t now_ns)
{
	enum governor_rung best = rung_find(g, now_ns, UP_BELOW);

	if (best >= g->rung) {
		g->room_since_ns = 0;
		return;
	}
	if (!g->room_since_ns)
		g->room_since_ns = now_ns;
	if (now_ns - g->room_since_ns >= g->wait_ns)
		rung_set(g, best, now_ns);
}

/* Return: time until a window begins or ends */
static uint64_t window_turn(struct governor *g, uint64_t now_ns)
{
	uint64_t length_ns = g->is_window ? g->limits.window_ns : period_ns(g, now_ns);

	if (g->rung == GOVERNOR_ALL)
		return UINT64_MAX;
	if (now_ns - g->window_ns < length_ns)
		return length_ns - (now_ns - g->window_ns);
	g->is_window = !g->is_window;
	g->window_ns = now_ns;
	g->groups = g->is_window ? window_groups(g, now_ns) : rung_groups[g->rung];
	if (g->is_window) {
		g->n_windows++;
		g->look_ns = MIN(2 * g->look_ns, PERIOD_MOST_NS);
		return g->limits.window_ns;
	}
	stretch_draw(g);
	return period_ns(g, now_ns);
}

struct governor_step governor_step(struct governor *g, const struct governor_sample *sample)
{
	uint64_t now_ns = sample->now_ns;
	uint64_t turn_ns;

	loads_take(g, sample);
	if (g->rung != GOVERNOR_DUTY_ALL && governor_loss(g, g->rung) > DOWN_ABOVE * g->limits.budget) {
		enum governor_rung lower = rung_find(g, now_ns, DOWN_ABOVE);

		rung_set(g, MAX(lower, (enum governor_rung)(g->rung + 1)), now_ns);
	} else {
		rise_consider(g, now_ns);
	}
	turn_ns = window_turn(g, now_ns);
	return (struct governor_step){ .rung = g->rung,
				       .groups = g->groups,
				       .after_ns = MIN(now_ns < g->fast_until_ns ? STEP_FAST_NS : STEP_NS, turn_ns) };
}
