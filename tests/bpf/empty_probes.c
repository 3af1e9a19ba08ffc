// SPDX-License-Identifier: Apache-2.0
/*
 * Empty programs on functions of libraries, for whoever maps them: what any tracer costs a program there.
 *
 *   empty_probes BACK_END FILE OFFSET... [FILE OFFSET...]...   offsets in the file, decimal
 *
 * Says "ready" when they are attached, and takes them away when its standard input ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "floor.h"
#include "rig.h"

#define FILES_MAX 16

static void fail(const char *what, int r)
{
	fprintf(stderr, "empty_probes: %s: %s\n", what, strerror(-r));
	exit(1);
}

/* Return: how many arguments this file and its offsets are */
static int file_attach(enum probe_back_end back_end, char **words, int n_words, struct floor **ret_floor)
{
	CLEANUP(freep) struct probe_site *sites = calloc((size_t)n_words, sizeof(*sites));
	CLEANUP(closep) int fd = open(words[0], O_PATH | O_CLOEXEC);
	uint64_t offset;
	size_t n = 0;
	int r;

	if (fd < 0 || !sites)
		fail(words[0], -errno);
	while (1 + (int)n < n_words && parse_u64(words[1 + n], UINT64_MAX, &offset) == 0)
		sites[n++].offset = offset;
	r = floor_open(back_end, ret_floor);
	if (r == 0)
		r = floor_attach(*ret_floor, fd, sites, n);
	if (r < 0)
		fail(words[0], r);
	return 1 + (int)n;
}

int main(int argc, char **argv)
{
	struct floor *floors[FILES_MAX] = { NULL };
	enum probe_back_end back_end = rig_back_end(argc, argv);
	size_t n = 0;

	for (int i = 2; i < argc && n < FILES_MAX; n++)
		i += file_attach(back_end, argv + i, argc - i, &floors[n]);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	while (n > 0)
		floor_close(floors[--n]);
	return 0;
}
