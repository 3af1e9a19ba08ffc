// SPDX-License-Identifier: Apache-2.0
#include "base/process_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *process_name_first(const struct process_named *p)
{
	return *p->script ? p->script : p->name;
}

bool process_name_has_rank(bool is_known, uint32_t world_size)
{
	return is_known && world_size != 1;
}

static struct process_name ranked(const char *first, const char *second, const struct process_named *p)
{
	struct process_name name;
	int n = snprintf(name.text, sizeof(name.text), "%s%s%s", first, *second ? " " : "", second);

	if (p->has_rank && n > 0 && (size_t)n < sizeof(name.text))
		(void)snprintf(name.text + n, sizeof(name.text) - (size_t)n, " rank %" PRIu32, p->rank);
	return name;
}

struct process_name process_name_long(const struct process_named *p)
{
	const char *known = *p->name ? p->name : "?";

	return ranked(known, strcmp(p->script, known) != 0 ? p->script : "", p);
}

struct process_name process_name_short(const struct process_named *p)
{
	const char *first = process_name_first(p);

	return ranked(*first ? first : "the process", "", p);
}

bool process_name_is_python(const char *name, const char *script)
{
	static const char python[] = "python", ending[] = ".py";
	size_t n = strlen(script), n_ending = sizeof(ending) - 1;

	return strncmp(name, python, sizeof(python) - 1) == 0 ||
	       (n > n_ending && strcmp(script + n - n_ending, ending) == 0);
}
