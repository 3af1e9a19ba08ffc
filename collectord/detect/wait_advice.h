// SPDX-License-Identifier: Apache-2.0
/* Remedies that depend on the wait, for several detectors. */
#pragma once

#include "detect/finding.h"

/** wait_advise_stopped() - how to continue the process. @wait: RESOURCE_STOPPED */
void wait_advise_stopped(struct finding *finding, const struct account_wait *wait);
/** wait_advise_reader() - the reader is the cause's process, if that is known. @wait: for room in a pipe or socket */
void wait_advise_reader(struct finding *finding, const struct account_wait *wait);
