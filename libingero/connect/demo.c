// SPDX-License-Identifier: Apache-2.0
#include "libingero/connect/demo.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct demo_row rows[] = {
#define DEMO(name_, aliases_, sentence_, ...) { .name = (name_), .aliases = (aliases_), .sentence = (sentence_) },
#define DEMO_LATER(name_, aliases_) { .name = (name_), .aliases = (aliases_) },
#include "base/demos.def"
};
static_assert(ARRAY_SIZE(rows) <= DEMOS_MAX, "lists of demos have room for all");

const struct demo_row *demo_get(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : NULL;
}

static bool is_alias(const char *aliases, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = aliases; n && *p; p += strspn(p, " ")) {
		size_t word = strcspn(p, " ");

		if (word == n && memcmp(p, name, n) == 0)
			return true;
		p += word;
	}
	return false;
}

const struct demo_row *demo_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].name, name) == 0 || is_alias(rows[i].aliases, name))
			return &rows[i];
	return NULL;
}

int demo_file_make(struct demo_file *file, const struct caller *caller)
{
	const char *place = getenv("TMPDIR");
	int n;

	if (!place || !*place)
		place = "/tmp";
	n = snprintf(file->directory, sizeof(file->directory), "%s/ingero-demo-XXXXXX", place);
	if (n < 0 || (size_t)n >= sizeof(file->directory))
		return -ENAMETOOLONG;
	if (!mkdtemp(file->directory))
		return -errno;
	(void)snprintf(file->path, sizeof(file->path), "%s/demo.db", file->directory);
	/* Under sudo the daemon runs as the user who typed it. */
	if (caller->is_sudo && chown(file->directory, caller->uid, caller->gid) < 0) {
		int r = -errno;

		demo_file_done(file);
		return r;
	}
	return 0;
}

void demo_file_done(struct demo_file *file)
{
	DIR *dir;
	struct dirent *entry;

	if (!*file->path)
		return;
	file->path[0] = 0;
	dir = opendir(file->directory);
	while (dir && (entry = readdir(dir)))
		(void)unlinkat(dirfd(dir), entry->d_name, 0); /* the database and its companions; no subdirectory */
	if (dir)
		(void)closedir(dir);
	(void)rmdir(file->directory);
}
