// SPDX-License-Identifier: Apache-2.0
/* `ingero status` as text: a function of the reply. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** status_append() - append the reply as text; @is_private: the daemon is a private one */
void status_append(const Ingero__V1__StatusReply *status, bool is_private, const struct text_style *style,
		   struct buf *out);
