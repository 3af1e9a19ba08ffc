// SPDX-License-Identifier: Apache-2.0
/* Remedies that depend on the wait, for several detectors. No command names a process that has ended. */
#pragma once

#include "detect/detector.h"

/** wait_advise_stopped() - how to continue the process. @wait: RESOURCE_STOPPED */
void wait_advise_stopped(struct finding *finding, const struct detector_facts *facts, const struct account_wait *wait);
/** wait_advise_socket() - how to find the other end of a socket that the process waits for */
void wait_advise_socket(struct finding *finding, const struct detector_facts *facts);
/** wait_advise_reader() - the reader is the cause's process, if that is known. @wait: for room in a pipe or socket */
void wait_advise_reader(struct finding *finding, const struct detector_facts *facts, const struct account_wait *wait);
