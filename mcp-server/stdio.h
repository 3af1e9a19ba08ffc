// SPDX-License-Identifier: Apache-2.0
/* The transport that editors spawn: one message a line, on a pair of descriptors. */
#pragma once

#include "mcp-server/server.h"

/**
 * stdio_serve() - answer until the input ends, then finish what was asked
 * Return: 0, also when the reader of the answers has gone; -errno
 */
int stdio_serve(const struct server *server, int in, int out);
