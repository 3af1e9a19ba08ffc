// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/account/ask.h"

#define BLAME_DEADLINE_MS 60000 /* enough for a large file on a slow disk */

int account_ask(struct ingero *ingero, Ingero__V1__Span *span, const uint32_t *pids, size_t n_pids, const char *op,
		uint32_t accounts_max, Ingero__V1__BlameReply **ret)
{
	Ingero__V1__BlameRequest request = INGERO__V1__BLAME_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	int r;

	if (span->from_unix_ns || span->to_unix_ns)
		request.span = span;
	request.n_pids = n_pids;
	request.pids = (uint32_t *)(uintptr_t)pids; /* the message borrows it, and the operation */
	request.accounts_max = accounts_max;
	if (op)
		request.op = (char *)(uintptr_t)op;
	r = ingero_call(ingero, "ingero.v1.Query.Blame", &request.base, BLAME_DEADLINE_MS, &reply);
	if (r == 0)
		*ret = (Ingero__V1__BlameReply *)reply;
	return r;
}
