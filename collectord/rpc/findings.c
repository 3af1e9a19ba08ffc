// SPDX-License-Identifier: Apache-2.0
#include "rpc/findings.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "base/finding_order.h"
#include "detect/finding_message.h"
#include "rpc/answer.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "archive/write/store.h"

void findings_note(struct findings_seen *seen, const struct finding *finding)
{
	size_t least = 0;

	for (size_t i = 0; i < seen->items.n; i++) {
		if (seen->items.items[i].id == finding->id) {
			seen->items.items[i] = *finding;
			return;
		}
		if (seen->items.items[i].severity < seen->items.items[least].severity)
			least = i;
	}
	if (seen->items.n < FINDINGS_SEEN_MAX && ARRAY_PUSH(&seen->items, *finding) == 0)
		return;
	seen->n_more++;
	if (seen->items.n && seen->items.items[least].severity < finding->severity)
		seen->items.items[least] = *finding;
}

void findings_done(struct findings_seen *seen)
{
	ARRAY_DONE(&seen->items);
}

static uint64_t clock_unix_ns(uint64_t monotonic_ns, void *data)
{
	(void)data;
	return clock_to_unix_ns(monotonic_ns);
}

static bool caller_may_name(uint32_t uid, bool is_guarded, void *identity)
{
	return answer_may_name(identity, uid, is_guarded);
}

Ingero__V1__Finding *findings_message(const struct rpc_context *context, const struct call_identity *identity,
				      struct arena *arena, const struct finding *finding)
{
	uint32_t boot = context->store ? store_boot(context->store) : 0;
	Ingero__V1__Finding *message = finding_to_message(finding, boot, clock_unix_ns, NULL, arena);

	if (message)
		finding_message_hide(message, caller_may_name, (void *)(uintptr_t)identity);
	return message;
}

static struct finding_place place_of_finding(const struct finding *f)
{
	return (struct finding_place){ .severity = finding_severity_to_string(f->severity),
				       .lost_ns = f->lost_ns,
				       .start_ns = f->start_ns,
				       .id = "" };
}

static int found_compare(const void *a, const void *b)
{
	struct finding_place x = place_of_finding(*(const struct finding *const *)a),
			     y = place_of_finding(*(const struct finding *const *)b);

	return finding_order(&x, &y);
}

int findings_fill(const struct findings_seen *seen, const struct rpc_context *context,
		  const struct call_identity *identity, struct arena *arena, Ingero__V1__Summary *summary)
{
	size_t n = seen->items.n;
	const struct finding **order;

	if (n == 0)
		return 0;
	order = ARENA_NEW_N(arena, const struct finding *, n);
	summary->findings = ARENA_NEW_N(arena, Ingero__V1__Finding *, n);
	if (!order || !summary->findings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = &seen->items.items[i];
	qsort(order, n, sizeof(*order), found_compare);
	for (size_t i = 0; i < n; i++) {
		Ingero__V1__Finding *message = findings_message(context, identity, arena, order[i]);

		if (!message)
			return -ENOMEM;
		summary->findings[summary->n_findings++] = message;
	}
	return 0;
}
