// SPDX-License-Identifier: Apache-2.0
/*
 * Empty programs at task switches and wake-ups.
 *
 * Prints "ready" when they are attached, and detaches them when its standard input ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "empty_hooks.skel.h"

int main(void)
{
	struct empty_hooks *bpf = empty_hooks__open_and_load();

	if (!bpf || empty_hooks__attach(bpf)) {
		fprintf(stderr, "empty_hooks: %s\n", strerror(errno));
		empty_hooks__destroy(bpf);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	empty_hooks__destroy(bpf);
	return 0;
}
