// SPDX-License-Identifier: Apache-2.0
#include "libingero/connect/demo.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
		if (strcasecmp(rows[i].name, name) == 0 || is_alias(rows[i].aliases, name))
			return &rows[i];
	return NULL;
}

/* Return: 0 or -errno */
static int demo_directory_make(struct demo_file *file)
{
	if (!mkdtemp(file->directory))
		return -errno;
	(void)snprintf(file->path, sizeof(file->path), "%s/demo.db", file->directory);
	file->fd = open(file->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return file->fd < 0 ? -errno : 0;
}

/* Under sudo the daemon runs as the user who typed it, who may put another directory in the place of this one. */
int demo_file_make(struct demo_file *file, const struct caller *caller)
{
	const char *place = getenv("TMPDIR");
	struct caller_files before;
	int n, r;

	if (!place || !*place)
		place = "/tmp";
	n = snprintf(file->directory, sizeof(file->directory), "%s/ingero-demo-XXXXXX", place);
	if (n < 0 || (size_t)n >= sizeof(file->directory))
		return -ENAMETOOLONG;
	file->caller = *caller;
	r = caller_files_begin(caller, &before);
	if (r < 0)
		return r;
	r = demo_directory_make(file);
	caller_files_end(&before);
	if (r < 0)
		demo_file_done(file);
	return r;
}

/* The database and its companions; there is no subdirectory. */
static void directory_empty(int *fd)
{
	DIR *dir = fdopendir(*fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		(void)unlinkat(*fd, entry->d_name, 0);
	if (dir)
		(void)closedir(dir);
	*fd = dir ? -1 : *fd;
}

void demo_file_done(struct demo_file *file)
{
	struct caller_files before;

	if (*file->path && caller_files_begin(&file->caller, &before) == 0) {
		directory_empty(&file->fd);
		(void)rmdir(file->directory);
		caller_files_end(&before);
	}
	closep(&file->fd);
	file->path[0] = 0;
}
