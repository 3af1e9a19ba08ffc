// SPDX-License-Identifier: Apache-2.0
/*
 * main() of a fuzz target where there is no libFuzzer: the target is called once for each file of the directories that
 * are named, and for no bytes at all. What is wrong ends the process: an abort(), a sanitizer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void input_run(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(freep) uint8_t *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		abort();
	data = malloc((size_t)st.st_size + !st.st_size); /* exactly as many: a sanitizer sees the end */
	if (!data || read(fd, data, (size_t)st.st_size) != st.st_size)
		abort();
	(void)fprintf(stderr, "%s\n", path); /* the last one is told of a process that ends */
	(void)LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
}

static size_t directory_run(const char *directory)
{
	DIR *entries = opendir(directory);
	char path[PATH_MAX];
	size_t n = 0;

	if (!entries)
		return 0;
	for (const struct dirent *entry; (entry = readdir(entries));) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		input_run(path);
		n++;
	}
	(void)closedir(entries);
	return n;
}

int main(int argc, char **argv)
{
	size_t n = 0;

	(void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		size_t found = argv[i][0] == '-' ? 0 : directory_run(argv[i]);

		if (!found) {
			(void)fprintf(
				stderr,
				"'%s' is no directory with inputs; fuzzing needs a build by clang with libFuzzer\n",
				argv[i]);
			return 1;
		}
		n += found;
	}
	(void)printf("%zu inputs\n", n);
	return 0;
}
