// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "probes"
#include "probes/own_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "clock.h"
#include "probes/probe_set.h"
#include "probes/thinning.h"

#define INTERVAL_LEAST_NS (NSEC_PER_SEC / 2) /* answers bring seconds that are shorter */
/* Of the cost of storing a record before: its thread writes what was read a second ago, or some. */
#define STORE_STAYS 0.8
#define NOBODY USER_SHARES /* index of what is not thinned */

/*
 * One turn of the rings. Its CPU time is divided by the time that the records of each user took: to read CPU time for
 * each record would cost as much as a record.
 */
struct record_turn {
	bool is_open;
	uint64_t spent_from_ns; /* CPU time of the thread at its begin */
	uint64_t apart_ns;	/* of it, for stacks, which were measured one by one */
	uint64_t from_ns;	/* since then records of one user are used */
	uint32_t share;		/* of that user */
	uint32_t n_shares;
	uint32_t shares[USER_SHARES + 1];  /* with a part, each once */
	uint64_t took_ns[USER_SHARES + 1]; /* by share */
};

struct own_cpu {
	struct probe_set *probes;
	struct own_cpu_store store;
	struct thinning law;
	struct thinning_sample sample; /* since the last step */
	struct record_turn turn;
	uint64_t stack_spent_ns;	/* CPU time of the thread when the last stack was read */
	uint64_t stored_ns;		/* in all, at the last step */
	double stored_s, n_stored;	/* of the last seconds */
	uint32_t left_out[USER_SHARES]; /* in all, at the last step */
	uint32_t keep[USER_SHARES];
	uint64_t measured_ns; /* moment of the last step */
	double used;	      /* CPU time per time, up to that step; negative: there was none */
	bool is_thinning;
};

static uint64_t store_used_ns(const struct own_cpu *own)
{
	return own->store.used_ns ? own->store.used_ns(own->store.data) : 0;
}

int own_cpu_open(struct probe_set *probes, double limit, const struct own_cpu_store *store, struct own_cpu **ret_own)
{
	struct own_cpu *own = calloc(1, sizeof(*own));

	if (!own)
		return -ENOMEM;
	own->probes = probes;
	own->store = *store;
	own->law.limit = limit;
	own->used = -1;
	own->measured_ns = clock_now_ns();
	own->stored_ns = store_used_ns(own);
	*ret_own = own;
	return 0;
}

void own_cpu_close(struct own_cpu *own)
{
	if (!own)
		return;
	memset(own->keep, 0, sizeof(own->keep));
	probe_set_thin_shares(own->probes, own->keep, false);
	free(own);
}

/* ---- cost ---- */

/* The user's records were used up to now. */
static void turn_pause(struct record_turn *turn, uint64_t now_ns)
{
	if (!turn->took_ns[turn->share])
		turn->shares[turn->n_shares++] = turn->share;
	turn->took_ns[turn->share] += now_ns - turn->from_ns + 1; /* never 0 */
	turn->from_ns = now_ns;
}

static uint32_t charged_share(const struct own_cpu *own, uint32_t slot, enum own_cpu_use use)
{
	return use == OWN_CPU_CALL ? probe_set_share(own->probes, slot) : NOBODY;
}

static void user_cost_add(struct own_cpu *own, uint32_t share, double seconds)
{
	if (share != NOBODY)
		own->sample.cost_s[share] += seconds;
}

void own_cpu_record(struct own_cpu *own, uint32_t slot, enum own_cpu_use use)
{
	struct record_turn *turn;
	uint32_t share;

	if (!own)
		return;
	turn = &own->turn;
	share = charged_share(own, slot, use);
	if (share != NOBODY)
		own->sample.n_kept[share]++;
	if (!turn->is_open) {
		*turn = (struct record_turn){ .is_open = true, .spent_from_ns = clock_spent_ns() };
		turn->from_ns = clock_now_ns();
	} else if (share != turn->share) {
		turn_pause(turn, clock_now_ns());
	}
	turn->share = share;
}

