// SPDX-License-Identifier: Apache-2.0
#include "procs/hidepid.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "clock.h"

/* An answer asks for each of its rows; nobody can ask before and after a mount within that. */
#define LOOK_NS (10 * NSEC_PER_MSEC)

bool hidepid_in_mounts(const char *mounts)
{
	bool is_on = false;

	while (*mounts) {
		const char *end = strchrnul(mounts, '\n');
		char where[64], type[16], options[256];

		if (sscanf(mounts, "%*s %63s %15s %255s", where, type, options) == 3 && strcmp(where, "/proc") == 0 &&
		    strcmp(type, "proc") == 0) {
			const char *option = strstr(options, "hidepid=");

			/* 0 and "off" show everything; 1, 2, 4 and their names do not */
			is_on = option && option[8] != '0' && strncmp(option + 8, "off", 3) != 0;
		}
		mounts = *end ? end + 1 : end;
	}
	return is_on;
}

static bool hidepid_look(void)
{
	char mounts[65536];

	/*
	 * As the machine's first process sees it: a service has a /proc of its own that hides what
	 * users may well see. Who may not ask for that has the /proc of whoever asks him.
	 */
	if (fd_read_file_at(AT_FDCWD, "/proc/1/mounts", mounts, sizeof(mounts)) > 0)
		return hidepid_in_mounts(mounts);
	/* Not to know is to hide. */
	return fd_read_file_at(AT_FDCWD, "/proc/mounts", mounts, sizeof(mounts)) < 0 || hidepid_in_mounts(mounts);
}

bool hidepid_is_on(void)
{
	static uint64_t looked_ns; /* 0: never */
	static bool is_on;
	uint64_t now_ns = clock_now_ns();

	if (!looked_ns || now_ns - looked_ns >= LOOK_NS) {
		is_on = hidepid_look();
		looked_ns = now_ns;
	}
	return is_on;
}
