// SPDX-License-Identifier: Apache-2.0
/*
 * Lets one thread open files with the rights of one user. A file that a privileged daemon writes in a user's directory
 * then belongs to the user, and a symbolic link there cannot lead to a file that the user may not write.
 */
#pragma once

#include <stdint.h>

/**
 * owner_become() - from now on open files with this user's rights alone
 *
 * Affects the calling thread only. Without CAP_SETUID it succeeds only for the thread's current user.
 *
 * Return: 0 or -errno
 */
int owner_become(uint32_t uid, uint32_t gid);
