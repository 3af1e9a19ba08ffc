// SPDX-License-Identifier: Apache-2.0
/*
 * Descendants of this process that stand still, found in /proc, and told to go on. Only processes of one user
 * are signalled, each through a descriptor that stays with it: never another one that has got its number.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define DESCENDANTS_NO_GROUP (-1)

/** descendants_can_be_found() - whether /proc and descriptors of processes can be had here */
bool descendants_can_be_found(void);
/** descendants_continue_one() - a process that descends from this one, whatever its state. Return: 0 or -errno */
int descendants_continue_one(uid_t uid, pid_t pid);
/**
 * descendants_continue() - all that are stopped, or about to be; from now on nobody is to be stopped any more
 * @except_group: process group that is left alone
 */
void descendants_continue(uid_t uid, pid_t except_group);