void own_cpu_turn_end(struct own_cpu *own)
{
	struct record_turn *turn;
	double all_ns = 0, spent_s;

	if (!own || !own->turn.is_open)
		return;
	turn = &own->turn;
	turn_pause(turn, clock_now_ns());
	spent_s = (double)(clock_spent_ns() - turn->spent_from_ns - turn->apart_ns) / NSEC_PER_SEC;
	for (uint32_t i = 0; i < turn->n_shares; i++)
		all_ns += (double)turn->took_ns[turn->shares[i]];
	for (uint32_t i = 0; i < turn->n_shares; i++)
		user_cost_add(own, turn->shares[i], spent_s * (double)turn->took_ns[turn->shares[i]] / all_ns);
	turn->is_open = false;
}

void own_cpu_stack_begin(struct own_cpu *own)
{
	if (!own)
		return;
	if (own->turn.is_open)
		turn_pause(&own->turn, clock_now_ns());
	own->stack_spent_ns = clock_spent_ns();
}

void own_cpu_stack_end(struct own_cpu *own, uint32_t slot, enum own_cpu_use use)
{
	uint64_t spent_ns;

	if (!own)
		return;
	spent_ns = clock_spent_ns() - own->stack_spent_ns;
	user_cost_add(own, charged_share(own, slot, use), (double)spent_ns / NSEC_PER_SEC);
	if (!own->turn.is_open)
		return;
	own->turn.apart_ns += spent_ns;
	own->turn.from_ns = clock_now_ns();
}

/* Storing a record costs the same for all users. */
static void store_cost_add(struct own_cpu *own)
{
	uint64_t used_ns = store_used_ns(own);
	double n = 0;

	for (size_t i = 0; i < USER_SHARES; i++)
		n += own->sample.n_kept[i];
	own->stored_s = own->stored_s * STORE_STAYS + (double)(used_ns - own->stored_ns) / NSEC_PER_SEC;
	own->n_stored = own->n_stored * STORE_STAYS + n;
	own->stored_ns = used_ns;
	if (own->n_stored < 1)
		return;
	for (size_t i = 0; i < USER_SHARES; i++)
		own->sample.cost_s[i] += own->sample.n_kept[i] * own->stored_s / own->n_stored;
}

/* ---- each second ---- */

static void left_out_take(struct own_cpu *own)
{
	for (uint32_t i = 0; i < USER_SHARES; i++) {
		uint32_t now = probe_set_thinned(own->probes, i);

		own->sample.n_left_out[i] = now - own->left_out[i];
		own->left_out[i] = now;
	}
}

static double sample_cost(const struct thinning_sample *sample)
{
	double sum_s = 0;

	for (size_t i = 0; i < USER_SHARES; i++)
		sum_s += sample->cost_s[i];
	return sum_s / sample->seconds;
}

struct own_cpu_share own_cpu_share(const struct own_cpu *own)
{
	return (struct own_cpu_share){ .limit = own->law.limit, .used = own->used };
}

static void change_log(struct own_cpu *own, bool is_thinning)
{
	if (is_thinning && !own->is_thinning)
		log_notice("records took %.2f s of CPU time in a second, more than service.cpu: of the users whose "
			   "records "
			   "cost most a sample is kept",
			   own->used);
	if (!is_thinning && own->is_thinning)
		log_notice("records cost less CPU time than service.cpu again: no call is left out");
	own->is_thinning = is_thinning;
}

void own_cpu_second(struct own_cpu *own)
{
	uint64_t now_ns = clock_now_ns();
	bool is_thinning;

	if (!own || now_ns - own->measured_ns < INTERVAL_LEAST_NS)
		return;
	own->sample.seconds = (double)(now_ns - own->measured_ns) / NSEC_PER_SEC;
	left_out_take(own);
	store_cost_add(own);
	own->used = sample_cost(&own->sample);
	is_thinning = thinning_step(&own->law, &own->sample, own->keep);
	if (is_thinning || own->is_thinning)
		probe_set_thin_shares(own->probes, own->keep, is_thinning);
	change_log(own, is_thinning);
	own->sample = (struct thinning_sample){ .seconds = 0 };
	own->measured_ns = now_ns;
}
