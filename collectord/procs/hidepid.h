// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

/** hidepid_is_on() - whether /proc here hides other users' processes (mount option hidepid) */
bool hidepid_is_on(void);
/** hidepid_in_mounts() - parse the text of /proc/mounts: the last mount on /proc counts */
bool hidepid_in_mounts(const char *mounts);
