// SPDX-License-Identifier: Apache-2.0
/*
 * A listener that does next to nothing: takes every connection, reads what comes and throws it away. What a
 * client does to it costs the machine what the client costs, and little more.
 */
#pragma once

#include <sys/types.h>

/** sink_start() - listen on that path, which everybody may connect to, in a process of its own. Return: its pid */
pid_t sink_start(const char *path);
void sink_stop(pid_t pid);
