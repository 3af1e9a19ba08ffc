// SPDX-License-Identifier: Apache-2.0
#include "cli/absent.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *command;
	const char *name;
	const char *way_out;
} rows[] = {
#define ABSENT_OPTION(command, name, way_out) { command, name, way_out },
#include "cli/absent.def"
};

static bool name_fits(const char *listed, const char *name, size_t n_name)
{
	size_t n = strlen(listed);

	if (n && listed[n - 1] == '*')
		return n_name >= n - 1 && memcmp(listed, name, n - 1) == 0;
	return n_name == n && memcmp(listed, name, n) == 0;
}

const char *option_absent(const char *command, const char *name, size_t n_name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((strcmp(rows[i].command, "*") == 0 || strcmp(rows[i].command, command) == 0) &&
		    name_fits(rows[i].name, name, n_name))
			return rows[i].way_out;
	return NULL;
}
