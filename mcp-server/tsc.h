// SPDX-License-Identifier: Apache-2.0
/*
 * Telegraphic answers: the same JSON in fewer tokens. Nothing is lost, and no schema is needed to read it back:
 *
 * - Members have short names (mcp-server/tsc.def).
 * - An array of two or more objects becomes a table {"c":{...},"k":[...],"r":[[...],...]}: members that are equal in
 * all of them, the names of the others, and a row for each object; null: it has no such member.
 * - Members of an object that share one of the values 0, "", [], {}, null and false are named together:
 *   "0":"quota,lock". The key is the value, and for "" it is ''.
 * - An array of figures {"name":..,"value":..,"unit":..} becomes {"=":{name:value,..}} where the names differ, and end
 * in their units: _ns, _bytes, _ratio; any other is a count.
 * - Where an answer has two or more times, the first stands in front as "t0", and each is written as seconds behind it:
 *   "+4.5". A text that looks so keeps all times as they are.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/**
 * tsc_append() - append a JSON text in its short form
 * Return: 0; -ENOMEM; -EPROTO: no JSON
 */
int tsc_append(struct buf *out, const char *json, size_t n);
