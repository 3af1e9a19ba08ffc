// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/window.h"

int window_refuse(const struct window_wish *wish, struct answer *answer)
{
	switch (window_fault(wish)) {
	case WINDOW_FAULT_NONE:
		break;
	case WINDOW_FAULT_SINCE_AND_FROM:
		return answer_fail(answer, "'since' and 'from' exclude each other: take one");
	case WINDOW_FAULT_SINCE_AND_TO:
		return answer_fail(answer, "'since' ends now; with 'to' give 'from'");
	case WINDOW_FAULT_EMPTY:
		return answer_fail(answer, "'from' is not before 'to': the window is empty");
	}
	return 0;
}
