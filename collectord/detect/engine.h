// SPDX-License-Identifier: Apache-2.0
/*
 * Runs every detector of list.h over what happens, and keeps the findings.
 *
 * Fed tick by tick and call by call, in order of time. It does not know whether that is
 * live or read from a file, and so finds the same in both. Nothing here blocks or
 * knows who listens.
 */
#pragma once

#include <stddef.h>

#include "detect/finding.h"
#include "figures/tick.h"

struct engine;

enum engine_change { ENGINE_OPENED, ENGINE_UPDATED, ENGINE_CLOSED };

/** typedef engine_finding_func - @finding: borrowed; UPDATED comes when something people see has changed */
typedef void (*engine_finding_func)(const struct finding *finding, enum engine_change change, void *data);

int engine_new(engine_finding_func func, void *data, struct engine **ret_engine);
void engine_free(struct engine *engine);
/** engine_call() - a kept call; those that ended before a tick come before it */
void engine_call(struct engine *engine, const struct event *event);
/** engine_tick() - Return: 0 or -ENOMEM (that tick is not looked at) */
int engine_tick(struct engine *engine, const struct tick *tick);
/** engine_finish() - the source has ended: close what is open */
void engine_finish(struct engine *engine, uint64_t now_ns);
