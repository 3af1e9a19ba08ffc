// SPDX-License-Identifier: Apache-2.0
/* The manual page ingero-cli(1), made from the same rows as --help. */
#pragma once

#include "base/buf.h"

/** manual_append() - append the whole page, for man(7) */
void manual_append(struct buf *out);
