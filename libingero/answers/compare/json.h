// SPDX-License-Identifier: Apache-2.0
/* The JSON of a comparison: what is said of the first program stands beside the rest. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/** compare_json_append() - append one object, without "type". Return: 0, or -ENOMEM with nothing appended */
int compare_json_append(const Ingero__V1__CompareReply *reply, struct buf *out);
/** compare_json_line() - append one line (docs/schema/compare.schema.json). Return: as compare_json_append() */
int compare_json_line(const Ingero__V1__CompareReply *reply, struct buf *out);
