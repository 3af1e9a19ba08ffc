// SPDX-License-Identifier: Apache-2.0
/* All commands and options as JSON: docs/schema/help.schema.json. */
#pragma once

#include "base/buf.h"

/** help_json_append() - append one object and a newline. Return: 0 or -ENOMEM */
int help_json_append(struct buf *out);
