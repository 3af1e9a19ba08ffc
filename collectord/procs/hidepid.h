// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** hidepid_is_on() - whether /proc here hides other users' processes (mount option hidepid) */
bool hidepid_is_on(void);
/**
 * hidepid_hides_from() - whether a process with a mount namespace of its own, as in a sandbox, has no /proc or one that
 * hides other users' processes; true if it has a root of its own (chroot), or if its mounts cannot be read. Elsewhere
 * hidepid_is_on() decides
 */
bool hidepid_hides_from(uint32_t pid);
/**
 * hidepid_in_mounts() - parse the text of /proc/mounts: the last mount on /proc counts; without one, or with another
 * file system there, everything is hidden
 */
bool hidepid_in_mounts(const char *mounts);
