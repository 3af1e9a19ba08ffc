// SPDX-License-Identifier: Apache-2.0
#include "rpc/handlers.h"

/* The request has the type of its method: the server unpacked it by the same row. */
#define METHOD(ID, name, ...)                                                                                          \
	static void name##_handle(struct call *call, const ProtobufCMessage *request)                                  \
	{                                                                                                              \
		rpc_##name(call, (const method_##name##_request *)request);                                            \
	}
#include "ingero/v1/methods.def"

const rpc_handler rpc_handlers[METHOD_COUNT] = {
#define METHOD(ID, name, ...) [METHOD_##ID] = name##_handle,
#include "ingero/v1/methods.def"
};
