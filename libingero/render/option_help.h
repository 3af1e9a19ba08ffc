// SPDX-License-Identifier: Apache-2.0
/* Tables of options as --help shows them. */
#pragma once

#include "base/option.h"
#include "libingero/render/text.h"

/** option_help_append() - append the rows, with --help itself */
void option_help_append(const struct option_table *table, const struct text_style *style, struct buf *out);
