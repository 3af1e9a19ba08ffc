// SPDX-License-Identifier: Apache-2.0
/* When detectors examine what a process does between its calls; texts name it. */
#pragma once

/*
 * Seconds after the first call: at the start a process waits for its files and workers, and imports its modules.
 * (Guess.)
 */
#define EXAMINE_FROM_S 5
