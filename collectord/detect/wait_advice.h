// SPDX-License-Identifier: Apache-2.0
/* Remedies that depend on the wait, for several detectors. No command names a process that has ended. */
#pragma once

#include "detect/detector.h"

/** wait_advise_stopped() - how to continue the process. @wait: RESOURCE_STOPPED */
void wait_advise_stopped(struct finding *finding, const struct detector_facts *facts, const struct account_wait *wait);
/**
 * wait_advise_debugger() - add a command that looks at a process with a debugger, and what that does to the process
 * Of another user's process nobody is advised to stop it: the command shows whether its threads compute or wait.
 * @what:   what it is for
 * @pid:    the process of the finding, or one that works for it
 * @behind: behind the id; begins with a space
 */
void wait_advise_debugger(struct finding *finding, const struct detector_facts *facts, const char *what, uint32_t pid,
			  const char *behind);
/** wait_advise_socket() - how to find the other end of a socket that the process waits for */
void wait_advise_socket(struct finding *finding, const struct detector_facts *facts);
/** wait_advise_reader() - the reader is the cause's process, if that is known. @wait: for room in a pipe or socket */
void wait_advise_reader(struct finding *finding, const struct detector_facts *facts, const struct account_wait *wait);
