// SPDX-License-Identifier: Apache-2.0
#include "rpc/context.h"

#include "archive/write/store.h"
#include "capture.h"

void context_settle(struct rpc_context *context)
{
	if (capture_settle(context->capture) && context->store)
		(void)store_flush(context->store); /* the store's state has the error */
}
