// SPDX-License-Identifier: Apache-2.0
/* What a finding blames, in words: the processes by name, and what the process did in one clause. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/** explain_cause_append() - as explain_cause_text(), every process with its share */
void explain_cause_append(const Ingero__V1__Finding *finding, struct buf *text);

struct explain_cause {
	char text[512]; /* enough for three processes by name, and a chain */
};

/**
 * explain_cause_text() - the cause in the words of its finding, with up to three processes: "behind hog (pid 42,
 * root)", "49 % behind cc1 (9 processes, root), 8 % hog (pid 42, root)" where no process or name has half, "out of its
 * CPU quota"; "" where the cause is unknown
 */
struct explain_cause explain_cause_text(const Ingero__V1__Finding *finding);
/**
 * explain_event_text() - what the process did, in one clause of its title and its cause: "waited for data from loader
 * (pid 42, root) ← reads train.bin"; "" where the title does not begin with the name of the process
 * @has_chain: with what that process did meanwhile
 */
struct explain_cause explain_event_text(const Ingero__V1__Finding *finding, bool has_chain);
/** explain_is_between() - whether a finding is about time between calls alone */
bool explain_is_between(const Ingero__V1__Finding *finding);
