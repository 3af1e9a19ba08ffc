// SPDX-License-Identifier: Apache-2.0
/*
 * One thread that opens files with the rights of one user: a file that a privileged daemon writes in a user's place
 * belongs to the user, and a link placed there leads to nothing that the user may not write.
 */
#pragma once

#include <stdint.h>

/**
 * owner_become() - from now on open files with this user's rights alone; affects the calling thread only Without
 * CAP_SETUID it succeeds only for the thread's current user.
 * Return: 0 or -errno
 */
int owner_become(uint32_t uid, uint32_t gid);
