// SPDX-License-Identifier: Apache-2.0
/*
 * callers-loop FRAMES PATHS CALLS CHUNKS: makes calls whose stacks have that many native frames, and prints
 * {"ns": CPU time of a call with the way to it, "native": FRAMES, "python": 0}.
 */
#include <stdio.h>
#include <stdlib.h>

#include "callers_loop.h"

int main(int argc, char **argv)
{
	unsigned int n[4] = { 0 };
	int own = callers_loop_frames();

	for (int i = 0; i < 4 && i + 1 < argc; i++)
		n[i] = (unsigned int)strtoul(argv[i + 1], NULL, 10);
	if (argc != 5 || n[0] < (unsigned int)own + 3 || n[1] < 1 || n[1] > LOOP_PATHS) {
		fprintf(stderr, "usage: callers-loop FRAMES PATHS CALLS CHUNKS; FRAMES: at least %d, PATHS: 1 to %u\n",
			own + 3, LOOP_PATHS);
		return 2;
	}
	printf("{\"ns\": %.1f, \"native\": %u, \"python\": 0}\n",
	       callers_loop(n[0] - (unsigned int)own - 1, n[1], n[2], n[3]), n[0]);
	return 0;
}
