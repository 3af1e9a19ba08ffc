// SPDX-License-Identifier: Apache-2.0
/*
 * Words for waits between calls. A finding and the account of its thread tell of the same wait: "waits for", what it is
 * for, then who ended it.
 */
#pragma once

#define WAIT_WORDS_GIL "the GIL"
#define WAIT_WORDS_GIL_BY "held by"
#define WAIT_WORDS_LOCK "a lock"
#define WAIT_WORDS_LOCK_BY "released by"
#define WAIT_WORDS_SOCKET "a socket"
#define WAIT_WORDS_SOCKET_BY "from"
#define WAIT_WORDS_FULL_PIPE "room in a pipe"
#define WAIT_WORDS_FULL_SOCKET "room in a socket"
#define WAIT_WORDS_FULL_BY "read by"
#define WAIT_WORDS_STOPPED_BY "continued by"
#define WAIT_WORDS_DISK "a disk"
#define WAIT_WORDS_WRITTEN "a file to be written"
#define WAIT_WORDS_MEMORY "memory"
#define WAIT_WORDS_CHILD "a child process"
