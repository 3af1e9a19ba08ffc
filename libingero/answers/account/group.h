// SPDX-License-Identifier: Apache-2.0
/* Causes of an account as the user sees them: what a part of the time is, and its words. */
#pragma once

#include <stdbool.h>

#include "ingero/v1/ingero.pb-c.h"

/* A cause as the user sees it. */
enum cause_group {
	GROUP_READY,
	GROUP_QUOTA,
	GROUP_CALL,
	GROUP_CPU,
	GROUP_PYTHON,
	GROUP_GC,
	GROUP_PIPE,
	GROUP_SOCKET,
	GROUP_FULL_PIPE,
	GROUP_FULL_SOCKET,
	GROUP_GIL,
	GROUP_LOCK,
	GROUP_FILE_LOCK,
	GROUP_DISK,
	GROUP_FILE,
	GROUP_WRITTEN,
	GROUP_MEMORY,
	GROUP_CHILD,
	GROUP_DRIVER,
	GROUP_SLEEP,
	GROUP_STOPPED, /* by what is unknown: the sum of several */
	GROUP_SIGNALLED,
	GROUP_TRACED,
	GROUP_FROZEN,
	GROUP_HELD,
	GROUP_WOKEN, /* what it waits for is unknown, and who ended the wait is known */
	GROUP_BLOCKED,
	GROUP_NOT_KNOWN,
	GROUP_REST, /* causes without a line of their own */
};

struct account_group_words {
	const char *label;
	const char *brief; /* NULL: the label */
	const char *link;  /* prefix of the waker or resource */
};

const struct account_group_words *account_group_words(enum cause_group kind);
/** account_group_of() - cause of a part; of a part in a call GROUP_CALL */
enum cause_group account_group_of(const Ingero__V1__Account *account, const Ingero__V1__AccountPart *part);
/** account_stop_group() - how a thread was stopped, of a part in a call, too; GROUP_BLOCKED: it was not */
enum cause_group account_stop_group(const Ingero__V1__AccountPart *part);
/** account_group_is_wait() - whether it is a wait between calls, and not asked for by the program as sleep is */
bool account_group_is_wait(enum cause_group kind);
/** account_is_collection() - whether Python collected garbage in this part */
bool account_is_collection(const Ingero__V1__AccountPart *part);

struct account_class_words {
	char text[96];
};

/**
 * account_class_words() - what a thread did in the time of a class: the phrase of the class; of time blocked the cause,
 * where the account knows that of most of it: "stopped by a signal", "mostly waiting for a pipe"
 * @account: NULL: unknown
 * @class:   name of the class as in parts
 * @in_calls: only time in calls
 */
struct account_class_words account_class_words(const Ingero__V1__Account *account, const char *class, bool in_calls);
