// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
