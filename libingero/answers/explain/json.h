// SPDX-License-Identifier: Apache-2.0
/* The output of `ingero explain --json`. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/**
 * explain_json_append() - append one line, docs/schema/explain.schema.json
 * Return: 0, or -ENOMEM with nothing appended
 */
int explain_json_append(struct buf *out, const Ingero__V1__ExplainReply *reply);
