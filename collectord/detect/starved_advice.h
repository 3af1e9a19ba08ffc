// SPDX-License-Identifier: Apache-2.0
/* Remedies for the causes of waits between calls. */
#pragma once

#include "detect/detector.h"

/** starved_advise() - advise against one cause of the finding, whose culprits and chain are filled in */
void starved_advise(const struct detector_sums *sums, const struct detector_facts *facts, enum cause_number cause,
		    struct finding *finding);
