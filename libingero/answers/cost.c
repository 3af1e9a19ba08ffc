// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/cost.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

struct cost_share cost_share(const Ingero__V1__Cost *cost)
{
	struct units_text low = units_ratio(cost->low_ratio, 0), high = units_ratio(cost->high_ratio, 0);
	bool is_range = cost->low_ratio_told_case && cost->high_ratio_told_case && strcmp(low.text, high.text) != 0;
	struct cost_share share;

	if (is_range)
		(void)snprintf(share.text, sizeof(share.text), "%s to %s", low.text, high.text);
	else
		(void)snprintf(share.text, sizeof(share.text), "%s", units_ratio(cost->probe_ratio, 0).text);
	return share;
}

struct level {
	const char *name, *words, *header;
};

static const struct level *level_of(const Ingero__V1__Cost *cost)
{
	static const struct level levels[] = {
		{ "all", "", "" },
		{ "no_request", ": trivial calls left out", ", not trivial calls" },
		{ "no_driver", ": driver calls left out", ", not the driver" },
		{ "duty", ": launches and copies sampled", ", sampled" },
		{ "duty_all", ": all calls sampled", ", all sampled" },
	};
	static const struct level later = { "", ": some calls left out", ", not all calls" }; /* of a later daemon */

	for (size_t i = 0; cost->level_told_case && i < ARRAY_SIZE(levels); i++)
		if (strcmp(cost->level, levels[i].name) == 0)
			return &levels[i];
	return cost->level_told_case ? &later : &levels[0];
}

bool cost_is_thinned(const Ingero__V1__Cost *cost)
{
	return *level_of(cost)->words != '\0';
}

/* The budget that would keep synchronises exact, of those that there are. */
static struct cost_words remedy_of(const Ingero__V1__Cost *cost)
{
	static const unsigned int percents[] = { 1, 2, 5, 10, 20 }; /* base/daemon_options.def */
	struct cost_words remedy = { .text = "" };

	if (!cost->exact_budget_ratio_told_case)
		return remedy;
	for (size_t i = 0; i < ARRAY_SIZE(percents) && !*remedy.text; i++)
		if (cost->exact_budget_ratio * 100 <= percents[i])
			(void)snprintf(remedy.text, sizeof(remedy.text), " ('--budget %u%%' counts each synchronise)",
				       percents[i]);
	if (!*remedy.text)
		(void)snprintf(remedy.text, sizeof(remedy.text), " ('--budget off' counts each synchronise)");
	return remedy;
}

static const char *forced_words(const Ingero__V1__Cost *cost)
{
	return cost->forced_by_others_told_case && cost->forced_by_others ? " for another user's process" : "";
}

struct cost_words cost_budget(const Ingero__V1__Cost *cost)
{
	struct cost_words budget = { .text = "" };

	if (cost->budget_ratio_told_case)
		(void)snprintf(budget.text, sizeof(budget.text), "budget %s%s%s%.50s",
			       units_ratio(cost->budget_ratio, 0).text, level_of(cost)->words, forced_words(cost),
			       remedy_of(cost).text);
	return budget;
}

struct cost_words cost_header(const Ingero__V1__Cost *cost)
{
	struct cost_words words;

	if (cost->budget_ratio_told_case)
		(void)snprintf(words.text, sizeof(words.text), "cost %s of %s%s",
			       units_ratio(cost->probe_ratio, 0).text, units_ratio(cost->budget_ratio, 0).text,
			       level_of(cost)->header);
	else
		(void)snprintf(words.text, sizeof(words.text), "cost %s", cost_share(cost).text);
	return words;
}
