// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "probes"
#include "probes/own_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "clock.h"
#include "probes/probe_set.h"
#include "probes/thinning.h"

#define INTERVAL_LEAST_NS (NSEC_PER_SEC / 2) /* answers bring seconds that are shorter */

struct own_cpu {
	struct probe_set *probes;
	struct thinning law;
	struct thinning_sample sample;	/* since the last step */
	uint32_t left_out[USER_SHARES]; /* in all, at the last step */
	uint32_t keep[USER_SHARES];
	uint64_t measured_ns; /* moment of the last step */
	uint64_t used_ns;     /* in all, at that moment */
	bool is_thinning;
};

static uint64_t threads_used_ns(void)
{
	struct timespec used = { 0 };

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used); /* cannot fail */
	return (uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec;
}

int own_cpu_open(struct probe_set *probes, double limit, struct own_cpu **ret_own)
{
	struct own_cpu *own = calloc(1, sizeof(*own));

	if (!own)
		return -ENOMEM;
	own->probes = probes;
	own->law.limit = limit;
	own->measured_ns = clock_now_ns();
	own->used_ns = threads_used_ns();
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

void own_cpu_record(struct own_cpu *own, uint32_t slot)
{
	own->sample.n_kept[probe_set_share(own->probes, slot)]++;
}

static void left_out_take(struct own_cpu *own)
{
	for (uint32_t i = 0; i < USER_SHARES; i++) {
		uint32_t now = probe_set_thinned(own->probes, i);

		own->sample.n_left_out[i] = now - own->left_out[i];
		own->left_out[i] = now;
	}
}

static void change_log(struct own_cpu *own, bool is_thinning)
{
	if (is_thinning && !own->is_thinning)
		log_notice(
			"recording took %.2f s of CPU time in a second, more than service.cpu: of the users with most "
			"recorded calls a sample is kept",
			own->sample.used);
	if (!is_thinning && own->is_thinning)
		log_notice("recording takes less CPU time than service.cpu again: no call is left out");
	own->is_thinning = is_thinning;
}

void own_cpu_second(struct own_cpu *own, uint64_t children_ns)
{
	uint64_t now_ns = clock_now_ns(), used_ns = threads_used_ns() + children_ns;
	bool is_thinning;

	if (now_ns - own->measured_ns < INTERVAL_LEAST_NS)
		return;
	own->sample.seconds = (double)(now_ns - own->measured_ns) / NSEC_PER_SEC;
	own->sample.used = (double)(used_ns - MIN(own->used_ns, used_ns)) / (double)(now_ns - own->measured_ns);
	left_out_take(own);
	is_thinning = thinning_step(&own->law, &own->sample, own->keep);
	if (is_thinning || own->is_thinning)
		probe_set_thin_shares(own->probes, own->keep, is_thinning);
	change_log(own, is_thinning);
	own->sample = (struct thinning_sample){ .seconds = 0 };
	own->measured_ns = now_ns;
	own->used_ns = MAX(own->used_ns, used_ns);
}
