// SPDX-License-Identifier: Apache-2.0
/*
 * Stopped descendants of this process: finding them in /proc and continuing them. Only processes of one user are
 * signalled, through pidfds: a reused pid never gets the signal.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define DESCENDANTS_NO_GROUP (-1)

/** descendants_can_be_found() - whether /proc and pidfds are available here */
bool descendants_can_be_found(void);
/** descendants_continue_one() - continue one descendant, whatever its state. Return: 0 or -errno */
int descendants_continue_one(uid_t uid, pid_t pid);
/**
 * descendants_continue() - continue all that are stopped or about to stop; only after the kernel half stops none any
 * more
 * @except_group: process group that is left alone
 */
void descendants_continue(uid_t uid, pid_t except_group);
