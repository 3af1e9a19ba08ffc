// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies of every request, and of the largest reply because it has what requests do not have
 * yet: messages in messages, numbers of every kind, a choice of one. The first byte chooses.
 *
 * What is let through can be relied on: its strings end where they say, and packed again it
 * is let through again.
 */
#include "rpc/body.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const ProtobufCServiceDescriptor *const services[] = {
	&ingero__v1__query__descriptor,
	&ingero__v1__trace__descriptor,
};

static const ProtobufCMessageDescriptor *choose(unsigned int which)
{
	unsigned int n = 1;

	for (size_t i = 0; i < ARRAY_SIZE(services); i++)
		n += services[i]->n_methods;
	which %= n;
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		if (which < services[i]->n_methods)
			return services[i]->methods[which].input;
		which -= services[i]->n_methods;
	}
	return &ingero__v1__trace_reply__descriptor;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	CLEANUP(freep) uint8_t *packed = NULL;
	const ProtobufCMessageDescriptor *descriptor;
	char why[BODY_WHY_BYTES] = "";
	ProtobufCMessage *message;
	size_t n_packed;

	if (n == 0 || n > FRAME_CLIENT_BODY_MAX)
		return 0;
	descriptor = choose(data[0]);
	if (body_unpack(descriptor, data + 1, n - 1, &arena, why, &message)) {
		if (!why[0])
			abort(); /* refused without a reason */
		return 0;
	}

	n_packed = protobuf_c_message_get_packed_size(message);
	packed = malloc(n_packed + 1);
	if (!packed || protobuf_c_message_pack(message, packed) != n_packed)
		abort();
	if (body_unpack(descriptor, packed, n_packed, &arena, why, &message))
		abort();
	return 0;
}
