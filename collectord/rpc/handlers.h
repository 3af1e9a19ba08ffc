// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers: rpc_query_status() of the method ingero.v1.Query.Status. A method without its handler fails at link.
 */
#pragma once

#include "events/sink.h"
#include "proto/methods.h"
#include "rpc/server.h"

struct rpc_context;

#define METHOD(ID, name, ...) void rpc_##name(struct call *call, const method_##name##_request *request);
#include "ingero/v1/methods.def"

extern const rpc_handler rpc_handlers[METHOD_COUNT];

/** rpc_operations_sink() - notes processes forgotten while answers wait for their client */
struct sink rpc_operations_sink(struct rpc_context *context);
