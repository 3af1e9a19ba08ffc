// SPDX-License-Identifier: Apache-2.0
/* What findings do not say: sentences beside them. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/**
 * explain_rest_part() - append a sentence on the largest part of the time of a driving thread, where the findings of
 * its process cover less than half of it: "98 % of the time python3 4711 was sleeping: the program asked to."
 * Return: 0 or -ENOMEM; nothing where it is a call, or no large part
 */
int explain_rest_part(const Ingero__V1__ExplainReply *reply, struct buf *text);
/** explain_rest_has_failures() - whether calls failed */
bool explain_rest_has_failures(const Ingero__V1__ExplainReply *reply);
/** explain_rest_failures() - append "15 of 752 calls of cudaMalloc in python3 (pid 4711) failed.", of the first few */
void explain_rest_failures(const Ingero__V1__ExplainReply *reply, struct buf *text);
