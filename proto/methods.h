// SPDX-License-Identifier: Apache-2.0
/*
 * The methods of the protocol, one row each: the rpc lines of ingero/v1/ingero.proto, from which proto/methods.cmake
 * makes ingero/v1/methods.def at build time.
 *
 * METHOD(ID, name, full name, type of the request, prefix of the request's symbols, prefix of the reply's, is_stream)
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "ingero/v1/ingero.pb-c.h"

enum method_id {
#define METHOD(ID, ...) METHOD_##ID,
#include "ingero/v1/methods.def"
	METHOD_COUNT
};

/* The type of each request by the method's name: method_query_status_request. */
#define METHOD(ID, name, full_name, Request, ...) typedef Request method_##name##_request;
#include "ingero/v1/methods.def"

struct method {
	const char *name; /* "ingero.v1.Query.Status" */
	const ProtobufCMessageDescriptor *request;
	const ProtobufCMessageDescriptor *reply;
	bool is_stream; /* any number of replies; else exactly one */
};

/** method_get() - row of a method */
const struct method *method_get(enum method_id id);
/** method_find() - find a method by its full name. Return: METHOD_COUNT without such a method */
enum method_id method_find(const char *name);
