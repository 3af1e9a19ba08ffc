// SPDX-License-Identifier: Apache-2.0
/* How a client of root asks a daemon that it starts to become a user, before anything else: the first two arguments. */
#pragma once

#define BECOME_OPTION "--become"
#define BECOME_FORMAT "%u:%u:%d" /* UID, GID, and the process with whose end the daemon ends */
#define BECOME_BYTES 48
