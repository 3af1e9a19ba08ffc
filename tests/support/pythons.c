// SPDX-License-Identifier: Apache-2.0
#include "tests/support/pythons.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static void pythons_add(struct pythons *pythons, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc && pythons->n < PYTHONS_MAX; i++)
			pythons->paths[pythons->n++] = strdup(found.gl_pathv[i]);
		globfree(&found);
	}
}

static void pythons_add_pyenv(struct pythons *pythons, const char *versions)
{
	const char *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
	char pattern[4096];

	(void)snprintf(pattern, sizeof(pattern), "%s%s/versions/%s",
		       root   ? root
		       : home ? home
			      : "",
		       root ? "" : "/.pyenv", versions);
	pythons_add(pythons, pattern);
}

void pythons_find(struct pythons *pythons)
{
	const char *more = getenv("INGERO_TEST_PYTHONS");
	char *names = strdup(more ? more : ""), *rest = NULL;

	memset(pythons, 0, sizeof(*pythons));
	pythons_add(pythons, "/usr/bin/python3.9");
	pythons_add(pythons, "/usr/bin/python3.1[0-9]");
	pythons_add_pyenv(pythons, "3.9.*/bin/python3.9");
	pythons_add_pyenv(pythons, "3.1[0-9].*/bin/python3.1[0-9]");
	for (char *name = names ? strtok_r(names, ":", &rest) : NULL; name; name = strtok_r(NULL, ":", &rest))
		pythons_add(pythons, name);
	free(names);
}

void pythons_done(struct pythons *pythons)
{
	for (size_t i = 0; i < pythons->n; i++)
		free(pythons->paths[i]);
	pythons->n = 0;
}

FILE *pythons_run(const char *python, const char *script, const char *arguments)
{
	char command[8192];

	(void)snprintf(command, sizeof(command), "exec '%s' -I -S '%s/%s' %s", python, TEST_SCRIPTS, script, arguments);
	return popen(command, "re");
}
