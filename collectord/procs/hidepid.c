// SPDX-License-Identifier: Apache-2.0
#include "procs/hidepid.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

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

bool hidepid_is_on(void)
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
