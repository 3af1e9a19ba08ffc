// SPDX-License-Identifier: Apache-2.0
#include "rpc/recent.h"

#include <string.h>

#include "capture.h"
#include "events/source.h"
#include "rpc/context.h"

#define STEPS_A_SPAN 5u
#define EARLY_PART 20u /* part of a step: a timer that fires early by less than this counts as on time */

void recent_done(struct recent *recent)
{
	for (size_t i = 0; i < recent->n; i++)
		since_done(&recent->steps[i]);
	recent->n = 0;
}

static bool is_old_enough(const struct recent *recent, const struct since *step, uint64_t now_ns)
{
	return step->since_ns + recent->span_ns <= now_ns + recent->span_ns / STEPS_A_SPAN / EARLY_PART;
}

const struct since *recent_since(const struct recent *recent, const struct since *start, uint64_t now_ns)
{
	const struct since *found = start;

	for (size_t i = 0; i < recent->n && is_old_enough(recent, &recent->steps[i], now_ns); i++)
		found = &recent->steps[i];
	return recent->span_ns ? found : NULL;
}

static void oldest_drop(struct recent *recent)
{
	since_done(&recent->steps[0]);
	memmove(&recent->steps[0], &recent->steps[1], --recent->n * sizeof(recent->steps[0]));
}

size_t recent_bytes(const struct recent *recent)
{
	size_t n = 0;

	for (size_t i = 0; i < recent->n; i++)
		n += recent->steps[i].bytes;
	return n;
}

int recent_step(struct recent *recent, const struct rpc_context *context, const struct call_identity *identity,
		bool has_room)
{
	const struct source *source = context->capture->source;
	uint64_t now_ns = source->ops->now_ns(source), step_ns = recent->span_ns / STEPS_A_SPAN;
	int r;

	if (recent->n && recent->steps[recent->n - 1].since_ns + step_ns > now_ns + step_ns / EARLY_PART)
		return 0;
	while (recent->n == RECENT_STEPS || (recent->n > 1 && is_old_enough(recent, &recent->steps[1], now_ns)))
		oldest_drop(recent);
	if (!has_room)
		return 0;
	r = since_take(context, identity, &recent->steps[recent->n]);
	recent->n += r == 0;
	return r;
}
