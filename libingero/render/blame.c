// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/blame.h"

#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *field;
	const char *label;
	const char *phrase;
} words[] = {
#define BLAME(id, field, label, phrase, remedy) [BLAME_VIEW_##id] = { #field, label, phrase },
#include "bpf/blame.def"
#undef BLAME
};

struct blame_view blame_view_of(const Ingero__V1__Blame *blame)
{
	struct blame_view view = { .sum_ns = 0 };

	if (!blame)
		return view;

#define BLAME(id, field, label, phrase, remedy)                                                                        \
	view.is_measured[BLAME_VIEW_##id] = blame->has_##field;                                                        \
	view.ns[BLAME_VIEW_##id] = blame->has_##field ? blame->field : 0;
#include "bpf/blame.def"
#undef BLAME
	for (size_t i = 0; i < BLAME_VIEW_COUNT; i++)
		view.sum_ns += view.ns[i];
	return view;
}

enum blame_view_class blame_view_largest(const struct blame_view *view, unsigned int except)
{
	enum blame_view_class found = BLAME_VIEW_COUNT;

	for (enum blame_view_class i = 0; i < BLAME_VIEW_COUNT; i++)
		if (!(except & 1u << i) && view->ns[i] > (found == BLAME_VIEW_COUNT ? 0 : view->ns[found]))
			found = i;
	return found;
}

uint64_t blame_view_waits_for_cpu_ns(const struct blame_view *view)
{
	return view->ns[BLAME_VIEW_RUNNABLE] + view->ns[BLAME_VIEW_QUOTA];
}

const char *blame_view_label(enum blame_view_class class)
{
	return words[class].label;
}

const char *blame_view_phrase(enum blame_view_class class)
{
	return words[class].phrase;
}

const char *blame_view_field(enum blame_view_class class)
{
	return words[class].field;
}

enum blame_view_class blame_view_parse(const char *field)
{
	enum blame_view_class class = 0;

	while (class < BLAME_VIEW_COUNT && strcmp(words[class].field, field ? field : "") != 0)
		class ++;
	return class;
}
