// SPDX-License-Identifier: Apache-2.0
#include "proto/methods.h"

#include <string.h>

static const struct method methods[] = {
#define METHOD(ID, name_, full_name, Request, request_, reply_, is_stream_)                                            \
	[METHOD_##ID] = { .name = (full_name),                                                                         \
			  .request = &request_##__descriptor,                                                          \
			  .reply = &reply_##__descriptor,                                                              \
			  .is_stream = (is_stream_) },
#include "ingero/v1/methods.def"
};

const struct method *method_get(enum method_id id)
{
	return &methods[id];
}

enum method_id method_find(const char *name)
{
	enum method_id id = 0;

	while (id < METHOD_COUNT && strcmp(methods[id].name, name) != 0)
		id++;
	return id;
}
