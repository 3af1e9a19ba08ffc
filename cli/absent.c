// SPDX-License-Identifier: Apache-2.0
#include "cli/absent.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

struct row {
	const char *command;
	const char *name;
	const char *text;
};

static const struct row absent[] = {
#define ABSENT_OPTION(command, name, way_out) { command, name, way_out },
#include "cli/absent.def"
};

static const struct row others[] = {
#define OTHER_OPTION(command, name, means) { command, name, means },
#include "cli/absent.def"
};

static bool name_fits(const char *listed, const char *name, size_t n_name)
{
	size_t n = strlen(listed);

	if (n && listed[n - 1] == '*')
		return n_name >= n - 1 && memcmp(listed, name, n - 1) == 0;
	return n_name == n && memcmp(listed, name, n) == 0;
}

static const char *absent_row_find(const struct row *rows, size_t n, const char *command, const char *name,
				   size_t n_name)
{
	for (size_t i = 0; i < n; i++)
		if ((strcmp(rows[i].command, "*") == 0 || strcmp(rows[i].command, command) == 0) &&
		    name_fits(rows[i].name, name, n_name))
			return rows[i].text;
	return NULL;
}

const char *option_absent(const char *command, const char *name, size_t n_name)
{
	return absent_row_find(absent, ARRAY_SIZE(absent), command, name, n_name);
}

const char *option_other(const char *command, const char *name)
{
	return absent_row_find(others, ARRAY_SIZE(others), command, name, strlen(name));
}
