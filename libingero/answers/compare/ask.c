// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/compare/ask.h"

#define COMPARE_DEADLINE_MS 60000 /* enough for two large files on a slow disk */

static void side_message_fill(const struct compare_side *side, Ingero__V1__Span *span, Ingero__V1__CompareSide *message)
{
	span->from_unix_ns = side->from_unix_ns;
	span->to_unix_ns = side->to_unix_ns;
	if (span->from_unix_ns || span->to_unix_ns)
		message->span = span;
	message->pids = (uint32_t *)(uintptr_t)side->pids; /* borrowed */
	message->n_pids = side->n_pids;
	message->run = (char *)(uintptr_t)side->run;
	message->runs_back = side->runs_back;
}

int compare_ask(struct ingero *ingero, const struct compare_side *a, const struct compare_side *b, const char *per,
		Ingero__V1__CompareReply **ret)
{
	Ingero__V1__CompareRequest request = INGERO__V1__COMPARE_REQUEST__INIT;
	Ingero__V1__CompareSide a_side = INGERO__V1__COMPARE_SIDE__INIT, b_side = INGERO__V1__COMPARE_SIDE__INIT;
	Ingero__V1__Span a_span = INGERO__V1__SPAN__INIT, b_span = INGERO__V1__SPAN__INIT;
	ProtobufCMessage *reply = NULL;
	int r;

	side_message_fill(a, &a_span, &a_side);
	side_message_fill(b, &b_span, &b_side);
	request.a = &a_side;
	request.b = &b_side;
	if (per)
		request.per = (char *)(uintptr_t)per;
	r = ingero_call(ingero, "ingero.v1.Query.Compare", &request.base, COMPARE_DEADLINE_MS, &reply);
	if (r == 0)
		*ret = (Ingero__V1__CompareReply *)reply;
	return r;
}
