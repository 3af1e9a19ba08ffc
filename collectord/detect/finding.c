// SPDX-License-Identifier: Apache-2.0
#include "detect/finding.h"

const char *finding_severity_to_string(enum finding_severity severity)
{
	switch (severity) {
	case FINDING_LOW:
		return "LOW";
	case FINDING_MEDIUM:
		return "MEDIUM";
	case FINDING_HIGH:
		return "HIGH";
	case FINDING_CRITICAL:
		return "CRITICAL";
	}
	return "";
}
