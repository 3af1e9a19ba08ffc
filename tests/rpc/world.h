// SPDX-License-Identifier: Apache-2.0
/*
 * Five users whose programs are traced, each by his own lease, and a database with kept calls of all.
 */
#pragma once

#include "questions.h"
#include "tests/support/tenants.h"

extern struct tenants tenants;
extern struct subject subjects[TENANT_COUNT + 1]; /* of each, and at the end one that is gone */

/** world_start() - returns when a call of everybody was kept; ends the test where that cannot be had */
void world_start(void);
void world_stop(void);
