// SPDX-License-Identifier: Apache-2.0
/*
 * One thread that opens files as one user may: so a file that a privileged daemon writes
 * in a user's place is his, and a link he put there leads to nothing that he may not write.
 */
#pragma once

#include <stdint.h>

/**
 * owner_become() - open files with this user's rights alone from now on; of the calling thread only
 * Without CAP_SETUID it succeeds for the user the thread already is.
 * Return: 0 or -errno
 */
int owner_become(uint32_t uid, uint32_t gid);
