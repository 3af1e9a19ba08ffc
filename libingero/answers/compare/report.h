// SPDX-License-Identifier: Apache-2.0
/* The text of `ingero compare`: the verdict, what it was compared by, and the parts that changed, the largest first. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** compare_report_append() - append the whole report. Return: 0 or -ENOMEM */
int compare_report_append(const Ingero__V1__CompareReply *reply, uint64_t now_unix_ns, const struct text_style *style,
			  struct buf *out);
