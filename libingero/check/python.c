// SPDX-License-Identifier: Apache-2.0
/* Python interpreters that run now, by the names of their files: whose frames stacks can show. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "libingero/check/item.h"
#include "libingero/render/units.h"

#define SHOWN_MOST 32 /* maximum number of detail lines */
#define MAJOR 3
#define OLDEST_MINOR 9
#define NEWEST_MINOR 15

struct interpreter {
	unsigned long major, minor; /* of CPython */
	bool is_threaded;	    /* without the GIL */
	bool is_debug;		    /* for debugging Python itself */
	bool is_pypy;
};

/* By the name of its program or library: python3.13, libpython3.13t.so.1.0, pypy3.11. Return: whether it is one */
static bool interpreter_of(const char *path, struct interpreter *ret)
{
	static const char *const names[] = { "libpython", "python", "libpypy", "pypy" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i = 0;
	char *end;

	while (i < ARRAY_SIZE(names) && strncmp(name, names[i], strlen(names[i])) != 0)
		i++;
	if (i == ARRAY_SIZE(names) || !isdigit((unsigned char)name[strlen(names[i])]))
		return false;
	*ret = (struct interpreter){ .major = strtoul(name + strlen(names[i]), &end, 10) };
	ret->is_pypy = strstr(names[i], "pypy") != NULL;
	if (*end != '.' || !isdigit((unsigned char)end[1]))
		return false;
	ret->minor = strtoul(end + 1, &end, 10);
	for (; islower((unsigned char)*end); end++) {
		ret->is_threaded |= *end == 't';
		ret->is_debug |= *end == 'd';
	}
	return *end == '\0' || *end == ' ' || strncmp(end, ".so", 3) == 0 || strncmp(end, "-c.so", 5) == 0;
}

/* Return: why its frames are not shown; NULL: they are */
static const char *interpreter_problem(const struct interpreter *interpreter)
{
	if (interpreter->is_pypy)
		return "PyPy: Python frames are not shown";
	if (interpreter->major != MAJOR || interpreter->minor < OLDEST_MINOR || interpreter->minor > NEWEST_MINOR)
		return "Python frames are not shown (3.9 to 3.15 are supported)";
	if (interpreter->is_threaded)
		return "free-threaded build: Python frames are not shown";
	if (interpreter->is_debug)
		return "debug build: Python frames are not shown";
	return NULL;
}

struct pythons {
	struct check_result *result;
	size_t n, n_hidden;
};

static void pythons_note(const char *pid, const char *comm, char *maps, void *data)
{
	struct pythons *pythons = data;
	struct interpreter interpreter;
	char *rest = NULL;

	(void)comm;
	for (char *line = strtok_r(maps, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *path = strchr(line, '/'), *problem;

		if (!path || !interpreter_of(path, &interpreter))
			continue;
		problem = interpreter_problem(&interpreter);
		pythons->n_hidden += problem != NULL;
		if (++pythons->n <= SHOWN_MOST)
			(void)buf_printf(&pythons->result->detail, "Python %lu.%lu (pid %s): %s\n", interpreter.major,
					 interpreter.minor, pid, problem ? problem : "frames are walked in the kernel");
		return;
	}
}

void check_python(const struct check_world *world, struct check_result *result)
{
	struct pythons pythons = { .result = result };
	const char *others;
	size_t n_closed;

	if (check_maps_look(world, pythons_note, &pythons, &n_closed) < 0) {
		check_say(result, CHECK_LEVEL_WARN, "mount proc: 'mount -t proc proc /proc'", "unknown: no /proc");
		return;
	}
	if (pythons.n > SHOWN_MOST)
		(void)buf_printf(&result->detail, "and %zu more\n", pythons.n - SHOWN_MOST);
	others = n_closed ? "; other users' processes are not checked" : "";
	if (pythons.n_hidden)
		check_say(result, CHECK_LEVEL_WARN, "use a usual build of CPython 3.9 to 3.15",
			  "frames of %zu of %s are not shown%s", pythons.n_hidden,
			  units_things(pythons.n, "interpreter", "interpreters").text, others);
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "%s, frames are shown%s",
			  units_things(pythons.n, "running interpreter", "running interpreters").text, others);
}
